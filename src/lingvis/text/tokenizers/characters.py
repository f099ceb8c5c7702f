"""Words by their characters: any word of any script has an id and a spelling, and no word is unknown."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from lingvis.arrays import Ints
from lingvis.bounds import Count
from lingvis.errors import UserError
from lingvis.files import write_json
from lingvis.text.segment import words
from lingvis.text.tokenizers.base import (
    END,
    MASK,
    PAD,
    SPECIAL_TOKENS,
    START,
    TOKENIZERS,
    UNKNOWN,
    Tokenizer,
    Vocabulary,
)

# As many distinct words keep their ids for good; so a server that reads for years does not grow for years.
LEXICON = 100_000
# Letter numbers behind an alphabet that its characters never have: the marks before and behind a word.
MARKS = 2


class Alphabet:
    """Characters as letter numbers.

    A special token is spelled by the letter of its own number: padding by none, `unknown` by the letter that
    stands for every character outside the alphabet. Characters follow behind the special tokens. Then two
    numbers are free, and behind these come the characters of a language that was `added` later: the numbers of
    the others, and of the marks, are what they were.
    """

    def __init__(self, characters: Sequence[str], added: Sequence[str] = ()) -> None:
        self.characters, self.added = list(characters), list(added)
        self._known = frozenset((*characters, *added))
        self.marks = len(SPECIAL_TOKENS) + len(characters)
        self.size = self.marks + (MARKS + len(added) if added else 0)
        numbers = np.arange(len(SPECIAL_TOKENS), len(SPECIAL_TOKENS) + len(characters) + len(added))
        numbers[len(characters) :] += MARKS
        codes = _codes("".join((*characters, *added)))
        order = np.argsort(codes)
        # A code above all others, so that every search ends within the array.
        self._codes = np.append(codes[order], np.iinfo(np.int64).max)
        self._letters = np.append(numbers[order], UNKNOWN)

    @classmethod
    def of(cls, counts: Counter[str], min_count: int) -> Alphabet:
        """The characters of counted words that occur often enough, most frequent first."""
        seen: Counter[str] = Counter()
        for word, count in counts.items():
            for character in word:
                seen[character] += count
        kept = [item for item in seen.items() if item[1] >= min_count]
        return cls([character for character, _ in sorted(kept, key=lambda item: (-item[1], item[0]))])

    def extended(self, counts: Counter[str], min_count: int) -> Alphabet:
        """The same with what is new in counted words, where no letter that was there gets another number."""
        found = Alphabet.of(counts, min_count).characters
        return Alphabet(self.characters, [*self.added, *(each for each in found if each not in self._known)])

    def without_unknown(self, word: str) -> str:
        """The word without characters outside the alphabet, unless it has no other."""
        return "".join(character for character in word if character in self._known) or word

    def spell(self, spelled: Sequence[str], length: int) -> Ints:
        """Letter numbers [words, length], 0 behind the end of a word; longer words are cut."""
        cut = [word[:length] for word in spelled]
        sizes = np.fromiter(map(len, cut), np.int64, len(cut))
        codes = _codes("".join(cut))
        place = np.searchsorted(self._codes, codes)
        letters = np.zeros((len(cut), length), np.int64)
        known = self._codes[place] == codes
        letters[np.arange(length) < sizes[:, None]] = np.where(known, self._letters[place], UNKNOWN)
        return letters


class Lexicon:
    """Ids for words as they come, behind those of the special tokens.

    The first `lasting` distinct words keep their ids; the ids of others are given out anew after `turn`.
    """

    def __init__(self, lasting: int = LEXICON) -> None:
        self._lasting = lasting + len(SPECIAL_TOKENS)
        self._words = list(SPECIAL_TOKENS)
        self._ids: dict[str, int] = {}

    def turn(self) -> None:
        """Forget the words that have no lasting id."""
        for word in self._words[self._lasting :]:
            del self._ids[word]
        del self._words[self._lasting :]

    def number(self, pieces: Iterable[str]) -> list[int]:
        """The ids of words."""
        found = []
        for word in pieces:
            number = self._ids.get(word)
            if number is None:
                number = self._ids[word] = len(self._words)
                self._words.append(word)
            found.append(number)
        return found

    def words(self, ids: Ints) -> list[str]:
        """The words of ids that are valid now."""
        return [self._words[number] for number in ids.tolist()]


@TOKENIZERS.register("characters", "words of any script, each spelled by its characters")
class CharacterTokenizer(Tokenizer):
    """Words by ICU between a start and an end token, with the characters that the training captions show at
    least `min_count` times; of a word, the first `word_length` characters are spelled (LIWE: 26).

    Ids are given out as words come and belong to this object: only the characters are saved. With `min_count` = 1
    no training caption has an unknown character, and so that letter is never trained: later words are spelled
    without their unknown characters, unless they have no other.
    """

    FILE = "characters.json"
    spells = True

    def __init__(self, *, word_length: Count = 26, min_count: Count = 1) -> None:
        self.word_length, self.min_count = word_length, min_count
        self._set(Alphabet([]))

    def fit(self, texts: Sequence[str], langs: Sequence[str]) -> None:
        """Collect the characters, most frequent first, ties by their code."""
        alphabet = Alphabet.of(self._count(texts, langs), self.min_count)
        if not alphabet.characters:
            raise UserError(
                f"no character occurs {self.min_count} times in the words of the {len(texts)} training captions; "
                "lower text.tokenizer.min_count or give more captions"
            )
        self._set(alphabet)

    def extended(self, texts: Sequence[str], langs: Sequence[str]) -> CharacterTokenizer:
        """Another tokenizer, which knows the characters of these sentences too and spells all others as this one."""
        made = CharacterTokenizer(word_length=self.word_length, min_count=self.min_count)
        made._set(self.alphabet.extended(self._count(texts, langs), self.min_count))
        return made

    def save(self, folder: Path) -> None:
        """Write the characters, one list, and those added later, another, into a model folder."""
        added = {"added": self.alphabet.added} if self.alphabet.added else {}
        write_json(folder / self.FILE, {"characters": self.alphabet.characters, **added})

    def load(self, folder: Path) -> None:
        """Read what `save` wrote."""
        stored = json.loads((folder / self.FILE).read_text(encoding="utf-8"))
        lists = stored["characters"], stored.get("added", [])
        for each in lists:
            if not isinstance(each, list) or not all(isinstance(one, str) and len(one) == 1 for one in each):
                raise ValueError("its characters must be a list of strings of one character")
        if len({*lists[0], *lists[1]}) != len(lists[0]) + len(lists[1]):
            raise ValueError("its characters must come once each")
        self._set(Alphabet(*lists))

    def __call__(self, texts: Sequence[str], langs: Sequence[str]) -> list[Ints]:
        """Ids of each sentence; those of rare words hold until the next call."""
        self._lexicon.turn()
        return [
            np.asarray([START, *self._lexicon.number(words(text, lang)), END], dtype=np.int64)
            for text, lang in zip(texts, langs, strict=True)
        ]

    def spelling(self, ids: Ints) -> Ints:
        """Letter numbers [len(ids), word_length] of ids that the latest call gave out, 0 behind the end."""
        spelled = self._lexicon.words(ids)
        if self.min_count == 1:
            spelled = [self.alphabet.without_unknown(word) for word in spelled]
        letters = self.alphabet.spell(spelled, self.word_length)
        special = ids < len(SPECIAL_TOKENS)
        letters[special] = 0
        letters[special, 0] = ids[special]
        return letters

    def _count(self, texts: Sequence[str], langs: Sequence[str]) -> Counter[str]:
        """How often each word occurs, as far as it is spelled."""
        return Counter(
            word[: self.word_length]
            for text, lang in zip(texts, langs, strict=True)
            for word in words(text, lang)
        )

    def _set(self, alphabet: Alphabet) -> None:
        self.alphabet, self._lexicon = alphabet, Lexicon()
        self.vocabulary = Vocabulary(
            size=0,
            pad=PAD,
            mask=MASK,
            special=tuple(range(len(SPECIAL_TOKENS))),
            letters=alphabet.size,
            word_length=self.word_length,
            marks=alphabet.marks,
        )


def _codes(text: str) -> Ints:
    """The Unicode numbers of characters."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.int64)

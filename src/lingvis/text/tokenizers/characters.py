"""Words by their characters: every word of every script has an id and a spelling, and no word is unknown."""

from __future__ import annotations

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
from lingvis.untrusted import read_json

# Number of distinct words that keep their ids; the limit bounds the memory of a server that runs for years.
LASTING_IDS = 100_000
# Letter numbers after an alphabet that no character has: the marks before and after a word.
MARKS = 2


class Alphabet:
    """Characters as letter numbers.

    A special token is spelled by the letter with its number: padding by none, `unknown` by the letter for every
    character outside the alphabet. The characters come after the special tokens, then two free numbers for the marks
    of a word, then the characters of languages that were `added` later, so that no other number changes.
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
        """A copy with the new characters of counted words; existing letters keep their numbers."""
        new = [each for each in Alphabet.of(counts, min_count).characters if each not in self._known]
        return Alphabet(self.characters, [*self.added, *new])

    def without_unknown(self, word: str) -> str:
        """The word without characters outside the alphabet; unchanged if it has no others."""
        return "".join(character for character in word if character in self._known) or word

    def spell(self, spelled: Sequence[str], length: int) -> Ints:
        """Letter numbers [words, length], 0 after the end of a word; longer words are cut."""
        cut = [word[:length] for word in spelled]
        sizes = np.fromiter(map(len, cut), np.int64, len(cut))
        codes = _codes("".join(cut))
        place = np.searchsorted(self._codes, codes)
        letters = np.zeros((len(cut), length), np.int64)
        known = self._codes[place] == codes
        letters[np.arange(length) < sizes[:, None]] = np.where(known, self._letters[place], UNKNOWN)
        return letters


class WordIds:
    """Ids for words in the order in which they occur, after those of the special tokens.

    The first `lasting` distinct words keep their ids; other ids are reused for new words after `forget`.
    """

    def __init__(self, lasting: int = LASTING_IDS) -> None:
        self._lasting = lasting + len(SPECIAL_TOKENS)
        self._words = list(SPECIAL_TOKENS)
        self._ids: dict[str, int] = {}

    def forget(self) -> None:
        """Drop the words without a lasting id."""
        for word in self._words[self._lasting :]:
            del self._ids[word]
        del self._words[self._lasting :]

    def number(self, pieces: Iterable[str]) -> list[int]:
        """The ids of words."""
        numbers = []
        for word in pieces:
            number = self._ids.get(word)
            if number is None:
                number = self._ids[word] = len(self._words)
                self._words.append(word)
            numbers.append(number)
        return numbers

    def words(self, ids: Ints) -> list[str]:
        """The words of ids that are valid now."""
        return [self._words[number] for number in ids.tolist()]


@TOKENIZERS.register("characters", "words of any script, each spelled by its characters")
class CharacterTokenizer(Tokenizer):
    """Words by ICU's boundaries between a start and an end token, with the characters that occur at least `min_count`
    times in the training captions; only the first `word_length` characters of a word are spelled (LIWE: 26).

    Words get ids as they occur, valid for this object only; only the characters are saved. With `min_count` = 1 no
    training caption has an unknown character, so that letter is never trained: later words are spelled without their
    unknown characters, unless they have no others.
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
        """A tokenizer with the additional characters of these sentences; all other words keep their spelling."""
        tokenizer = CharacterTokenizer(word_length=self.word_length, min_count=self.min_count)
        tokenizer._set(self.alphabet.extended(self._count(texts, langs), self.min_count))
        return tokenizer

    def save(self, folder: Path) -> None:
        """Write the list of characters, and the list of characters added later, into a model folder."""
        added = {"added": self.alphabet.added} if self.alphabet.added else {}
        write_json(folder / self.FILE, {"characters": self.alphabet.characters, **added})

    def load(self, folder: Path) -> None:
        """Read the files that `save` wrote."""
        stored = read_json(folder / self.FILE)
        lists = stored["characters"], stored.get("added", [])
        for each in lists:
            if not isinstance(each, list) or not all(isinstance(one, str) and len(one) == 1 for one in each):
                raise ValueError("its characters must be a list of strings of one character")
        if len({*lists[0], *lists[1]}) != len(lists[0]) + len(lists[1]):
            raise ValueError("its characters must be distinct")
        self._set(Alphabet(*lists))

    def __call__(self, texts: Sequence[str], langs: Sequence[str]) -> list[Ints]:
        """The ids of each sentence; ids that are not lasting are valid until the next call."""
        self._ids.forget()
        return [
            np.asarray([START, *self._ids.number(words(text, lang)), END], dtype=np.int64)
            for text, lang in zip(texts, langs, strict=True)
        ]

    def spelling(self, ids: Ints) -> Ints:
        """Letter numbers [len(ids), word_length] of ids that the latest call returned, 0 after the end."""
        spelled = self._ids.words(ids)
        if self.min_count == 1:
            spelled = [self.alphabet.without_unknown(word) for word in spelled]
        letters = self.alphabet.spell(spelled, self.word_length)
        special = ids < len(SPECIAL_TOKENS)
        letters[special] = 0
        letters[special, 0] = ids[special]
        return letters

    def _count(self, texts: Sequence[str], langs: Sequence[str]) -> Counter[str]:
        """The number of occurrences of each word, cut to the length that is spelled."""
        return Counter(
            word[: self.word_length]
            for text, lang in zip(texts, langs, strict=True)
            for word in words(text, lang)
        )

    def _set(self, alphabet: Alphabet) -> None:
        self.alphabet, self._ids = alphabet, WordIds()
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

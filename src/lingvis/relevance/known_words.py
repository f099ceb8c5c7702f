"""The words that a model has learned: those of its training sentences and of the names of its classes."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from lingvis.data.class_names import read_concepts
from lingvis.data.dataset import Dataset
from lingvis.data.rows import Row, TextRow
from lingvis.files import atomic_file
from lingvis.model.folder import KNOWN_WORDS, report_damage
from lingvis.text.segment import words
from lingvis.untrusted import parse_json, read_unpacked

FEWEST = 2  # times that a word occurs in training sentences before it counts as known
BORROWED = 0.02  # share of the other language: rarer words are borrowed, as "dog" in German captions
SHORTEST_STEM, LONGEST_ENDING = 4, 2  # letters: an inflected form of a known word is known too


class KnownWords:
    """Known words by language. A language without an entry is not covered: nothing can be said about its words."""

    def __init__(self, by_language: Mapping[str, Iterable[str]]) -> None:
        self._by_language = {lang: frozenset(listed) for lang, listed in by_language.items()}

    @classmethod
    def of_dataset(cls, dataset: Dataset, languages: Iterable[str]) -> KnownWords:
        """The words of split train, of sentences without pictures, and of class names, in these languages."""
        counts: dict[str, Counter[str]] = {lang: Counter() for lang in languages}
        rows: list[Row | TextRow] = [row for row in dataset.rows if row.split == "train"]
        for row in [*rows, *dataset.text_only()]:
            for lang, texts in [
                *row.captions.items(),
                *((lang, [text]) for lang, text in row.parallel.items()),
            ]:
                if lang in counts:
                    counts[lang].update(word for text in texts for word in words(text, lang))
        most: Counter[str] = Counter()  # the largest share of a word among the words of a language
        shares = {lang: 1 / max(1, counted.total()) for lang, counted in counts.items()}
        for lang, counted in counts.items():
            most |= Counter({word: count * shares[lang] for word, count in counted.items()})
        by_language = {
            lang: {
                word
                for word, count in counted.items()
                if count >= FEWEST and count * shares[lang] >= BORROWED * most[word]
            }
            for lang, counted in counts.items()
        }
        for concept in read_concepts():
            for lang in concept.names.keys() & by_language.keys():
                named = {word for name in concept.names[lang] for word in words(name, lang)}
                by_language[lang] |= named - most.keys()  # "hot dog" does not make "dog" a French word
        return cls({lang: listed for lang, listed in by_language.items() if listed})

    @classmethod
    def read(cls, folder: Path) -> KnownWords | None:
        """The known words of a model folder; None if it has none, as those of earlier versions."""
        file = folder / KNOWN_WORDS
        if not file.is_file():
            return None
        with report_damage(str(file)):
            stored = parse_json(read_unpacked(file).decode("utf-8"))
            return cls({str(lang): listed.split(" ") for lang, listed in stored.items()})

    def write(self, folder: Path) -> None:
        """Write the words into a model folder; the same words always make the same file."""
        stored = {lang: " ".join(sorted(listed)) for lang, listed in self._by_language.items()}
        content = json.dumps(stored, ensure_ascii=False).encode("utf-8")
        with atomic_file(folder / KNOWN_WORDS) as temporary:
            temporary.write_bytes(gzip.compress(content, 9, mtime=0))

    @property
    def languages(self) -> list[str]:
        """The languages that are covered."""
        return list(self._by_language)

    def __len__(self) -> int:
        return sum(map(len, self._by_language.values()))

    def count(self, text: str, lang: str) -> int:
        """How many words of a sentence are words of this language."""
        listed = self._by_language.get(lang, frozenset())
        return sum(word in listed for word in words(text, lang))

    def unknown(self, text: str, lang: str) -> list[str]:
        """The words of a sentence that no language has, each once; inflected forms of known words are known."""
        pieces = dict.fromkeys(words(text, lang))
        return [word for word in pieces if not any(map(self._has, _stems(word)))]

    def _has(self, word: str) -> bool:
        return any(word in listed for listed in self._by_language.values())


def _stems(word: str) -> list[str]:
    """The word, and the word without its last letters."""
    shorter = (word[:-cut] for cut in range(1, LONGEST_ENDING + 1) if len(word) - cut >= SHORTEST_STEM)
    return [word, *shorter]

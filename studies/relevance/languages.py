"""Detection of the language of single words and short queries, before and after known words and preferences."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

from lingvis.collection.query.language import LanguageDetector
from lingvis.data.dataset import Dataset
from lingvis.relevance.known_words import KnownWords
from lingvis.text.segment import words

PER_LANGUAGE = 300
UNSPACED = {"zh", "bo"}  # written without spaces between words
Detect = Callable[[str, str], str]


def measure_languages(dataset: Dataset, known: KnownWords, split: str, *, seed: int = 0) -> dict[str, Any]:
    """Shares of queries whose language is right: single words and phrases of 2 or 3 words, by language.

    Words are those of captions of the split (of val for a language without captions in it). A text that captions of
    several languages have may be detected as any of them.
    """
    plain, informed = LanguageDetector(known.languages), LanguageDetector(known.languages, known)
    methods: dict[str, Detect] = {
        "py3langid": lambda text, _: plain(text),
        "known words": lambda text, _: informed(text),
        "page in the same language": lambda text, lang: informed(text, [lang]),
        "page in English": lambda text, _: informed(text, ["en"]),
    }
    captions = {lang: _captions(dataset, split, lang) for lang in known.languages}
    record: dict[str, Any] = {}
    for kind in ("words", "phrases"):
        texts = {
            lang: set(_texts(kind, listed, lang, random.Random(seed))) for lang, listed in captions.items()
        }
        record[kind] = {
            lang: {
                name: round(_share(texts, lang, detect, random.Random(seed)), 4)
                for name, detect in methods.items()
            }
            for lang in texts
        }
    record["reported"] = {
        lang: round(sum(map(informed.foreign, listed)) / len(listed), 4)
        for lang, listed in {**captions, **_translations(dataset, split, known)}.items()
        if listed
    }
    return record


def _captions(dataset: Dataset, split: str, lang: str) -> list[str]:
    by_split = {
        name: [text for row in dataset.rows if row.split == name for text in row.captions.get(lang, ())]
        for name in (split, "val")
    }
    return by_split[split] or by_split["val"]


def _translations(dataset: Dataset, split: str, known: KnownWords) -> dict[str, list[str]]:
    """Sentences in languages that the model lacks."""
    found: dict[str, list[str]] = {}
    for row in dataset.rows:
        if row.split == split:
            for lang, text in row.parallel.items():
                if lang not in known.languages:
                    found.setdefault(lang, []).append(text)
    return found


def _texts(kind: str, captions: list[str], lang: str, chance: random.Random) -> Iterator[str]:
    for caption in captions:
        pieces = words(caption, lang)
        if kind == "words":
            yield from (piece for piece in pieces if len(piece) > 2 or lang in UNSPACED)
        elif len(pieces) > 2:
            length = chance.choice((2, 3))
            start = chance.randrange(len(pieces) - length + 1)
            yield ("" if lang in UNSPACED else " ").join(pieces[start : start + length])


def _share(texts: dict[str, set[str]], lang: str, detect: Detect, chance: random.Random) -> float:
    chosen = chance.sample(sorted(texts[lang]), min(PER_LANGUAGE, len(texts[lang])))
    return sum(text in texts[detect(text, lang)] for text in chosen) / max(1, len(chosen))

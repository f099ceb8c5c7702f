"""A dataset in numbers: images, captions, their lengths and vocabularies by language and split."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from lingvis.data.dataset import Dataset
from lingvis.data.rows import SPLITS

KINDS = ("parallel", "translated")  # sentences beside the human captions
Words = Callable[[str, str], list[str]]


@dataclass(frozen=True, slots=True)
class Lengths:
    """Lengths of the captions."""

    mean: float
    min: int
    max: int

    @classmethod
    def of(cls, lengths: Sequence[int]) -> Lengths:
        """The mean, minimum and maximum of some lengths, at least one."""
        return cls(sum(lengths) / len(lengths), min(lengths), max(lengths))


@dataclass(frozen=True, slots=True)
class CaptionCounts:
    """The captions of one language and split; vocabulary: number of distinct words."""

    images: int
    captions: int
    words: Lengths
    characters: Lengths
    vocabulary: int


@dataclass(frozen=True, slots=True)
class DatasetDescription:
    """Counts of a dataset.

    images: split -> number of images, and `total`. languages: language -> split -> its captions.
    parallel, translated: language -> split -> number of parallel sentences and of machine translations. Splits and
    languages without any are omitted.
    """

    dataset: str
    images: dict[str, int]
    languages: dict[str, dict[str, CaptionCounts]]
    parallel: dict[str, dict[str, int]]
    translated: dict[str, dict[str, int]]

    def as_json(self) -> dict[str, Any]:
        """The description as JSON values."""
        return asdict(self)


def describe(dataset: Dataset, words: Words) -> DatasetDescription:
    """Count images, captions, words and vocabularies of a dataset.

    words: (text, language) -> words; an argument because segmentation is a later stage.
    """
    splits = {split: [row for row in dataset.rows if row.split == split] for split in SPLITS}
    languages: dict[str, dict[str, CaptionCounts]] = {}
    for lang in dataset.languages:
        languages[lang] = {}
        for split, rows in splits.items():
            groups = [row.captions[lang] for row in rows if row.captions.get(lang)]
            if groups:
                languages[lang][split] = _count(groups, lang, words)
    parallel: dict[str, dict[str, int]] = {}
    translated: dict[str, dict[str, int]] = {}
    for split, rows in splits.items():
        for row in rows:
            _add(parallel, split, dict.fromkeys(row.parallel, 1))
            _add(translated, split, {lang: len(row.translations(lang)) for lang in row.translated})
    images = {split: len(rows) for split, rows in splits.items()} | {"total": len(dataset.rows)}
    return DatasetDescription(str(dataset.path), images, languages, parallel, translated)


def _add(counts: dict[str, dict[str, int]], split: str, more: Mapping[str, int]) -> None:
    for lang, count in more.items():
        of_lang = counts.setdefault(lang, {})
        of_lang[split] = of_lang.get(split, 0) + count


def _count(groups: Sequence[Sequence[str]], lang: str, words: Words) -> CaptionCounts:
    """groups: the captions of each image."""
    texts = [text for group in groups for text in group]
    segmented = [words(text, lang) for text in texts]
    return CaptionCounts(
        images=len(groups),
        captions=len(texts),
        words=Lengths.of([len(sentence) for sentence in segmented]),
        characters=Lengths.of([len(text) for text in texts]),
        vocabulary=len({word for sentence in segmented for word in sentence}),
    )


def to_text(description: DatasetDescription) -> str:
    """The description as a table for people."""
    counts = description.images
    parts = ", ".join(f"{split} {counts[split]:,}" for split in SPLITS)
    table: list[tuple[str, ...]] = [
        ("lang", "split", "images", "captions", "words", "characters", "vocabulary", *KINDS)
    ]
    kinds = [getattr(description, kind) for kind in KINDS]
    for lang in dict.fromkeys(lang for counts in (description.languages, *kinds) for lang in counts):
        for split in SPLITS:
            captions = description.languages.get(lang, {}).get(split)
            others = [counts.get(lang, {}).get(split, 0) for counts in kinds]
            if captions or any(others):
                table.append((lang, split, *_cells(captions), *(f"{n:,}" if n else "" for n in others)))
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = [
        "  ".join(
            cell.ljust(width) if place < 2 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    ]
    head = f"{description.dataset}: {counts['total']:,} images ({parts})"
    return "\n".join([head, "", *lines, "", "words and characters: mean (shortest to longest caption)"])


def _cells(captions: CaptionCounts | None) -> tuple[str, ...]:
    if captions is None:
        return ("",) * 5
    words, characters = (
        f"{lengths.mean:.1f} ({lengths.min} to {lengths.max})"
        for lengths in (captions.words, captions.characters)
    )
    return f"{captions.images:,}", f"{captions.captions:,}", words, characters, f"{captions.vocabulary:,}"

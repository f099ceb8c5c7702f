"""A dataset in numbers: images, captions, their lengths and vocabularies by language and split."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lingvis.data.dataset import Dataset
from lingvis.data.rows import SPLITS

Words = Callable[[str, str], list[str]]


def describe(dataset: Dataset, words: Words) -> dict[str, Any]:
    """Counts of the dataset as JSON values.

    words: (text, language) -> words; the caller passes it because segmentation is a later stage.
    Splits and languages without captions are omitted.
    """
    splits = {split: [row for row in dataset.rows if row.split == split] for split in SPLITS}
    languages: dict[str, dict[str, Any]] = {}
    for lang in dataset.languages:
        languages[lang] = {}
        for split, rows in splits.items():
            groups = [row.captions[lang] for row in rows if row.captions.get(lang)]
            if groups:
                languages[lang][split] = _captions(groups, lang, words)
    parallel: dict[str, dict[str, int]] = {}
    for split, rows in splits.items():
        for row in rows:
            for lang in row.parallel:
                counts = parallel.setdefault(lang, {})
                counts[split] = counts.get(split, 0) + 1
    return {
        "dataset": str(dataset.path),
        "images": {split: len(rows) for split, rows in splits.items()} | {"total": len(dataset.rows)},
        "languages": languages,
        "parallel": parallel,
    }


def _captions(groups: Sequence[Sequence[str]], lang: str, words: Words) -> dict[str, Any]:
    """Counts of the captions of one language and split; groups: the captions of each image."""
    texts = [text for group in groups for text in group]
    split = [words(text, lang) for text in texts]
    return {
        "images": len(groups),
        "captions": len(texts),
        "words": _spread([len(sentence) for sentence in split]),
        "characters": _spread([len(text) for text in texts]),
        "vocabulary": len({word for sentence in split for word in sentence}),
    }


def _spread(lengths: Sequence[int]) -> dict[str, float]:
    return {"mean": sum(lengths) / len(lengths), "min": min(lengths), "max": max(lengths)}


def to_text(description: dict[str, Any]) -> str:
    """The description as a table for people."""
    counts = description["images"]
    parts = ", ".join(f"{split} {counts[split]:,}" for split in SPLITS)
    table = [("lang", "split", "images", "captions", "words", "characters", "vocabulary", "parallel")]
    for lang in dict.fromkeys([*description["languages"], *description["parallel"]]):
        for split in SPLITS:
            found = description["languages"].get(lang, {}).get(split)
            translations = description["parallel"].get(lang, {}).get(split, 0)
            if found or translations:
                table.append((lang, split, *_cells(found), f"{translations:,}" if translations else ""))
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = [
        "  ".join(
            cell.ljust(width) if place < 2 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    ]
    head = f"{description['dataset']}: {counts['total']:,} images ({parts})"
    return "\n".join([head, "", *lines, "", "words and characters: mean (shortest to longest caption)"])


def _cells(found: dict[str, Any] | None) -> tuple[str, ...]:
    if found is None:
        return ("",) * 5
    spreads = [f"{s['mean']:.1f} ({s['min']} to {s['max']})" for s in (found["words"], found["characters"])]
    return f"{found['images']:,}", f"{found['captions']:,}", *spreads, f"{found['vocabulary']:,}"

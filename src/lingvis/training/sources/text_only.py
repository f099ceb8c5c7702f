"""Sentences without a picture, from text-only.jsonl."""

from __future__ import annotations

from collections.abc import Sequence

from lingvis.data.dataset import Dataset


def text_only(
    dataset: Dataset, languages: Sequence[str], *, first: int
) -> tuple[list[str], list[str], list[int]]:
    """Texts, languages and groups of the sentences without a picture; groups are numbered from `first`."""
    texts: list[str] = []
    langs: list[str] = []
    groups: list[int] = []
    for group, row in enumerate(dataset.text_only(), start=first):
        sentences = [(lang, text) for lang, captions in row.captions.items() for text in captions]
        sentences += [pair for pair in row.parallel.items() if pair not in sentences]
        for lang, text in sentences:
            if lang in languages:
                texts.append(text)
                langs.append(lang)
                groups.append(group)
    return texts, langs, groups

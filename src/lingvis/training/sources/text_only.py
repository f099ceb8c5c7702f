"""Sentences without a picture, from text-only.jsonl."""

from __future__ import annotations

from collections.abc import Sequence

from lingvis.data.dataset import Dataset
from lingvis.terms.base import Origin
from lingvis.training.sources.sentences import Sentences


def add_text_only(known: Sentences, dataset: Dataset, languages: Sequence[str]) -> Sentences:
    """The known sentences and those without a picture.

    Their words count for the vocabulary in languages without human captions, which would otherwise have the few words
    of detectors, or no letter at all.
    """
    annotated = set(known.langs)
    texts: list[str] = []
    langs: list[str] = []
    groups: list[int] = []
    for group, row in enumerate(dataset.text_only(), start=len(known.images)):
        sentences = [(lang, text) for lang, captions in row.captions.items() for text in captions]
        sentences += [pair for pair in row.parallel.items() if pair not in sentences]
        for lang, text in sentences:
            if lang in languages:
                texts.append(text)
                langs.append(lang)
                groups.append(group)
    counted = [lang not in annotated for lang in langs]
    return known.plus(Origin.TEXT_ONLY, texts, langs, groups, in_vocabulary=counted)

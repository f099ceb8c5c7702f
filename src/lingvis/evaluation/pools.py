"""A dataset under a protocol -> one pool of images and sentences per language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lingvis.arrays import Ints
from lingvis.data.dataset import Captions, Dataset
from lingvis.data.sentence_source import KINDS, SentenceSource
from lingvis.errors import UserError, choices
from lingvis.evaluation.protocols import EvaluationProtocol


@dataclass(frozen=True)
class EvaluationPool:
    """The images and sentences that one language is measured on.

    images: names, in the order of the dataset; texts[t] describes images[image_of[t]]; source: of the sentences.
    """

    lang: str
    images: list[str]
    texts: list[str]
    image_of: Ints
    source: SentenceSource

    @cached_property
    def places(self) -> dict[str, int]:
        """The position of each image in `images`."""
        return {name: number for number, name in enumerate(self.images)}


def pools(
    dataset: Dataset, protocol: EvaluationProtocol, split: str, languages: Sequence[str] | None = None
) -> list[EvaluationPool]:
    """The pools of `languages` (by default all of the protocol); raises if the dataset does not fit."""
    sources = _sources(dataset, protocol, split)
    chosen = _languages(dataset, protocol, split, sources, languages)
    sentences = {
        source: dataset.captions(split, source=source)
        for source in dict.fromkeys(sources[lang] for lang in chosen)
    }
    checked = [_pool(sentences[sources[lang]], lang, sources[lang], protocol) for lang in chosen]
    for pool in checked:
        _check(pool, dataset, protocol, split)
    return checked


def languages_in(dataset: Dataset, protocol: EvaluationProtocol, split: str) -> list[str]:
    """The languages of the protocol that the split has sentences in."""
    available = _sources(dataset, protocol, split)
    return [lang for lang in protocol.languages or available if lang in available]


def _sources(dataset: Dataset, protocol: EvaluationProtocol, split: str) -> dict[str, SentenceSource]:
    """The source of the sentences of each language that the split has any in; raises if there are none."""
    rows = [row for row in dataset.rows if row.split == split]

    def languages(source: SentenceSource) -> list[str]:
        return list(
            dict.fromkeys(lang for row in rows for lang, texts in getattr(row, source).items() if texts)
        )

    first = next((source for source in protocol.sources if languages(source)), protocol.sources[0])
    sources = dict.fromkeys(languages(first), first)
    if protocol.fallback is not None:
        for lang in languages(protocol.fallback):
            if protocol.fallback != "translated" or lang not in protocol.human:
                sources.setdefault(lang, protocol.fallback)
    if not sources:
        dataset.captions(split, source=first)  # raises
    return sources


def _languages(
    dataset: Dataset,
    protocol: EvaluationProtocol,
    split: str,
    sources: Mapping[str, SentenceSource],
    requested: Sequence[str] | None,
) -> list[str]:
    allowed = list(protocol.languages) or list(sources)
    required = [lang for lang in allowed if lang in sources or lang not in protocol.optional]
    chosen = required if requested is None else list(dict.fromkeys(requested))
    outside = [lang for lang in chosen if protocol.languages and lang not in protocol.languages]
    if outside:
        raise UserError(
            f"protocol {protocol.name} has no language {choices(outside)}; it has: {choices(allowed)}"
        )
    missing = [lang for lang in chosen if lang not in sources]
    if missing or not chosen:
        kind = KINDS["captions" if "captions" in protocol.sources else protocol.sources[0]]
        raise UserError(
            f"{dataset.path} has no {kind} in {choices(missing)} in split {split}, which protocol "
            f"{protocol.name} needs; the split has: {choices(sources)}"
        )
    return chosen


def _pool(
    sentences: Captions, lang: str, source: SentenceSource, protocol: EvaluationProtocol
) -> EvaluationPool:
    """The sentences of one language; only the first ones if the protocol limits captions per image."""
    picked = [number for number, code in enumerate(sentences.langs) if code == lang]
    if protocol.most is not None:
        taken: dict[int, int] = {}
        kept = []
        for number in picked:
            image = int(sentences.image_of[number])
            taken[image] = taken.get(image, 0) + 1
            if taken[image] <= protocol.most:
                kept.append(number)
        picked = kept
    used, image_of = np.unique(sentences.image_of[picked], return_inverse=True)
    images = [sentences.images[image] for image in used]
    return EvaluationPool(
        lang, images, [sentences.texts[number] for number in picked], image_of.astype(np.int64), source
    )


def _check(pool: EvaluationPool, dataset: Dataset, protocol: EvaluationProtocol, split: str) -> None:
    instead = "choose other languages, or the protocol all"
    where = f"in {pool.lang} in split {split} of {dataset.path}"
    if protocol.images is not None and len(pool.images) != protocol.images:
        raise UserError(
            f"protocol {protocol.name} needs {protocol.images} images with captions, found "
            f"{len(pool.images)} {where}; {instead}"
        )
    if len(pool.images) % protocol.folds:
        raise UserError(
            f"protocol {protocol.name} needs {protocol.folds} folds of equal size, found "
            f"{len(pool.images)} images {where}; {instead}"
        )
    counts = np.bincount(pool.image_of)
    if protocol.captions is not None and (counts != protocol.captions).any():
        image = int(np.argmax(counts != protocol.captions))
        plural = "s" if protocol.captions > 1 else ""
        raise UserError(
            f"protocol {protocol.name} needs {protocol.captions} caption{plural} per image, found "
            f"{counts[image]} of {pool.images[image]} {where}; {instead}"
        )

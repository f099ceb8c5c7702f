"""A dataset under a protocol -> one pool of images and sentences per language."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lingvis.arrays import Ints
from lingvis.data.dataset import Captions, Dataset
from lingvis.errors import UserError, choices
from lingvis.evaluation.protocols import EvaluationProtocol, SentenceSource


@dataclass(frozen=True)
class EvaluationPool:
    """The images and sentences that one language is measured on.

    images: names, in the order of the dataset; texts[t] describes images[image_of[t]].
    """

    lang: str
    images: list[str]
    texts: list[str]
    image_of: Ints

    @cached_property
    def places(self) -> dict[str, int]:
        """The position of each image in `images`."""
        return {name: number for number, name in enumerate(self.images)}


def pools(
    dataset: Dataset, protocol: EvaluationProtocol, split: str, languages: Sequence[str] | None = None
) -> list[EvaluationPool]:
    """The pools of `languages` (by default all of the protocol); raises if the dataset does not fit."""
    sentences = _sentences(dataset, protocol, split)
    chosen = _languages(dataset, protocol, split, sentences, languages)
    checked = [_pool(sentences, lang, protocol) for lang in chosen]
    for pool in checked:
        _check(pool, dataset, protocol, split)
    return checked


def languages_in(dataset: Dataset, protocol: EvaluationProtocol, split: str) -> list[str]:
    """The languages of the protocol that the split has sentences in."""
    available = dict.fromkeys(_sentences(dataset, protocol, split).langs)
    return [lang for lang in protocol.languages or available if lang in available]


def _sentences(dataset: Dataset, protocol: EvaluationProtocol, split: str) -> Captions:
    """All sentences of the split from the first source that has any."""

    def has(source: SentenceSource) -> bool:
        return any(getattr(row, source) for row in dataset.rows if row.split == split)

    source = next((source for source in protocol.sources if has(source)), protocol.sources[0])
    return dataset.captions(split, source=source)


def _languages(
    dataset: Dataset,
    protocol: EvaluationProtocol,
    split: str,
    sentences: Captions,
    requested: Sequence[str] | None,
) -> list[str]:
    available = list(dict.fromkeys(sentences.langs))
    allowed = list(protocol.languages) or available
    required = [lang for lang in allowed if lang in available or lang not in protocol.optional]
    chosen = required if requested is None else list(dict.fromkeys(requested))
    outside = [lang for lang in chosen if protocol.languages and lang not in protocol.languages]
    if outside:
        raise UserError(
            f"protocol {protocol.name} has no language {choices(outside)}; it has: {choices(allowed)}"
        )
    missing = [lang for lang in chosen if lang not in available]
    if missing or not chosen:
        kind = "captions" if "captions" in protocol.sources else "parallel sentences"
        raise UserError(
            f"{dataset.path} has no {kind} in {choices(missing)} in split {split}, which protocol "
            f"{protocol.name} needs; the split has: {choices(available)}"
        )
    return chosen


def _pool(sentences: Captions, lang: str, protocol: EvaluationProtocol) -> EvaluationPool:
    """The sentences of one language; only the first ones if the protocol limits captions per image."""
    picked = [number for number, code in enumerate(sentences.langs) if code == lang]
    if protocol.first_captions and protocol.captions is not None:
        taken: dict[int, int] = {}
        kept = []
        for number in picked:
            image = int(sentences.image_of[number])
            taken[image] = taken.get(image, 0) + 1
            if taken[image] <= protocol.captions:
                kept.append(number)
        picked = kept
    used, image_of = np.unique(sentences.image_of[picked], return_inverse=True)
    images = [sentences.images[image] for image in used]
    return EvaluationPool(
        lang, images, [sentences.texts[number] for number in picked], image_of.astype(np.int64)
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

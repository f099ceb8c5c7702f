"""A dataset under a protocol -> one pool of images and sentences for each language."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lingvis.data.dataset import Captions, Dataset
from lingvis.errors import UserError, choices
from lingvis.evaluation.protocols import EvaluationProtocol, SentenceSource


@dataclass(frozen=True)
class Pool:
    """What one language is measured on.

    images: names, in the order of the dataset; texts[t] describes images[image_of[t]].
    """

    lang: str
    images: list[str]
    texts: list[str]
    image_of: NDArray[np.int64]

    @cached_property
    def places(self) -> dict[str, int]:
        """Where an image stands in `images`."""
        return {name: number for number, name in enumerate(self.images)}


def pools(
    dataset: Dataset, protocol: EvaluationProtocol, split: str, languages: Sequence[str] | None = None
) -> list[Pool]:
    """The pools of `languages` (those of the protocol when None); says so when the dataset does not fit."""
    found = _sentences(dataset, protocol, split)
    made = [_pool(found, lang, protocol) for lang in _languages(dataset, protocol, split, found, languages)]
    for pool in made:
        _check(pool, dataset, protocol, split)
    return made


def languages_in(dataset: Dataset, protocol: EvaluationProtocol, split: str) -> list[str]:
    """Those that the protocol measures and the split has sentences in, where the protocol looks for them."""
    here = dict.fromkeys(_sentences(dataset, protocol, split).langs)
    return [lang for lang in protocol.languages or here if lang in here]


def _sentences(dataset: Dataset, protocol: EvaluationProtocol, split: str) -> Captions:
    """All sentences of the split from the first source that has any."""

    def has(source: SentenceSource) -> bool:
        return any(getattr(row, source) for row in dataset.rows if row.split == split)

    source = next((source for source in protocol.sources if has(source)), protocol.sources[0])
    return dataset.captions(split, source=source)


def _languages(
    dataset: Dataset, protocol: EvaluationProtocol, split: str, found: Captions, asked: Sequence[str] | None
) -> list[str]:
    here = list(dict.fromkeys(found.langs))
    allowed = list(protocol.languages) or here
    needed = [lang for lang in allowed if lang in here or lang not in protocol.optional]
    wanted = needed if asked is None else list(dict.fromkeys(asked))
    outside = [lang for lang in wanted if protocol.languages and lang not in protocol.languages]
    if outside:
        raise UserError(
            f"protocol {protocol.name} has no language {choices(outside)}; it has: {choices(allowed)}"
        )
    missing = [lang for lang in wanted if lang not in here]
    if missing or not wanted:
        sentences = "captions" if "captions" in protocol.sources else "parallel sentences"
        raise UserError(
            f"{dataset.path} has no {sentences} in {choices(missing)} in split {split}, which protocol "
            f"{protocol.name} was to measure; that split has: {choices(here)}"
        )
    return wanted


def _pool(found: Captions, lang: str, protocol: EvaluationProtocol) -> Pool:
    """The sentences of one language; of more captions than the protocol takes the first ones stay."""
    picked = [number for number, code in enumerate(found.langs) if code == lang]
    if protocol.first_captions and protocol.captions is not None:
        taken: dict[int, int] = {}
        kept = []
        for number in picked:
            image = int(found.image_of[number])
            taken[image] = taken.get(image, 0) + 1
            if taken[image] <= protocol.captions:
                kept.append(number)
        picked = kept
    used, image_of = np.unique(found.image_of[picked], return_inverse=True)
    images = [found.images[image] for image in used]
    return Pool(lang, images, [found.texts[number] for number in picked], image_of.astype(np.int64))


def _check(pool: Pool, dataset: Dataset, protocol: EvaluationProtocol, split: str) -> None:
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
            f"protocol {protocol.name} needs {protocol.captions} caption{plural} an image, found "
            f"{counts[image]} of {pool.images[image]} {where}; {instead}"
        )

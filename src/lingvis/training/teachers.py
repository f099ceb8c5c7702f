"""Trained models that teach another one: what they make of pictures that nobody described."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from lingvis.data.dataset import Dataset
from lingvis.errors import UserError, choices
from lingvis.model.embedder import Embedder
from lingvis.model.stored import StoredImages

FOUND = 5  # sentences in each language that a picture may be shown with
BLOCK = 256  # pictures that are compared with all sentences at once

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Taught:
    """Sentences that teachers found: rows[n] of all sentences for picture places[n].

    images and texts: unit vectors of all pictures [images, dim] and of all sentences [texts, dim]; their inner product
    is the mean of the teachers' scores.
    """

    rows: Ints
    places: Ints
    images: Floats
    texts: Floats


class Teachers:
    """Several models as one: its score is the mean of theirs."""

    def __init__(
        self, runs: Sequence[Path], dataset: Dataset, languages: Sequence[str], device: torch.device | None
    ) -> None:
        self._runs, self._dataset, self._languages = runs, dataset, languages
        self._device = None if device is None else str(device)

    def find(
        self, images: Sequence[str], undescribed: int, texts: Sequence[str], langs: Sequence[str], about: Ints
    ) -> Taught:
        """Sentences for all pictures from number `undescribed` on.

        about: what each sentence is about, any numbers. Sentences about one thing are found together, by the mean of
        their vectors; of the FOUND best the first sentence of each language is taken.
        """
        embedded = [
            (source.encode(images), source.model.encode_texts(texts, langs)) for source in self._models()
        ]
        image_emb, text_emb = (_joint(vectors) for vectors in zip(*embedded, strict=True))
        _, about = np.unique(about, return_inverse=True)
        first = _first_of_each_language(about, langs)
        things = np.zeros((len(first), text_emb.shape[1]), np.float32)
        np.add.at(things, about, text_emb)
        things /= np.linalg.norm(things, axis=1, keepdims=True).clip(min=1e-12)
        rows: list[int] = []
        places: list[int] = []
        for start in range(undescribed, len(images), BLOCK):
            best = _best(image_emb[start : start + BLOCK] @ things.T)
            for place, found in enumerate(best, start=start):
                own = [row for thing in found for row in first[thing]]
                rows += own
                places += [place] * len(own)
        return Taught(np.array(rows, np.int64), np.array(places, np.int64), image_emb, text_emb)

    def _models(self) -> Iterator[StoredImages]:
        """One after the other, so that no two are in memory."""
        for run in self._runs:
            model = Embedder.load(run, device=self._device)
            source = StoredImages.open(model, self._dataset)
            if not (model.inner_product and model.pooled):
                raise UserError(
                    f"teacher {model.name} has no single vector for a picture; name models with similarity.name = cosine"
                )
            unknown = set(self._languages) - set(model.languages)
            if unknown:
                raise UserError(
                    f"teacher {model.name} does not know {choices(unknown)}; train it with these languages, or leave "
                    "them out with data.languages"
                )
            yield source


def _joint(vectors: Sequence[Floats]) -> Floats:
    joint: Floats = np.concatenate(vectors, axis=1) / np.float32(len(vectors) ** 0.5)
    return joint


def _best(scores: Floats) -> Ints:
    """The columns of the FOUND highest scores of each row, the highest first."""
    some = np.argpartition(-scores, min(FOUND, scores.shape[1]) - 1, axis=1)[:, :FOUND]
    order = np.argsort(-np.take_along_axis(scores, some, axis=1), axis=1, kind="stable")
    return np.take_along_axis(some, order, axis=1)


def _first_of_each_language(about: Ints, langs: Sequence[str]) -> list[list[int]]:
    found: list[dict[str, int]] = [{} for _ in range(int(about.max()) + 1)]
    for row, (thing, lang) in enumerate(zip(about.tolist(), langs, strict=True)):
        found[thing].setdefault(lang, row)
    return [list(each.values()) for each in found]

"""The first results of a search put in order with a second model, such as one that no index can serve."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lingvis.collection.rerank.learned_consistency import check_page
from lingvis.collection.rerank.pictures import PictureVectors, Thumbnail
from lingvis.collection.stores.contract import Hit
from lingvis.collection.stores.exact import ranked
from lingvis.errors import UserError, choices
from lingvis.model.embedder import Embedder

TOP = 100

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Effort:
    """What one question took.

    pictures: re-ranked; computed: those whose vectors were not known yet. The seconds are those of getting the
    vectors of the pictures, and of reading the words and comparing.
    """

    pictures: int = 0
    computed: int = 0
    picture_seconds: float = 0.0
    score_seconds: float = 0.0


class Reranker:
    """A model that scores pictures against words: `photos.search("ein Hund", rerank=Reranker.load("runs/scan"))`.

    Several threads may ask; they are answered one after the other. effort: of the last answer.
    """

    def __init__(self, embedder: Embedder, *, cache: Path | None = None) -> None:
        if embedder.features.kind == "region":
            raise UserError(
                f"model {embedder.name} compares regions, and the pictures of a collection have none; re-rank with a "
                "model trained on features of the kind grid"
            )
        self._embedder = embedder
        self._pictures = PictureVectors(embedder, cache)
        self._lock = threading.Lock()
        self.effort = Effort()

    @classmethod
    def load(cls, run: Path | str, *, cache: Path | str | None = None, device: str | None = None) -> Reranker:
        """The model in a folder; cache: a folder that keeps for later processes what the model makes of pictures."""
        return cls(Embedder.load(run, device=device), cache=Path(cache) if cache is not None else None)

    def check(self, langs: Sequence[str]) -> None:
        """Refuse a question in a language that the model does not know."""
        unknown = set(langs) - set(self._embedder.languages)
        if unknown:
            raise UserError(
                f"the question is in {choices(unknown)}, but the model that re-ranks, {self._embedder.name}, knows "
                f"{choices(self._embedder.languages)}; ask in one of these, or without --rerank"
            )

    def order(
        self, hits: Sequence[Hit], texts: Sequence[str], langs: Sequence[str], thumbnail: Thumbnail
    ) -> list[Hit]:
        """Hits by what they were found with and this model's scores together (`both`), best first.

        Of several sentences the mean of the scores counts. A picture that has neither a file nor a thumbnail any more
        is left out.
        """
        with self._lock:
            began = time.perf_counter()
            vectors, computed = self._pictures(hits, thumbnail)
            looked = time.perf_counter()
            there = [hit for hit in hits if hit.id in vectors]
            scores: list[float] = []
            if there:
                image_side = np.stack([vectors[hit.id] for hit in there]).astype(np.float32)
                text_side = self._embedder.encode_texts(texts, langs)
                own = self._embedder.scores(image_side, text_side).mean(axis=1)
                scores = both(np.array([hit.score for hit in there], np.float32), own).tolist()
            self.effort = Effort(len(there), computed, looked - began, time.perf_counter() - looked)
        return ranked(scores, [hit.entry for hit in there])


def both(first: Floats, second: Floats) -> Floats:
    """The mean of two models' scores of the same pictures, each in standard deviations from its own mean.

    Scores of different models lie on different scales; equal ones say nothing and count as zero.
    """
    return ((_standard(first) + _standard(second)) / 2).astype(np.float32)


def _standard(scores: Floats) -> Floats:
    deviation = float(scores.std())
    centred: Floats = scores - scores.mean()
    return centred / deviation if deviation > np.spacing(np.abs(scores).max()) else np.zeros_like(centred)


def check_question(*, words: Sequence[str], picture: bool, captions: bool, consistency: str) -> None:
    """Refuse what re-ranking cannot do, before anything is computed."""
    if picture or not any(each.strip() for each in words):
        raise UserError("--rerank compares pictures with words; give words, and no --image")
    if captions:
        raise UserError(
            "--rerank compares words with pictures, --captions with captions; leave one of them out"
        )
    if consistency != "mean":
        raise UserError(
            f"--rerank and --consistency {consistency} both put results in an order of their own; leave one of them out"
        )


def first_reordered(
    find: Callable[[int, int], list[Hit]], order: Callable[[list[Hit]], list[Hit]], *, k: int, offset: int
) -> list[Hit]:
    """The page of an order in which the first 100 are put in another one; the rest stay as they were found.

    find: (k, offset) -> hits; order: the first hits -> the same in their own order.
    """
    check_page(k, offset)
    if offset >= TOP:
        return find(k, offset)
    found = find(max(TOP, offset + k), 0)
    page = [*order(found[:TOP]), *found[TOP:]][offset : offset + k]
    return [Hit(rank, hit.score, hit.entry) for rank, hit in enumerate(page, start=offset + 1)]

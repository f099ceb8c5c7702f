"""Re-ranking by a second model, for instance one that no index supports."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lingvis.arrays import Floats
from lingvis.collection.query.query import Query
from lingvis.collection.rerank.base import RerankContext, Reranker
from lingvis.collection.rerank.pictures import PictureVectors
from lingvis.collection.stores.records import Hit, ranked
from lingvis.errors import UserError, choices
from lingvis.model.embedder import Embedder


@dataclass(frozen=True, slots=True)
class Effort:
    """The work of one query.

    pictures: number re-ranked; computed: number whose vectors were not in the cache. picture_seconds: time for
    the vectors of the pictures; score_seconds: time for encoding the words and comparing.
    """

    pictures: int = 0
    computed: int = 0
    picture_seconds: float = 0.0
    score_seconds: float = 0.0


class SecondModel(Reranker):
    """A model that scores pictures against words: `photos.search("ein Hund", rerank=SecondModel.load("runs/scan"))`.

    Several threads may use it, one at a time. effort: the work of the last query.
    """

    block = 100
    first_only = True

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
    def load(
        cls, run: Path | str, *, cache: Path | str | None = None, device: str | None = None
    ) -> SecondModel:
        """Load the model in a folder; cache: a folder that stores picture vectors for later processes."""
        return cls(Embedder.load(run, device=device), cache=Path(cache) if cache is not None else None)

    def check(self, query: Query, langs: Sequence[str], *, captions: bool) -> None:
        """Raise UserError unless the query has only words, in the model's languages, and searches pictures."""
        if query.image is not None or not query.has_words:
            raise UserError("`rerank` compares pictures with words; give words, and no `image`")
        if captions:
            raise UserError(
                "`rerank` compares words with pictures, but `captions` searches captions; leave one of them out"
            )
        unknown = set(langs) - set(self._embedder.languages)
        if unknown:
            raise UserError(
                f"the query is in {choices(unknown)}, but the re-ranking model {self._embedder.name} was trained on "
                f"{choices(self._embedder.languages)}; search in one of these, or without `rerank`"
            )

    def order(self, hits: Sequence[Hit], context: RerankContext) -> list[Hit]:
        """Return hits by the scores of the search and of this model together (`joint_scores`), best first.

        For several sentences, scores are averaged. A picture without a file and a thumbnail is left
        out.
        """
        with self._lock:
            start = time.perf_counter()
            vectors, computed = self._pictures(hits, context.thumbnail)
            pictures_done = time.perf_counter()
            present = [hit for hit in hits if hit.id in vectors]
            scores: list[float] = []
            if present:
                image_side = np.stack([vectors[hit.id] for hit in present]).astype(np.float32)
                text_side = self._embedder.encode_texts(context.query.texts, context.langs)
                second = self._embedder.scores(image_side, text_side).mean(axis=1)
                scores = joint_scores(np.array([hit.score for hit in present], np.float32), second).tolist()
            self.effort = Effort(
                len(present), computed, pictures_done - start, time.perf_counter() - pictures_done
            )
        return ranked(scores, [hit.info for hit in present])


def joint_scores(first: Floats, second: Floats) -> Floats:
    """Return the mean of two models' scores of the same pictures, each in standard deviations from its mean.

    Scores of different models have different scales; scores that are all equal count as zero.
    """
    return ((_standardised(first) + _standardised(second)) / 2).astype(np.float32)


def _standardised(scores: Floats) -> Floats:
    deviation = float(scores.std())
    centred: Floats = scores - scores.mean()
    return centred / deviation if deviation > np.spacing(np.abs(scores).max()) else np.zeros_like(centred)

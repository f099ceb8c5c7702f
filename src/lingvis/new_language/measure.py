"""How well a model reads a language: mR of its sentences against pictures, or against their translations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lingvis.errors import UserError
from lingvis.evaluation import metrics
from lingvis.evaluation.ranks import ranks
from lingvis.evaluation.scorers import FunctionScores, InnerProduct, Scorer
from lingvis.model.embedder import Embedder

Floats = NDArray[np.float32]


class Ruler:
    """Sentences of one language and the points [points, dim] that they belong to: sentence i to points[of[i]]."""

    def __init__(self, texts: Sequence[str], lang: str, points: Floats, of: Sequence[int]) -> None:
        self.texts, self.lang, self.points = list(texts), lang, points
        self.of = np.asarray(of, np.int64)

    @property
    def shorter(self) -> Ruler:
        """With the first sentence of each point alone: enough to choose by, and soon done."""
        first = np.unique(self.of, return_index=True)[1]
        return Ruler([self.texts[row] for row in first], self.lang, self.points, self.of[first].tolist())

    def __call__(self, embedder: Embedder) -> float:
        """mR, in percent."""
        return self.of_embeddings(embedder, embedder.encode_texts(self.texts, self.lang))

    def of_embeddings(self, embedder: Embedder, emb: Floats) -> float:
        """The same for sentences that are embedded already."""
        scorer: Scorer = (
            InnerProduct(self.points, emb)
            if embedder.inner_product
            else FunctionScores(embedder.scores, self.points, emb)
        )
        return float(metrics.scores(ranks(scorer, self.of)).mR)

    def before(self, embedder: Embedder) -> float | None:
        """mR zero-shot; None for a model that has no words for languages it never saw."""
        try:
            return self(embedder)
        except UserError:
            return None

"""mR of the sentences of a language, as queries for their pictures or their translations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lingvis.arrays import Floats
from lingvis.errors import UserError
from lingvis.evaluation import metrics
from lingvis.evaluation.ranks import ranks
from lingvis.evaluation.scorers import FunctionScores, InnerProduct, Scorer
from lingvis.model.embedder import Embedder


class RetrievalMeasure:
    """Sentences of one language and points [points, dim]; sentence i belongs to points[of[i]]."""

    def __init__(self, texts: Sequence[str], lang: str, points: Floats, of: Sequence[int]) -> None:
        self.texts = list(texts)
        self.lang = lang
        self.points = points
        self.of = np.asarray(of, np.int64)

    @property
    def shorter(self) -> RetrievalMeasure:
        """A measure with only the first sentence of each point: faster, and enough for choosing."""
        first = np.unique(self.of, return_index=True)[1]
        return RetrievalMeasure(
            [self.texts[row] for row in first], self.lang, self.points, self.of[first].tolist()
        )

    def score(self, embedder: Embedder) -> float:
        """mR of an embedder, in percent."""
        return self.score_embeddings(embedder, embedder.encode_texts(self.texts, self.lang))

    def score_embeddings(self, embedder: Embedder, emb: Floats) -> float:
        """mR of embeddings [sentences, dim] that the embedder made."""
        scorer: Scorer = (
            InnerProduct(self.points, emb)
            if embedder.inner_product
            else FunctionScores(embedder.scores, self.points, emb)
        )
        return float(metrics.scores(ranks(scorer, self.of)).mR)

    def zero_shot(self, embedder: Embedder) -> float | None:
        """mR before the language is learnt; None for a model that cannot encode unknown languages."""
        try:
            return self.score(embedder)
        except UserError:
            return None

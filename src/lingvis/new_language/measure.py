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
from lingvis.new_language.language_data import LanguageData
from lingvis.new_language.targets import known_points


class RetrievalMeasure:
    """Sentences of one language and points [points, dim]; sentence i belongs to points[of[i]].

    Points without a sentence are wrong answers: the more of them, the closer the task is to a search.
    """

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
        return float(metrics.scores(ranks(scorer, self.of, distractors=True)).mR)

    @classmethod
    def among_pictures(cls, data: LanguageData, names: Sequence[str], image_emb: Floats) -> RetrievalMeasure:
        """The sentences of data.choose against all pictures: names, and embeddings [pictures, dim]."""
        place = {name: number for number, name in enumerate(names)}
        of = [place[data.choose.images[group]] for group in data.choose.groups]
        return cls(data.choose.texts, data.lang, image_emb, of)

    @classmethod
    def among_sentences(cls, data: LanguageData, embedder: Embedder) -> RetrievalMeasure:
        """The sentences of data.choose against the translations of all sentences."""
        points, of = known_points(embedder, data.choose)
        others, _ = known_points(embedder, data.learn)
        return cls(data.choose.texts, data.lang, np.concatenate([points, others]), of.tolist())

    def zero_shot(self, embedder: Embedder) -> float | None:
        """mR before the language is learnt; None for a model that cannot encode unknown languages."""
        try:
            return self.score(embedder)
        except UserError:
            return None

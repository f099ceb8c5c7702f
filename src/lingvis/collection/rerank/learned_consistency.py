"""Re-ranking by learned cross-lingual consistency (CLC-C): a perceptron over the scores of a query in each language.

No vector has that score, so no index can find its best results. Pictures are found by the mean of the languages (CLC-A)
instead, and the perceptron reorders the first 200, then the next 200, and so on. Burns et al. 2020.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from lingvis.arrays import Floats
from lingvis.collection.query.query import Query
from lingvis.collection.rerank.base import RerankContext, Reranker
from lingvis.collection.stores.records import Hit, ranked
from lingvis.errors import UserError, choices
from lingvis.evaluation.clc.base import METHODS, Consistency, combine
from lingvis.evaluation.clc.learned import LearnedConsistency


def check_consistency(consistency: str, query: Query) -> None:
    """Raise for an unknown consistency, or for a learned one without a translator."""
    if consistency not in METHODS:
        raise UserError(f"unknown consistency {consistency!r}; choose one of: {choices(METHODS)}")
    if consistency == "learned" and query.translator is None:
        raise UserError(
            "`consistency` learned compares a query with its translations, so it needs a `translator`; name one"
        )


class LearnedConsistencyReranker(Reranker):
    """Orders pictures by the learned consistency of their model."""

    block = 200
    first_only = False

    def __init__(self, learned: LearnedConsistency) -> None:
        self._learned = learned

    def check(self, query: Query, langs: Sequence[str], *, captions: bool) -> None:
        """Raise UserError for a query without words, or in a language outside the learned consistency."""
        if not langs:
            raise UserError("`consistency` learned compares languages, and there are no words; give some")
        unknown = set(langs) - set(self._learned.languages)
        if unknown:
            raise UserError(
                f"the query is in {choices(unknown)}, but `consistency` learned was fitted for "
                f"{choices(self._learned.languages)}; search in one of these, or with `consistency` mean"
            )

    def order(self, hits: Sequence[Hit], context: RerankContext) -> list[Hit]:
        """Return hits with the perceptron's scores, best first."""
        by_language = context.vectors.by_language(self._learned.languages)
        return rescored(hits, context.embeddings([hit.id for hit in hits]), by_language, self._learned)


def rescored(
    hits: Sequence[Hit],
    embeddings: Mapping[str, Floats],
    queries: Mapping[str, Floats],
    consistency: Consistency,
) -> list[Hit]:
    """Return hits with the scores of `consistency`, best first; a picture without an embedding is left out.

    embeddings: of the pictures or their captions, by id; queries: the query by language, unit vectors [dim].
    """
    present = [(hit.info, vector) for hit in hits if (vector := embeddings.get(hit.id)) is not None]
    if not present:
        return []
    # In one product, copies of a picture may differ in the last digit: each vector is scored once.
    vectors, copy_of = np.unique(np.stack([vector for _, vector in present]), axis=0, return_inverse=True)
    by_lang = {
        lang: (vectors.astype(np.float64) @ query).astype(np.float32) for lang, query in queries.items()
    }
    scores = combine(consistency, by_lang)[copy_of]
    return ranked(scores.tolist(), [info for info, _ in present])

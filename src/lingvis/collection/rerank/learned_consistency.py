"""Results put in order by a perceptron over the scores of a question in each language (CLC-C).

No vector has that score, so no index finds its best. Pictures are found by the mean of the languages (CLC-A) instead,
and of its order the first 200 are put in the learnt one, then the next 200, and so on: whatever the page, each
picture has one place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from lingvis.collection.stores.contract import Floats, Hit
from lingvis.collection.stores.exact import ranked
from lingvis.errors import UserError, choices
from lingvis.evaluation.clc.base import METHODS, Consistency, combine
from lingvis.text.translators.contract import Translator

BLOCK = 200


def check_asked(consistency: str, translator: Translator | None) -> None:
    """Refuse what cannot be done, before anything is loaded."""
    if consistency not in METHODS:
        raise UserError(f"unknown consistency {consistency!r}; choose one of: {choices(METHODS)}")
    if consistency == "learned" and translator is None:
        raise UserError(
            "--consistency learned compares a question with its translations; name a translator with --translator"
        )


def check_page(k: int, offset: int) -> None:
    """Refuse a page that cannot be."""
    if k < 1 or offset < 0:
        raise UserError(
            f"cannot give {k} results from place {offset} on; use -k 1 or more, --offset 0 or more"
        )


def in_blocks(
    find: Callable[[int, int], list[Hit]], order: Callable[[list[Hit]], list[Hit]], *, k: int, offset: int
) -> list[Hit]:
    """The page of an order that holds within blocks of 200.

    find: (k, offset) -> hits in the order of the blocks; order: the hits of one block -> the same in their own.
    """
    check_page(k, offset)
    first = offset // BLOCK * BLOCK
    last = -(-(offset + k) // BLOCK) * BLOCK
    found = find(last - first, first)
    ordered = [hit for start in range(0, len(found), BLOCK) for hit in order(found[start : start + BLOCK])]
    page = ordered[offset - first : offset - first + k]
    return [Hit(rank, hit.score, hit.entry) for rank, hit in enumerate(page, start=offset + 1)]


def rerank(
    hits: Sequence[Hit],
    vectors: Mapping[str, Floats],
    asked: Mapping[str, Floats],
    consistency: Consistency,
) -> list[Hit]:
    """Hits with the scores of `consistency`, best first; a picture without a vector is left out.

    vectors: of the pictures or their notes, by id; asked: the question by language, unit vectors [dim].
    """
    there = [(hit.entry, vector) for hit in hits if (vector := vectors.get(hit.id)) is not None]
    if not there:
        return []
    matrix = np.stack([vector for _, vector in there]).astype(np.float64)
    # Row by row: in one big product, copies of a picture may differ in the last digit.
    by_lang = {lang: (matrix * query).sum(axis=1) for lang, query in asked.items()}
    scores = combine(consistency, by_lang)
    return ranked(scores.tolist(), [entry for entry, _ in there])

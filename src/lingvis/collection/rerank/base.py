"""The interface of re-rankers, which reorder the first results of a search."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lingvis.arrays import Floats
from lingvis.collection.query.query import Query
from lingvis.collection.query.vectors import QueryVectors
from lingvis.collection.stores.records import Hit, check_page, page_of
from lingvis.errors import UserError

Find = Callable[[int, int], list[Hit]]  # (k, offset) -> hits in the order of the search
Thumbnail = Callable[[str], bytes | None]  # by the id of a picture


@dataclass(frozen=True, slots=True)
class RerankContext:
    """The inputs of a re-ranker besides the hits.

    langs: the language of each sentence of the query; thumbnail: by id; embeddings: by ids, of the pictures or captions
    that were searched.
    """

    query: Query
    langs: Sequence[str]
    vectors: QueryVectors
    thumbnail: Thumbnail
    embeddings: Callable[[Sequence[str]], dict[str, Floats]]


def check_plain(query: Query) -> None:
    """Raise for parts of a query that no re-ranker compares."""
    if query.without or query.like is not None:
        part = "`without` (or a word with a minus)" if query.without else "`like`"
        raise UserError(
            f"re-ranking, by a second model or by learned consistency, does not support {part}; leave one of them out"
        )


class Reranker(ABC):
    """Orders results within blocks, so that the place of a picture does not depend on the page size.

    block: number of hits that are ordered together; first_only: order only the first block, keep the
    others.
    """

    block: int
    first_only: bool

    @abstractmethod
    def check(self, query: Query, langs: Sequence[str], *, captions: bool) -> None:
        """Raise UserError if results of this query cannot be ordered; called before anything is computed."""

    @abstractmethod
    def order(self, hits: Sequence[Hit], context: RerankContext) -> list[Hit]:
        """Return the hits of one block in their new order, with new scores; hits may be left out."""

    def page(self, find: Find, context: RerankContext, *, k: int, offset: int) -> list[Hit]:
        """Return the page of results that starts at `offset`, in the new order."""
        check_page(k, offset)
        size = self.block
        if self.first_only:
            if offset >= size:
                return find(k, offset)
            first, last = 0, max(size, offset + k)
        else:
            first, last = offset // size * size, -(-(offset + k) // size) * size
        hits = find(last - first, first)
        ordered: list[Hit] = []
        for start in range(0, len(hits), size):
            block = hits[start : start + size]
            ordered += block if self.first_only and start else self.order(block, context)
        return page_of(ordered[offset - first : offset - first + k], first_rank=offset + 1)

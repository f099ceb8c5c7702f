"""Search in the rows of one state: the server ranks, and equal scores are ordered by path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lingvis.arrays import Floats
from lingvis.collection.stores.escapes import from_text
from lingvis.collection.stores.milvus.index import METRIC
from lingvis.collection.stores.milvus.reading import WINDOW, Reader
from lingvis.collection.stores.milvus.rows import to_info
from lingvis.collection.stores.records import EMBEDDING, INFO_COLUMNS, Hit
from lingvis.errors import UserError

QUERIES = 100  # of one question
DIGITS = 6  # of a score: copies of a picture may differ in the last digit of single precision
MORE = 16  # rows that are asked for beyond the page, to see whether its last score goes on
# Places of a graph are filled in these steps, whatever the page: each step from its own number of candidates, without the
# rows of the steps before, so that each picture has one place and pages neither overlap nor have gaps.
STEPS = (256, 2048, WINDOW)
CANDIDATES = 2  # per place of a step
Found = tuple[float, str, str]  # score, path, id


class Searcher:
    """Searches one partition; flat: its rows are all compared, so that places do not depend on the page."""

    def __init__(self, reader: Reader, partition: str, expression: str, *, flat: bool) -> None:
        self._reader, self._partition, self._expression, self._flat = reader, partition, expression, flat

    def search(self, queries: Floats, k: int, offset: int) -> list[list[Hit]]:
        """Return the hits of each query."""
        pages: list[list[Found]] = []
        for start in range(0, len(queries), QUERIES):
            pages += self._pages(queries[start : start + QUERIES], k + offset)
        chosen = [page[offset : offset + k] for page in pages]
        ids = list(dict.fromkeys(id for page in chosen for _, _, id in page))
        rows = self._reader.among(ids, INFO_COLUMNS, partition=self._partition)
        infos = {from_text(row["id"]): to_info(row) for row in rows}
        return [
            [
                Hit(rank, score, infos[id])
                for rank, (score, _, id) in enumerate(page, start=offset + 1)
                if id in infos  # another process may have dropped it since
            ]
            for page in chosen
        ]

    def _pages(self, queries: Floats, end: int) -> list[list[Found]]:
        """Return at least the first `end` places of each query."""
        if not self._flat:
            return self._steps(queries, end)
        limit = min(end + MORE, WINDOW)
        while True:
            pages = self._ranked(queries, limit, {})
            # The last score of a page may go on beyond the limit, with paths that come first.
            short = any(len(page) == limit and page[min(end, limit) - 1][0] == page[-1][0] for page in pages)
            if not short or limit == WINDOW:
                break
            limit = min(2 * limit, WINDOW)
        self._check(pages, end, limit)
        return pages

    def _steps(self, queries: Floats, end: int) -> list[list[Found]]:
        places: list[list[Found]] = [[] for _ in queries]
        for limit in STEPS:
            pages = self._ranked(queries, limit, {"ef": CANDIDATES * limit})
            for held, page in zip(places, pages, strict=True):
                known = {id for _, _, id in held}
                held += [found for found in page if found[2] not in known]
            if limit >= end or all(len(page) < limit for page in pages):
                break
        self._check(places, end, WINDOW)
        return places

    def _check(self, pages: Sequence[Sequence[Found]], end: int, limit: int) -> None:
        if end > WINDOW and limit == WINDOW and any(len(page) >= WINDOW for page in pages):
            raise UserError(
                f"a search on Milvus has at most {WINDOW} places, got k and offset up to place {end}; use a filter"
            )

    def _ranked(self, queries: Floats, limit: int, parameters: dict[str, Any]) -> list[list[Found]]:
        results = self._reader.connection.client.search(
            self._reader.state.rows,
            data=list(np.ascontiguousarray(queries, np.float32)),
            anns_field=EMBEDDING,
            limit=limit,
            filter=self._expression,
            output_fields=["path"],
            partition_names=[self._partition],
            search_params={"metric_type": METRIC, "params": parameters},
            **self._reader.options,
        )
        pages: list[list[Found]] = []
        for hits in results:
            found = [
                (
                    round(float(hit["distance"]), DIGITS),
                    from_text(hit["entity"]["path"]),
                    from_text(hit["id"]),
                )
                for hit in hits
            ]
            pages.append(sorted(found, key=lambda each: (-each[0], each[1])))
        return pages

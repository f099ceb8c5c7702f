"""Questions to the rows of one state of a collection."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from lingvis.collection.stores.milvus.connection import Connection
from lingvis.collection.stores.milvus.rows import PICTURES, among, literal
from lingvis.collection.stores.milvus.state import State

WINDOW = 16_384  # rows that Milvus returns for one question
PAGE = 5000
CHUNK = 1000  # ids of one question


class Reader:
    """Reads what was written before the state was read: the server waits for the timestamp of the last change.

    This is as strong as Milvus's level "Strong", which makes every question wait for the next tick of the server's clock
    (0.2 s), but only the first question after a change waits.
    """

    def __init__(self, connection: Connection, state: State) -> None:
        self.connection, self.state = connection, state
        self.options = {
            "consistency_level": "Customized",
            "guarantee_timestamp": state.written,
            "timeout": connection.seconds,
        }

    def query(
        self, expression: str, columns: Sequence[str], *, partition: str = PICTURES, limit: int | None = None
    ) -> list[dict[str, Any]]:
        """Return the rows of a partition for which an expression holds."""
        options = self.options if limit is None else {**self.options, "limit": limit}
        return list(
            self.connection.client.query(
                self.state.rows,
                filter=expression,
                output_fields=list(columns),
                partition_names=[partition],
                **options,
            )
        )

    def among(
        self, values: Sequence[str], columns: Sequence[str], *, key: str = "id", partition: str = PICTURES
    ) -> list[dict[str, Any]]:
        """Return the rows that have one of some texts in a column."""
        chunks = (values[start : start + CHUNK] for start in range(0, len(values), CHUNK))
        return [
            row for chunk in chunks for row in self.query(among(key, chunk), columns, partition=partition)
        ]

    def scan(self, columns: Sequence[str], condition: str = "") -> Iterator[dict[str, Any]]:
        """Yield all pictures for which a condition holds, in the order of ids."""
        last, rest = "", f" and {condition}" if condition else ""
        while True:
            after = f"id > {literal(last)}{rest}"
            # A server that has just started knows its collections before it has loaded them.
            rows = self.connection.patiently(lambda after=after: self.query(after, columns, limit=PAGE))  # type: ignore[misc]
            yield from rows
            if len(rows) < PAGE:
                return
            last = max(row["id"] for row in rows)

    def count(self, condition: str = "") -> int:
        """Return the number of pictures for which a condition holds."""
        return int(self.query(condition, ["count(*)"])[0]["count(*)"])

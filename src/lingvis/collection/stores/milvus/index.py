"""The search index of a collection: FLAT compares every row, HNSW is a graph for many rows."""

from __future__ import annotations

import time
from typing import Any

from lingvis.collection.stores.milvus.connection import Connection
from lingvis.collection.stores.records import EMBEDDING

LEAST = 1024  # rows of a segment from which on Milvus builds an index for it
SECONDS_TO_BUILD = 3600.0  # that a writer waits; the server goes on
METRIC = "IP"  # of unit vectors: the cosine
FLAT: dict[str, Any] = {"index_type": "FLAT", "params": {}}
HNSW: dict[str, Any] = {"index_type": "HNSW", "params": {"M": 16, "efConstruction": 200}}


def make_index(connection: Connection, rows: str, kind: dict[str, Any] = FLAT) -> None:
    """Define the index of a Milvus collection; the server builds it in the background."""

    def make() -> None:
        parameters: Any = connection.client.prepare_index_params()
        parameters.add_index(EMBEDDING, metric_type=METRIC, **kind)
        connection.client.create_index(rows, parameters, sync=False, timeout=connection.seconds)

    connection.run(make)


def is_flat(connection: Connection, rows: str) -> bool:
    """Return whether every row is compared."""
    found = connection.run(
        lambda: connection.client.describe_index(rows, EMBEDDING, timeout=connection.seconds)
    )
    return found is None or found["index_type"] == FLAT["index_type"]


def change_to_graph(connection: Connection, rows: str, *, replicas: int) -> None:
    """Replace FLAT by HNSW; Milvus releases the collection meanwhile, and readers wait."""
    client, seconds = connection.client, connection.seconds

    def replace() -> None:
        client.flush(rows)
        client.release_collection(rows, timeout=seconds)
        client.drop_index(rows, EMBEDDING, timeout=seconds)

    connection.run(replace)
    make_index(connection, rows, HNSW)
    connection.run(lambda: client.load_collection(rows, replica_number=replicas))
    _await_graph(connection, rows)


def add_to_graph(connection: Connection, rows: str) -> None:
    """Close the segments that still grow, so that they get their part of the graph."""
    connection.run(lambda: connection.client.flush(rows))
    _await_graph(connection, rows)


def _await_graph(connection: Connection, rows: str) -> None:
    """Wait until the nodes use the graph for every segment that gets one; until then the server finds fewer of the best."""
    end = time.monotonic() + SECONDS_TO_BUILD
    while time.monotonic() < end:
        segments = connection.run(
            lambda: connection.client.list_loaded_segments(rows, timeout=connection.seconds)
        )
        if all(segment.index_name or segment.num_rows < LEAST for segment in segments):
            return
        time.sleep(0.2)

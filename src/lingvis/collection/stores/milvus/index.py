"""The search index of a collection: FLAT compares every row, HNSW is a graph for many rows."""

from __future__ import annotations

from typing import Any

from lingvis.collection.stores.milvus.connection import Connection
from lingvis.collection.stores.records import EMBEDDING

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


def flush(connection: Connection, rows: str) -> None:
    """Close the rows in memory, so that they get their part of the graph."""
    connection.run(lambda: connection.client.flush(rows))

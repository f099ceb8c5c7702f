"""Recall and time of pgvector's HNSW index by the density of its graph and the number of candidates.

python -m studies hnsw --rows 1000000 --graphs 16,64 32,128 --seed 1 [--work DIR]

The vectors are those of `python -m studies search`, with another seed. One record per graph.
"""

from __future__ import annotations

import contextlib
import json
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
from pgvector import HalfVector
from pgvector.psycopg import register_vector

from studies.arguments import add_out, make_parser
from studies.records import RUNS, append
from studies.search.conditions import conditions
from studies.search.data import Clustered, least_scores, recall
from studies.search.postgres import running_server

K, QUERIES, DIM = 10, 200, 1024
# Candidates that the index keeps in view, and those that it returns to be compared exactly.
SEARCHES = ((100, 100), (500, 500), (1000, 1000), (500, 2000), (1000, 2000))
SEARCH = """
    WITH near AS MATERIALIZED (SELECT id, v FROM t ORDER BY v <#> %s LIMIT %s)
    SELECT id FROM near ORDER BY v::vector(1024) <#> %s::vector(1024) LIMIT 10
"""
Connection = psycopg.Connection[Any]


@contextlib.contextmanager
def filled(vectors: Path, folder: Path) -> Iterator[Connection]:
    """A server with one table of all vectors."""
    stored = np.load(vectors, mmap_mode="r")
    (folder / "postgres").mkdir()
    with (
        running_server(folder / "postgres" / "server") as (address, _),
        psycopg.connect(address, autocommit=True) as connection,
    ):
        connection.execute("CREATE EXTENSION vector")
        register_vector(connection)
        connection.execute(f"CREATE TABLE t (id int, v halfvec({DIM}))")
        with connection.cursor().copy("COPY t (id, v) FROM STDIN WITH (FORMAT binary)") as copy:
            copy.set_types(["int4", "halfvec"])
            for row, vector in enumerate(stored):
                copy.write_row((row, HalfVector(vector)))
        yield connection


def build(connection: Connection, neighbours: int, candidates: int) -> float:
    """Build the index and return its seconds."""
    connection.execute("DROP INDEX IF EXISTS graph")
    connection.execute("SET maintenance_work_mem = '4GB'")
    began = time.monotonic()
    connection.execute(
        f"CREATE INDEX graph ON t USING hnsw (v halfvec_ip_ops) WITH (m = {neighbours}, ef_construction = {candidates})"
    )
    return time.monotonic() - began


def search(
    connection: Connection, queries: np.ndarray, in_view: int, given: int
) -> tuple[list[np.ndarray], float]:
    """The best rows of each query, and the median of milliseconds."""
    connection.execute(f"SET hnsw.ef_search = {in_view}")
    connection.execute("SET hnsw.iterative_scan = 'relaxed_order'")
    connection.execute("SET hnsw.max_scan_tuples = 200000")
    found, took = [], []
    for query in queries:
        half = HalfVector(query)
        began = time.monotonic()
        rows = connection.execute(SEARCH, (half, given, half.to_list())).fetchall()
        took.append(1000 * (time.monotonic() - began))
        found.append(np.array([row[0] for row in rows]))
    return found, statistics.median(took)


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse, measure, append one record per graph."""
    parser = make_parser("hnsw", __doc__)
    add_out(parser, "results/search")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--graphs", nargs="+", default=["16,64", "32,128"], metavar="NEIGHBOURS,CANDIDATES")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", type=Path, help="a folder on a disk with room")
    args = parser.parse_args(arguments)
    clustered = Clustered(args.rows, DIM, seed=args.seed)
    queries = clustered.queries(QUERIES)
    about = conditions(benchmark="hnsw", vectors=args.rows, dim=DIM, seed=args.seed)
    with tempfile.TemporaryDirectory(dir=args.work, prefix="lingvis-hnsw-") as name:
        vectors = Path(name) / "vectors.npy"
        clustered.write(vectors)
        least = least_scores(vectors, queries, K)
        with filled(vectors, Path(name)) as connection:
            for graph in args.graphs:
                neighbours, candidates = map(int, graph.split(","))
                seconds = build(connection, neighbours, candidates)
                rows = []
                for in_view, given in SEARCHES:
                    found, ms = search(connection, queries, in_view, given)
                    share = recall(vectors, queries, found, least, K)
                    rows.append({"in_view": in_view, "given": given, "recall": share, "ms_p50": ms})
                    print(graph, json.dumps(rows[-1]), flush=True)
                record = {
                    "name": f"hnsw/{neighbours}-{candidates}",
                    "study": "hnsw",
                    **about,
                    "neighbours": neighbours,
                    "candidates": candidates,
                    "build_seconds": seconds,
                    "searches": rows,
                }
                append(args.out / RUNS, record)


if __name__ == "__main__":
    main()

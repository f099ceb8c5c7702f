"""Recall and time of pgvector's HNSW index by how densely it is built and how many candidates a search takes.

python benchmarks/hnsw.py --out results/search/hnsw.json --rows 1000000 --graphs 16,64 32,128 --seed 1 [--work DIR]

The vectors are those of `lingvis bench search`, with another seed than the one its settings were chosen on.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
from pgvector import HalfVector
from pgvector.psycopg import register_vector

from lingvis.files import write_json
from studies.search.data import Clustered, least_scores, recall
from studies.search.postgres import running_server
from studies.search.records import conditions

K, QUESTIONS, DIM = 10, 200, 1024
# Candidates that the index keeps in view, and that it gives out before they are compared exactly.
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
    """Seconds that the index takes."""
    connection.execute("DROP INDEX IF EXISTS graph")
    connection.execute("SET maintenance_work_mem = '4GB'")
    began = time.monotonic()
    connection.execute(
        f"CREATE INDEX graph ON t USING hnsw (v halfvec_ip_ops) WITH (m = {neighbours}, ef_construction = {candidates})"
    )
    return time.monotonic() - began


def search(
    connection: Connection, questions: np.ndarray, in_view: int, given: int
) -> tuple[list[np.ndarray], float]:
    """Rows found for each question, and the median of milliseconds."""
    connection.execute(f"SET hnsw.ef_search = {in_view}")
    connection.execute("SET hnsw.iterative_scan = 'relaxed_order'")
    connection.execute("SET hnsw.max_scan_tuples = 200000")
    found, took = [], []
    for question in questions:
        half = HalfVector(question)
        began = time.monotonic()
        rows = connection.execute(SEARCH, (half, given, half.to_list())).fetchall()
        took.append(1000 * (time.monotonic() - began))
        found.append(np.array([row[0] for row in rows]))
    return found, statistics.median(took)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--graphs", nargs="+", default=["16,64", "32,128"], metavar="NEIGHBOURS,CANDIDATES")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", type=Path, help="a folder on a disk with room")
    args = parser.parse_args()
    made = Clustered(args.rows, DIM, seed=args.seed)
    questions = made.questions(QUESTIONS)
    record = {**conditions(benchmark="hnsw", vectors=args.rows, dim=DIM, seed=args.seed), "graphs": []}
    with tempfile.TemporaryDirectory(dir=args.work, prefix="lingvis-hnsw-") as name:
        vectors = Path(name) / "vectors.npy"
        made.write(vectors)
        least = least_scores(vectors, questions, K)
        with filled(vectors, Path(name)) as connection:
            for graph in args.graphs:
                neighbours, candidates = map(int, graph.split(","))
                seconds = build(connection, neighbours, candidates)
                rows = []
                for in_view, given in SEARCHES:
                    found, ms = search(connection, questions, in_view, given)
                    share = recall(vectors, questions, found, least, K)
                    rows.append({"in_view": in_view, "given": given, "recall": share, "ms_p50": ms})
                    print(graph, json.dumps(rows[-1]), flush=True)
                record["graphs"].append(
                    {
                        "neighbours": neighbours,
                        "candidates": candidates,
                        "build_seconds": seconds,
                        "searches": rows,
                    }
                )
                write_json(args.out, record)


if __name__ == "__main__":
    main()

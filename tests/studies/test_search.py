"""The study of search at a small size: engines agree, records are kept, and typed queries are answered."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lingvis.errors import UserError
from studies.__main__ import main
from studies.records import RUNS, append, find, read
from studies.search import run as search
from studies.search.data import Clustered
from studies.search.engines import ENGINES
from studies.search.measure import milliseconds
from studies.search.memory import memory_mb
from studies.search.postgres import SERVER, stop_left_over
from studies.search.report import COLUMNS, engine_rows, typed_line
from studies.search.run import record_name, run_search_study
from studies.search.typed import run_typed_study

ROWS, DIM = 2000, 64


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder outside of pytest's, which the user that runs PostgreSQL may not be able to reach."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)
        stop_left_over(Path(folder) / SERVER)


# The server of Milvus takes 10 s to start; its store is tested with that of the other stores.
@pytest.mark.parametrize("name", [name for name in ENGINES.names() if not name.startswith("milvus")])
def test_an_engine_finds_the_best_rows_in_a_later_process(name: str, place: Path) -> None:
    if name.startswith("faiss"):
        pytest.importorskip("faiss")
    made = Clustered(ROWS, DIM)
    vectors = np.concatenate(list(made.chunks()))
    engine = ENGINES.get(name)(place, DIM)
    for start in (0, 1500):
        engine.add(vectors[start : start + 1500], start)
    engine.index()
    engine.close()
    opened = ENGINES.get(name)(place, DIM)
    queries = made.queries(20)
    found = opened.search(queries, 10)
    single = opened.search(queries[:1], 10)
    processes = opened.processes
    assert all(memory_mb([process]) > 0 for process in processes)
    stop_left_over(place / SERVER)  # as after a kill, before anybody has closed it
    assert all(memory_mb([server]) == 0 for server in processes[1:])
    opened.close()
    best = np.argsort(-(queries @ vectors.astype(np.float32).T), axis=1)[:, :10]
    shares = [len(set(rows) & set(right)) / 10 for rows, right in zip(found, best, strict=True)]
    assert np.mean(shares) >= (1 if "exact" in name or name in ("numpy", "sqlite") else 0.8)
    assert set(single[0]) == set(found[0])
    assert len(processes) == (2 if name.startswith("postgres") else 1)
    assert processes[0] == os.getpid()


def test_exact_and_approximate_stores_differ(tmp_path: Path) -> None:
    vectors = next(Clustered(ROWS, DIM).chunks())
    files = {}
    for name in ("lance", "lance-exact"):
        (tmp_path / name).mkdir()
        engine = ENGINES.get(name)(tmp_path / name, DIM)
        engine.add(vectors, 0)
        engine.index()
        files[name] = len(list((tmp_path / name).rglob("_indices/*")))
    assert files == {"lance": 1, "lance-exact": 0}


def test_records_are_complete_and_finished_engines_are_kept(tmp_path: Path) -> None:
    out, work = tmp_path / "out", tmp_path / "work"
    work.mkdir()
    (first,) = run_search_study(out, sizes=[ROWS], engines=["numpy"], dim=DIM, work=work)
    file = out / RUNS
    assert read(file) == [first]
    assert first["name"] == record_name(ROWS, "numpy") == f"vectors-{ROWS}/numpy"
    assert (first["engine"], first["vectors"], first["dim"], first["seed"]) == ("numpy", ROWS, DIM, 0)
    assert first["hardware"]["cores"] >= 1 and first["versions"]["lancedb"]
    assert (first["queries"], first["batches"], first["recall_at_10"]) == (200, 10, 1.0)
    assert first["disk_mb"] == pytest.approx(ROWS * DIM * 2 / 1e6, abs=0.06)
    assert 0 < first["single_ms"]["p50"] <= first["single_ms"]["p95"]
    assert first["memory_mb"] > first["memory_before_opening_mb"] > 10

    append(file, first | {"add_seconds": 123.0})
    both = run_search_study(out, sizes=[ROWS], engines=["numpy", "usearch"], dim=DIM, work=work)
    assert [record["engine"] for record in both] == ["numpy", "usearch"]
    assert both[0]["add_seconds"] == 123.0
    assert both[1]["recall_at_10"] > 0.95 and both[1]["of_numpy"]["single_ms"] > 0
    rows = engine_rows(both)
    assert [row[:2] for row in rows] == [["numpy", "123.0"], ["usearch", rows[1][1]]]
    assert {len(row) for row in rows} == {len(COLUMNS)}
    assert list(work.iterdir()) == []

    append(file, first | {"seed": 5})
    (again,) = run_search_study(out, sizes=[ROWS], engines=["numpy"], dim=DIM, work=work)
    assert again["seed"] == 0 and again["add_seconds"] < 100
    assert find(file, first["name"]) == again


def test_an_engine_that_cannot_run_is_left_out_and_a_kill_does_not_stop_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def measure(name: str, *_: Any) -> dict[str, Any]:
        if name == "lance":
            raise BrokenProcessPool
        return {"recall_at_10": 1.0}

    monkeypatch.setattr(search, "measure_engine", measure)
    monkeypatch.setattr(search, "EXACT_BYTES", 4 * ROWS * DIM - 1)
    names = ["numpy", "lance", "usearch"]
    records = run_search_study(tmp_path, sizes=[ROWS], engines=names, dim=DIM, work=tmp_path)
    assert [record["engine"] for record in records] == ["numpy", "usearch"]
    assert records[0]["left_out"] == "the rows do not fit into the memory of a usual machine"
    assert "lance: its process was killed" in capfd.readouterr().err
    monkeypatch.setattr(search, "EXACT_BYTES", 4 * ROWS * DIM)
    (record,) = run_search_study(tmp_path, sizes=[ROWS], engines=["numpy"], dim=DIM, work=tmp_path)
    assert "left_out" not in record and record["recall_at_10"] == 1.0
    assert [stored["engine"] for stored in read(tmp_path / RUNS)] == ["numpy", "usearch"]


def test_wrong_input_is_reported_before_anything_is_made(tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match="unknown engine 'x'; choose one of: faiss, faiss-exact, lance, lance-exact, milvus"
    ):
        run_search_study(tmp_path / "out", engines=["numpy", "x"])
    with pytest.raises(UserError, match="99 vectors of 8 values are too few; use at least 100"):
        run_search_study(tmp_path / "out", sizes=[1000, 99], dim=8)
    assert not (tmp_path / "out").exists()
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=r"cannot write to .*file.* choose another out folder"):
        run_search_study(tmp_path / "file", sizes=[ROWS], dim=8)


def test_percentiles() -> None:
    assert milliseconds([0.001 * each for each in range(101)]) == {"p50": 50.0, "p95": 95.0}


def test_typed_queries_are_answered_and_kept(tmp_path: Path) -> None:
    record = run_typed_study(tmp_path, pictures=500, work=tmp_path)
    assert record["sentences"] > 100 and record["results"] == 10 * record["sentences"]
    assert record["model"] == "lingvis-base"
    assert 0 < record["ms"]["p50"] <= record["ms"]["p95"]
    assert 0 < record["of_these_to_encode_ms"]["p50"] <= record["of_these_to_encode_ms"]["p95"]
    assert find(tmp_path / RUNS, "typed") == record
    append(tmp_path / RUNS, record | {"ms": {"p50": 1.0, "p95": 2.0}})
    again = run_typed_study(tmp_path, pictures=500, work=tmp_path)
    assert "on 500 pictures: p50 1.0 ms, p95 2.0 ms over" in typed_line(again)


def test_the_command_prints_tables_or_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["search", "--out", str(tmp_path), "--sizes", "200", "300", "--engines", "numpy"]
    arguments += ["--dim", "16", "--typed", "0", "--work", str(tmp_path)]
    main(arguments)
    shown = capsys.readouterr().out
    assert "200 x 16" in shown and "300 x 16" in shown and shown.count("│ numpy") == 2
    main([*arguments, "--json"])
    printed = json.loads(capsys.readouterr().out)
    assert [each["vectors"] for each in printed["vectors"]] == [200, 300]
    assert printed["typed"] is None
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--engines", "x"])
    assert ended.value.code == 2

"""The study of ranks at a small size: its record, and that its own check can fail."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from lingvis.errors import UserError
from studies.ranks import _must_be_tie, run_rank_study
from studies.records import RUNS, find


def test_a_small_run_writes_its_record(tmp_path: Path) -> None:
    result = run_rank_study(tmp_path, images=120, texts=420, dim=32, loop_queries=30)
    assert find(tmp_path / RUNS, "ranks") == result
    assert (result["images"], result["texts"], result["dim"]) == (120, 420, 32)
    assert result["agreement"]["queries_checked"] == 540
    assert result["agreement"]["equal"] >= 530
    assert result["agreement"]["equal"] + result["agreement"]["differ_by_ties_only"] == 540
    runs = result["counting"]["seconds_of_each_run"]
    assert len(runs) == 6
    assert result["counting"]["seconds"] == (sorted(runs)[2] + sorted(runs)[3]) / 2
    assert result["counting"]["seconds_of_first_run"] == runs[0]
    assert result["counting"]["seconds_of_fastest_run"] == min(runs)
    all_queries = result["loop"]["seconds"]["all_queries"]
    assert result["times_faster"] == pytest.approx(all_queries / result["counting"]["seconds"])
    assert result["counting"]["peak_mb_above_inputs"] < 100
    assert result["hardware"]["cores"] >= 1


def test_a_folder_that_cannot_be_written_is_reported_before_measuring(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    start = time.monotonic()
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(UserError, match=r"cannot write to .*file.* choose another out folder"):
            run_rank_study(place, images=2000, texts=10000, dim=512)
    assert time.monotonic() - start < 0.2  # a fresh process alone takes longer


def test_a_wrong_rank_is_an_error_and_a_tie_is_not() -> None:
    scores, right = np.array([0.9, 0.5, 0.5, 0.1]), np.array([False, True, False, False])
    _must_be_tie(scores, right, 1)
    _must_be_tie(scores, right, 2)
    with pytest.raises(RuntimeError, match="gave rank 3, sorting allows 1 to 2"):
        _must_be_tie(scores, right, 3)

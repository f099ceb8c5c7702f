"""The pooling study: true coefficients, the measure, and a short run of the whole."""

from __future__ import annotations

import csv
import math
from itertools import product
from pathlib import Path
from threading import Event

import pytest
import torch

from studies.pooling.patterns import GROUPS, PATTERNS, true_coefficients, true_table
from studies.pooling.report import pooling_table
from studies.pooling.run import (
    DESIGNS,
    UNFINISHED,
    PoolingCell,
    _generator,
    coefficient_rmse,
    run_pooling_study,
    train_cell,
)
from studies.records import RUNS, append, read


def test_true_coefficients_by_hand() -> None:
    assert true_coefficients("A", 4) == [0.25, 0.25, 0.25, 0.25]
    assert true_coefficients("M-1", 4) == [1, 0, 0, 0]
    assert true_coefficients("M-3", 4) == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0])
    assert true_coefficients("M-10", 4) == [0.25, 0.25, 0.25, 0.25]
    assert true_coefficients("T-50%", 4) == [0.5, 0.5, 0, 0]
    assert true_coefficients("T-50%", 5) == [0.5, 0.5, 0, 0, 0]
    assert true_coefficients("L", 4) == pytest.approx([3 / 6, 2 / 6, 1 / 6, 0])
    assert [true_coefficients(pattern, 1) for pattern in PATTERNS] == [[1]] * 5


@pytest.mark.parametrize("pattern", PATTERNS)
def test_true_coefficients_sum_to_one(pattern: str) -> None:
    torch.testing.assert_close(true_table(pattern).sum(dim=1), torch.ones(120))


def test_rmse_equals_naive_loop() -> None:
    true = true_table("L", 30)
    predicted = (true + torch.randn(30, 30, generator=torch.Generator().manual_seed(0)) * 0.1).tril()
    squares = [
        (float(predicted[n - 1, k]) - float(true[n - 1, k])) ** 2 for n in range(10, 21) for k in range(n)
    ]
    expected = math.sqrt(sum(squares) / len(squares))
    assert coefficient_rmse(predicted, true, 10, 20) == pytest.approx(expected)


def test_training_lowers_the_error_and_is_repeatable() -> None:
    cell = PoolingCell("sincos", "mlp", "M-1", 0)
    few, many, again = (
        train_cell(cell, _generator(cell, torch.device("cpu")), steps, Event()) for steps in (1, 60, 60)
    )
    assert many["seen"] < few["seen"] / 3
    assert {group: many[group] for group in GROUPS} == {group: again[group] for group in GROUPS}


def test_a_short_study_writes_everything_and_resumes(tmp_path: Path) -> None:
    result = run_pooling_study(tmp_path, seeds=(0,), steps=2, device="cpu")
    assert read(tmp_path / RUNS) == [result]
    assert (tmp_path / "pooling.png").read_bytes()[:4] == b"\x89PNG"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pooling.csv", "pooling.png", RUNS]
    with (tmp_path / "pooling.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(DESIGNS) * len(PATTERNS) * len(GROUPS)
    assert all(0 <= float(row["rmse"]) < 1 for row in rows)
    assert pooling_table(result).count("\n| ") == len(DESIGNS)

    row = next(row for row in result["rows"] if row["design"] == "Cos/Sin + MLP" and row["pattern"] == "L")
    kept = {group: row[group]["mean"] for group in GROUPS} | {"shown": [0.5] * 15}
    for (position, decoder), pattern in product(DESIGNS, PATTERNS):
        key = PoolingCell(position, decoder, pattern, 0).key
        other = {"steps": 3} if key == "sincos/mlp/L/0" else result["protocol"]
        append(tmp_path / UNFINISHED, {"name": key, "protocol": other, **kept})
    resumed = run_pooling_study(tmp_path, seeds=(0,), steps=2, device="cpu")
    assert resumed["cells_from_an_earlier_run"] == len(DESIGNS) * len(PATTERNS) - 1
    assert resumed["shown"]["weights"]["Cos/Sin + MLP"]["A"] == [0.5] * 15
    assert resumed["shown"]["weights"]["Cos/Sin + MLP"]["L"] != [0.5] * 15
    assert not (tmp_path / UNFINISHED).exists()

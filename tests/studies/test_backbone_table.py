"""The table of trials with a trained backbone."""

from __future__ import annotations

from pathlib import Path

from studies.records import RUNS, append
from studies.tables.results.records import Results
from studies.tables.results.retrieval import INGREDIENTS, ingredients, trained_backbone

PHOTOS = {"R@1": 30.04, "R@5": 50.0, "R@10": 60.5}


def test_a_row_has_the_best_epoch_and_the_photographs_that_were_measured(tmp_path: Path) -> None:
    file = tmp_path / "backbone" / RUNS
    first = {"name": "first", "recipe": "lingvis", "change": "small"}
    append(file, first | {"validation": [[2, 41.0], [3, 43.25], [4, 42.04]]})
    second = {"name": "second/0", "row": "second", "recipe": "lingvis", "change": "large"}
    measured = {"parameters": {"total": 14_460_000}, "photos": {"en": PHOTOS}}
    append(file, second | measured | {"validation": [[1, 40.0, 240.0], [2, 45.0, 270.0]]})
    step = {"hardware": {"gpu": "GPU"}, "network": "net", "batch": 8, "ms": {"forward": 5.4}}
    append(file, step | {"name": "network-step"})
    kernels = {"run": "first", "sentences": 1200, "total_ms": 7, "memory_gib": 1.5}
    append(file, step | kernels | {"name": "step-profile", "ms": {"sort": 2}})
    lines = trained_backbone(Results(tmp_path)).splitlines()
    assert lines[2] == "| `first` | small |  | 3 of 4 | 43.2 | 42.0 |  |  |  |"
    assert lines[3] == "| `second` | large | 14.5 | 2 of 2 | 45.0 | 45.0 | 30.0 / 50.0 / 60.5 |  |  |"
    assert lines[5] == "Forward and backward of net with 8 pictures, one GPU: forward 5 ms."
    assert lines[7].endswith("1,200 sentences, alone on the GPU: 7 ms and 1.5 GiB; of that sort 2 ms.")


def test_ingredients_show_the_gain_over_the_line_above(tmp_path: Path) -> None:
    for number, (study, row, _) in enumerate(INGREDIENTS):
        curve = [[1, 40.0 + number, 0.0], [2, 40.5 + 2 * number, 0.0]]
        append(tmp_path / study / RUNS, {"name": f"{row}/0", "row": row, "seed": 0, "validation": curve})
    lines = ingredients(Results(tmp_path)).splitlines()
    assert lines[2].endswith("| 40.5 |  |  |")
    assert lines[3].endswith("| 42.5 | +2.0 |  |")
    assert len(lines) == 2 + len(INGREDIENTS)

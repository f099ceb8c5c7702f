"""The list of recipes: within 80 columns, the first to try first, sizes from records."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lingvis.cli import main
from lingvis.recipes.library import recipe_names
from lingvis.recipes.overview import MEASURED, MeasuredTraining, recipe_summaries
from studies.records import RUNS, append
from studies.tables.reference.recipe_sizes import measured_recipes

ROOT = Path(__file__).parents[2]


def test_the_list_fits_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    main(["recipes", "list"])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[1].split()[:2] == ["start", "all"] and lines[1].endswith("CPU")
    named = [line.split()[0] for line in lines[1:] if line and not line.startswith(" ")]
    assert set(recipe_names()) <= set(named)
    assert any(line.split()[:2] == ["vsepp", "en"] and "M" in line for line in lines)


def test_programs_get_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    main(["recipes", "list", "--json"])
    listed = {each["name"]: each for each in json.loads(capsys.readouterr().out)}
    assert next(iter(listed)) == "start" and sorted(listed) == recipe_names()
    assert 1e6 < listed["start"]["measured"]["parameters"] < 3e6
    assert listed["bert_gru"]["measured"] is None and listed["vsepp"]["languages"] == ["en"]
    assert [each.as_json() for each in recipe_summaries()] == list(listed.values())


def test_durations() -> None:
    run = {"parameters": 1, "dataset": "x"}
    assert MeasuredTraining(**run, seconds=89.6, device="NVIDIA H200").duration == "90 s GPU"  # type: ignore[arg-type]
    assert MeasuredTraining(**run, seconds=300, device="AMD EPYC").duration == "5 min CPU"  # type: ignore[arg-type]


def test_sizes_are_those_of_the_records() -> None:
    stored = (ROOT / "src" / "lingvis" / "recipes" / MEASURED).read_text(encoding="utf-8")
    assert stored == measured_recipes(ROOT / "results")


def test_a_run_with_other_vectors_says_nothing_of_a_recipe_that_has_its_own(tmp_path: Path) -> None:
    for vectors, size, seconds in ({}, 14, 9.0), ({"data.vectors": "captions"}, 11, 2.0), ({}, 14, 7.0):
        record = {
            "name": f"la-{size}-{seconds}",
            "recipe": "la",
            "overrides": vectors,
            "parameters": {"total": size},
            "training": {"seconds": seconds, "device": "NVIDIA H200"},
            "dataset": "flickr8k-ml",
        }
        append(tmp_path / "languages" / RUNS, record)
    measured = json.loads(measured_recipes(tmp_path))["la"]
    assert (measured["parameters"], measured["seconds"]) == (14, 7.0)

"""Comparing models: paired intervals against a naive bootstrap, what is undecided, the table and the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lingvis
from lingvis.cli import main
from lingvis.data.dataset import Dataset
from lingvis.errors import UserError
from lingvis.evaluation.bootstrap import Interval, interval, picture_weights, resampled_scores
from lingvis.evaluation.compare import compare_models
from lingvis.evaluation.comparison import Comparison
from lingvis.evaluation.evaluate import evaluate_models
from lingvis.evaluation.metrics import scores
from lingvis.evaluation.protocols import find_protocol
from lingvis.evaluation.ranks import Ranks
from lingvis.evaluation.report.comparison import columns, print_comparison, rows

from ..conftest import FEATURES


def compared(dataset: Dataset, models: dict[str, Any], languages: list[str]) -> Comparison:
    return compare_models(models, dataset, protocol=find_protocol("all"), split="test", languages=languages)


def test_samples_repeat_pictures_with_all_their_captions() -> None:
    image_of = np.array([0, 0, 0, 1, 2, 2])
    ranks = Ranks(np.array([0, 7, 30]), np.array([0, 3, 12, 5, 1, 0]))
    weights = np.array([[1, 1, 1], [3, 0, 0], [0, 2, 1]], np.float32)
    drawn = resampled_scores(ranks, image_of, weights)
    for sample, value in zip(weights.astype(int), drawn, strict=True):
        pictures = np.repeat(np.arange(3), sample)
        texts = np.concatenate([np.flatnonzero(image_of == picture) for picture in pictures])
        assert value == pytest.approx(scores(Ranks(ranks.i2t[pictures], ranks.t2i[texts])).mR, rel=1e-5)
    assert drawn[0] == pytest.approx(scores(ranks).mR, rel=1e-5)


def test_an_interval_contains_the_middle_95_percent() -> None:
    middle = interval(2.0, np.linspace(0, 10, 1001, dtype=np.float32))
    assert (middle.difference, middle.low, middle.high) == pytest.approx((2.0, 0.25, 9.75), rel=1e-5)
    assert not Interval(1.0, -0.1, 2.0).decided and not Interval(0.0, 0.0, 0.0).decided
    assert Interval(1.0, 0.1, 2.0).decided and Interval(-1.0, -2.0, -0.1).decided
    weights = picture_weights(40, samples=500)
    assert (weights.sum(axis=1) == 40).all() and weights.mean() == 1
    assert weights.var() == pytest.approx(1 - 1 / 40, abs=0.05), "a multinomial, not one permutation"


def test_each_run_is_encoded_once_and_has_the_numbers_of_evaluate(dataset: Dataset, hashed: Any) -> None:
    models = {"good": hashed(noise=0.3), "bad": hashed(noise=9.0), "same": hashed(noise=0.3)}
    comparison = compared(dataset, models, ["en", "de"])
    for name, run in zip(models, comparison.runs, strict=True):
        report = evaluate_models([models[name]], dataset, languages=["en", "de"])
        assert run.languages == {lang: each.mR for lang, each in report.languages.items()}
        assert run.A == report.A
        assert comparison.languages["de"].chance == report.languages["de"].chance
    asked = models["good"].asked_images[: len(set(models["good"].asked_images))]
    assert len(asked) == len(set(asked)) == 12
    bad, same = comparison.differences
    assert bad.A.high < 0 and bad.undecided == []
    assert (same.A.low, same.A.high) == (0.0, 0.0) and same.undecided == ["en", "de", "A"]
    assert comparison.warnings() == [
        "same and good are not distinguished by this test set in: en, de, A (the interval of the difference "
        "includes zero)"
    ]


def test_pairing_makes_intervals_narrow(dataset: Dataset, hashed: Any) -> None:
    """A model that is a little worse on every picture is recognised, although pictures differ by far more."""
    first, second = hashed(noise=0.8), hashed(noise=1.6)
    comparison = compared(dataset, {"1": first, "2": second}, ["en"])
    gap = comparison.differences[0].languages["en"]
    assert gap.low <= gap.difference <= gap.high < gap.low + 60
    assert gap.difference == pytest.approx(
        comparison.runs[1].languages["en"] - comparison.runs[0].languages["en"]
    )


def test_the_table_fits_80_columns_and_marks_what_is_undecided(
    dataset: Dataset, hashed: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    models = {"runs/good": hashed(noise=0.3), "runs/same": hashed(noise=0.3), "runs/bad": hashed(noise=9.0)}
    comparison = compared(dataset, models, ["en", "de", "ar"])
    assert columns(comparison) == ["lang", "images", "chance", "1", "2", "3", "2 - 1", "3 - 1"]
    assert rows(comparison)[0][6] == "? +0.0 [+0.0, +0.0]"
    assert rows(comparison)[3][0] == "A" and not rows(comparison)[3][7].startswith("?")
    print_comparison(comparison)
    printed = capsys.readouterr().out
    lines = printed.splitlines()
    assert lines[0] == "1: runs/good, 0.0 M parameters"
    table = [line for line in lines if line.startswith(("lang", " lang", "en", " en"))]
    assert max(map(len, table)) <= 80 and "[" in table[-1] and "…" not in printed
    assert "? warning: runs/same and runs/good are not distinguished" in printed


SMALL = [
    f"data.features={FEATURES}",
    "text.tokenizer.min_count=1",
    "image.encoder.dim=8",
    "text.encoder.dim=8",
    "training.batch_size=16",
]


def test_the_command_compares_trained_runs(
    toy_dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, epochs in (("short", 1), ("long", 12)):
        values = [*SMALL, "optimizer.lr=0.01", f"training.epochs={epochs}"]
        lingvis.train("vsepp", toy_dataset, tmp_path / name, overrides=values, device="cpu")
    folders = [str(tmp_path / name) for name in ("short", "long")]
    capsys.readouterr()
    main(["compare", *folders, str(toy_dataset), "--json", "--device", "cpu"])
    report = json.loads(capsys.readouterr().out)
    assert [run["run"] for run in report["runs"]] == folders
    difference = report["differences"][0]["languages"]["en"]
    assert difference["low"] <= difference["difference"] <= difference["high"]
    assert report["languages"]["en"]["chance"] == report["chance"] > 0
    assert lingvis.compare(folders, toy_dataset, device="cpu").as_json() == report
    with pytest.raises(UserError, match=r"models must be at least two to compare, got 1"):
        lingvis.compare(folders[:1], toy_dataset)
    with pytest.raises(UserError, match=r"models must be different"):
        lingvis.compare([folders[0], folders[0]], toy_dataset)
    with pytest.raises(SystemExit) as stopped:
        main(["compare", folders[0], str(toy_dataset)])
    assert stopped.value.code == 2
    assert "got 2 folders, but two or more models and a dataset are needed" in capsys.readouterr().err

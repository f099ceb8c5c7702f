"""The studies that train single recipes: one record per seed, resumed, and a verdict over ways to choose pictures."""

from __future__ import annotations

from pathlib import Path

import pytest

from studies import recipe
from studies.__main__ import main
from studies.recipe import summary
from studies.recipe_values import values_of
from studies.records import RUNS, read
from studies.sparse.verdict import verdict

from ..conftest import make_toy_dataset

SMALL = [
    "data.features=toy-grid",
    "training.batch_size=8",
    "training.epochs=1",
    "image.encoder.dim=16",
    "text.encoder.dim=16",
    "text.words.dim=16",
    "text.tokenizer.min_count=1",
]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_toy_dataset(tmp_path_factory.mktemp("recipe") / "toy")


def test_every_seed_has_a_record_and_is_trained_once(
    dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["recipe", "vsepp", str(dataset), *SMALL, "--out", str(tmp_path), "--protocol", "all"]
    command += ["--name", "row", "--device", "cpu"]
    main([*command, "--seeds", "0"])
    (first,) = read(tmp_path / RUNS)
    assert (first["name"], first["row"], first["seed"], first["study"]) == ("row/0", "row", 0, "recipe")
    assert (first["recipe"], first["dataset"], first["test"]["split"]) == ("vsepp", "toy", "test")
    assert first["selection"] == "epoch of best mR on val, then test once"
    assert first["overrides"]["training.batch_size"] == 8 and "training.seed" not in first["overrides"]
    values = values_of(first, tmp_path)
    assert (values["name"], values["training"]["epochs"], values["training"]["seed"]) == ("vsepp", 1, 0)
    assert first["validation"][0][1] == pytest.approx(first["training"]["validation_mR"])
    main([*command, "--seeds", "0", "1"])
    both = read(tmp_path / RUNS)
    assert [record["name"] for record in both] == ["row/0", "row/1"] and both[0] == first
    assert both[1]["overrides"]["training.seed"] == 1
    rsum = summary(both)["validation_rsum"]
    assert rsum["mean"] == pytest.approx((both[0]["validation"][0][2] + both[1]["validation"][0][2]) / 2)
    assert f'"mean": {rsum["mean"]}' in capsys.readouterr().out

    monkeypatch.setattr(recipe, "train", lambda *_, **__: pytest.fail("trained again"))
    main([*command, "--seeds", "1", "0"])
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main([*command, "training.epochs=2", "--seeds", "0"])
    assert ended.value.code == 2
    assert "record row/0 of" in capsys.readouterr().err


def test_a_trial_for_validation_says_that_test_was_not_measured(dataset: Path, tmp_path: Path) -> None:
    command = ["recipe", "vsepp", str(dataset), *SMALL, "--out", str(tmp_path), "--seeds", "0"]
    main([*command, "--validation-only", "--device", "cpu"])
    (record,) = read(tmp_path / RUNS)
    assert record["selection"] == "epoch of best mR on val" and "test" not in record


def test_suggested_pictures_are_compared_with_random_ones(
    dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [
        "suggest",
        str(dataset),
        *SMALL,
        "--out",
        str(tmp_path),
        "--protocol",
        "all",
        "--images",
        "0.5",
    ]
    command += ["--seeds", "0", "--device", "cpu"]
    main(command)
    chosen, drawn = read(tmp_path / RUNS)
    assert (chosen["name"], chosen["row"]) == ("suggest/suggest/0", "suggest/suggest")
    assert (drawn["name"], drawn["row"]) == ("suggest/random/0", "suggest/random")
    assert chosen["overrides"]["data.annotated"] == "suggested"
    assert drawn["overrides"]["data.images"] == 0.5 and "data.annotated" not in drawn["overrides"]
    assert str(tmp_path) not in (tmp_path / RUNS).read_text()
    margin = chosen["test"]["A"] - drawn["test"]["A"]
    printed = capsys.readouterr().out
    assert f"none, one seed has no spread: margin {margin:.2f}" in printed
    monkeypatch.setattr(recipe, "train", lambda *_, **__: pytest.fail("trained again"))
    main(command)
    assert capsys.readouterr().out == printed


@pytest.mark.parametrize(
    ("chosen", "drawn", "word"),
    [
        ([12.0, 12.2], [10.0, 10.4], "suggest is better"),
        ([10.0, 10.4], [12.0, 12.2], "random is better"),
        ([10.0, 12.0], [10.5, 10.5], "no difference beyond the seeds' spread"),
    ],
)
def test_a_verdict_needs_a_margin_above_the_spread(
    chosen: list[float], drawn: list[float], word: str
) -> None:
    assert verdict(chosen, drawn)["verdict"] == word

"""Pre-training words alone: the record of its log, and calls that would not fit to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from studies.__main__ import main
from studies.languages import pretraining
from studies.records import RUNS, read
from studies.tables import generate
from studies.tables.results.records import Results

SMALL = [
    "data.features=toy-grid",
    "data.languages=[]",
    "data.vectors=captions",
    "text.tokenizer.min_count=1",
    "text.words.vector_dim=4",
    "pretraining.tokens=9",
    "pretraining.among=3",
    "pretraining.epochs=2",
]


def test_the_log_of_a_pre_training_is_recorded_once(
    rich_dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "languages"
    command = ["pretraining", "la", str(rich_dataset), "--name", "explore-0.1", "--device", "cpu"]
    command += ["--out", str(out), *SMALL, "pretraining.explore=0.1"]
    main(command)
    (record,) = read(out / RUNS)
    assert record["name"] == "pretraining/explore-0.1"
    assert record["overrides"]["pretraining.explore"] == 0.1
    *epochs, last = record["log"]
    assert [line["epoch"] for line in epochs] == [0, 1, 2]
    assert all(0 <= line["R@10"] <= 100 for line in epochs)
    assert all(line["loss"] > 0 for line in epochs[1:])
    assert 1 <= last["used"] <= last["tokens"] == 9
    assert f"{epochs[2]['R@10']:.1f}" in capsys.readouterr().out
    cells = " | ".join(f"{line['R@10']:.1f}" for line in epochs)
    assert f"| 0.1 | {cells} |  |" in generate.BLOCKS["explored"](Results(tmp_path))
    monkeypatch.setattr(pretraining, "prepare", lambda *_: pytest.fail("trained again"))
    main(command)
    with pytest.raises(SystemExit) as ended:
        main([*command[:-1], "pretraining.explore=0.3"])
    assert ended.value.code == 2
    assert "other data or values" in capsys.readouterr().err
    assert len(read(out / RUNS)) == 1


def test_a_recipe_without_pre_training_is_named(
    rich_dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["pretraining", "vsepp", str(rich_dataset), "--name", "none", "--out", str(tmp_path)])
    assert ended.value.code == 2
    assert "recipe vsepp has no pre-training" in capsys.readouterr().err

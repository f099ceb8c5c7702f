"""One seed, trained several times: equal trainings have equal losses, and a difference is found at its step."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from lingvis.training.loop.watch import LossWatch
from studies.__main__ import main
from studies.recipe_values import values_of
from studies.records import RUNS, read
from studies.repeat import run as repeat
from studies.tables import generate
from studies.tables.results.records import Results

SMALL = [
    "data.features=toy-grid",
    "training.batch_size=16",
    "training.epochs=2",
    "image.encoder.dim=8",
    "text.encoder.dim=8",
    "text.words.dim=8",
    "text.tokenizer.min_count=1",
]


def test_equal_trainings_on_a_cpu_are_equal_and_a_stopped_command_resumes(
    toy_dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [
        "repeat",
        "vsepp",
        str(toy_dataset),
        *SMALL,
        "--times",
        "2",
        "--device",
        "cpu",
        "--deterministic",
    ]
    command += ["--out", str(tmp_path / "repeat"), "--work", str(tmp_path / "work")]
    flush = LossWatch.flush
    main(command)
    assert "losses differ from step None on" in capsys.readouterr().out
    assert LossWatch.flush is flush and not torch.are_deterministic_algorithms_enabled()
    (record,) = read(tmp_path / "repeat" / RUNS)
    assert (record["name"], record["row"]) == ("vsepp/0/deterministic", "deterministic")
    assert record["steps"] == 6 and record["first_difference"] is None  # 38 captions, two epochs
    assert set(record["loss_difference"].values()) == {0.0}
    one, other = record["validation"]
    assert one == other and len(one) == 2
    assert record["test_rsum"][0] == record["test_rsum"][1] > 0
    assert values_of(record, tmp_path / "repeat")["training"]["epochs"] == 2
    shown = generate.BLOCKS["repeat"](Results(tmp_path))
    assert "| `vsepp`, seed 0 | deterministic | 2 | never |" in shown
    monkeypatch.setattr(repeat, "train", lambda *_, **__: pytest.fail("trained again"))
    main(command)
    assert generate.BLOCKS["repeat"](Results(tmp_path / "work")) == "Not measured yet."
    with pytest.raises(SystemExit) as ended:
        main([*command, "--times", "1"])
    assert ended.value.code == 2


def test_the_first_step_that_differs_is_found() -> None:
    same = {"validation": [[1.0, 6.0]], "best_epoch": 1, "test_rsum": 5.0, "seconds": 1.0}
    losses = [[4.0, 2.0, 1.0], [4.0, 2.0, 1.5], [4.0, 2.0, 1.25]]
    runs = [
        {"losses": each, "unordered": unordered, **same}
        for each, unordered in zip(losses, (["b"], ["a"], []), strict=True)
    ]
    found = repeat.compare(runs)
    assert (found["first_difference"], found["steps"], found["unordered"]) == (3, 3, ["a", "b"])
    assert found["loss_difference"] == {"1": 0.0, "3": pytest.approx(0.5 / 1.5)}

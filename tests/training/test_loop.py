"""The training loop with a task of one number: with a folder and without, validation, best weights, random numbers."""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import nn

from lingvis.evaluation.result import LanguageScores, Report
from lingvis.training.loop import fit as loop
from lingvis.training.loop.checkpoint import TrainingState, load_checkpoint, save_checkpoint
from lingvis.training.loop.fit import TrainingPlan, copy_weights, fit
from lingvis.training.loop.log import read_log
from lingvis.training.loop.record import TrainingInterrupt
from lingvis.training.loop.task import Task, Validation
from lingvis.training.loop.watch import Loss
from lingvis.training.sampling import Sampler
from lingvis.types import Clock

Ints = NDArray[np.int64]


class Counted(Task):
    """Its weight falls by the learning rate at every step; the noise is drawn and not used."""

    def __init__(self, matching: Sequence[float | None] = ()) -> None:
        """matching: by step, as a share of the blind value; None and the default: not watched."""
        super().__init__()
        self.model = nn.Linear(1, 1, bias=False)
        nn.init.zeros_(self.model.weight)
        self.matching = matching
        self.noise: list[float] = []
        self.clocks: list[Clock] = []
        self.modes: list[bool] = []

    @property
    def value(self) -> float:
        return float(self.model.state_dict()["weight"])

    def loss(self, rows: Ints, clock: Clock) -> Loss:
        self.noise.append(float(torch.rand(())))
        self.clocks.append(clock)
        self.modes.append(self.training)
        total = 1000 + self.model(torch.ones(1, 1)).sum() * float(rows[0])
        share = self.matching[clock.step] if self.matching else None
        if share is None:
            return Loss({"loss": total})
        watched = torch.tensor(8 * share)
        return Loss({"loss": total}, watched="loss", matching=watched, blind=torch.tensor(8.0))


class Ones(Sampler):
    """`count` batches of the number 1 per epoch."""

    def __init__(self, count: int = 2) -> None:
        self._count = count

    def batch_count(self) -> int:
        return self._count

    def epoch(self, seed: int, epoch: int) -> list[Ints]:
        return [np.ones(1, np.int64)] * self._count


def train(
    task: Counted,
    *,
    epochs: int = 3,
    patience: int = 0,
    clip: float = 0.0,
    selection_epochs: int = 1,
    seed: int = 7,
    state: TrainingState | None = None,
    validate: Callable[[], Validation] | None = None,
    folder: Path | None = None,
    optimizer: torch.optim.Optimizer | None = None,
    checkpoint_seconds: float = 1e9,
) -> TrainingState:
    return fit(
        task=task,
        sampler=Ones(),
        optimizer=optimizer or torch.optim.SGD(task.parameters(), lr=1.0),
        schedule=lambda step, epoch: 1.0 + epoch,
        plan=TrainingPlan(
            epochs=epochs,
            patience=patience,
            clip=clip,
            selection_epochs=selection_epochs,
            seed=seed,
            checkpoint_seconds=checkpoint_seconds,
        ),
        state=state or TrainingState(),
        validate=validate,
        folder=folder,
        label=None,
    )


def test_without_a_folder_and_validation_it_trains_and_keeps_nothing() -> None:
    task = Counted()
    state = train(task)
    assert (state.step, state.epoch, state.batch) == (6, 3, 0)
    assert task.value == -(2 * 1 + 2 * 2 + 2 * 3)  # two steps per epoch, at the rate of the epoch
    assert [(clock.step, clock.epoch) for clock in task.clocks] == [
        (0, 0), (1, 0), (2, 1), (3, 1), (4, 2), (5, 2)
    ]  # fmt: skip
    assert state.best == {} and state.best_epoch == -1


def test_the_best_weights_are_those_of_the_best_validation() -> None:
    task = Counted()
    scores = iter([1.0, 3.0, 2.0])
    modes: list[bool] = []

    def validate() -> Validation:
        modes.append(task.training)
        return Validation(next(scores))

    state = train(task, validate=validate)
    assert (state.best_score, state.best_epoch) == (3.0, 2)
    assert float(state.best["weight"]) == -6.0 and task.value == -12.0
    assert modes == [False] * 3 and task.modes == [True] * 6


# Means of three: 1, 5, 4, 5.7, 5, 7; of two: 1, 5, 5.5, 4, 6.5, 7.5.
@pytest.mark.parametrize(("over", "best", "score"), [(1, 2, 9.0), (2, 6, 7.5), (3, 6, 7.0)])
def test_the_mean_of_the_last_validations_selects(over: int, best: int, score: float, tmp_path: Path) -> None:
    validations = [1.0, 9.0, 2.0, 6.0, 7.0, 8.0]
    left = iter(validations)
    task = Counted()
    state = train(task, epochs=6, selection_epochs=over, validate=lambda: Validation(next(left)))
    assert state.best_epoch == best
    assert state.best_score == pytest.approx(score)
    assert float(state.best["weight"]) == -best * (best + 1)  # two steps per epoch at the rate of the epoch
    assert state.scores == validations[-over:]
    # A resumed run knows the validations before it.
    first, again = Counted(), Counted()
    left = iter(validations)
    begun = train(first, epochs=5, selection_epochs=over, validate=lambda: Validation(next(left)))
    optimizer = torch.optim.SGD(first.parameters(), lr=1.0)
    save_checkpoint(tmp_path, begun, first, optimizer)
    stored = load_checkpoint(tmp_path, "", again, optimizer)
    resumed = train(
        again, epochs=6, selection_epochs=over, state=stored, validate=lambda: Validation(next(left))
    )
    assert (resumed.best_epoch, resumed.best_score) == (state.best_epoch, state.best_score)


def test_the_start_stays_the_best_where_nothing_is_better() -> None:
    task = Counted()
    start = TrainingState(best_score=5.0, best_epoch=0, best=copy_weights(task.model))
    state = train(task, epochs=9, patience=2, state=start, validate=lambda: Validation(5.0))
    assert (state.best_epoch, state.epoch) == (0, 2)
    assert float(state.best["weight"]) == 0.0


@pytest.mark.parametrize(("clip", "value"), [(0.0, -12.0), (0.5, -6.0), (2.0, -12.0)])
def test_gradients_are_clipped(clip: float, value: float) -> None:
    task = Counted()
    train(task, clip=clip)
    assert task.value == pytest.approx(value, rel=1e-4)


def test_random_numbers_without_a_folder_are_those_of_torch() -> None:
    torch.manual_seed(3)
    expected = [float(torch.rand(())) for _ in range(6)]
    task = Counted()
    torch.manual_seed(3)
    train(task, seed=11)
    assert task.noise == expected


def test_random_numbers_with_a_folder_depend_on_seed_and_step(tmp_path: Path) -> None:
    one, again, other = Counted(), Counted(), Counted()
    for name, task, seed in (("one", one, 1), ("again", again, 1), ("other", other, 2)):
        (tmp_path / name).mkdir()
        train(task, seed=seed, folder=tmp_path / name)
    assert one.noise == again.noise and len(set(one.noise)) == 6
    assert not set(one.noise) & set(other.noise)


def test_a_folder_gets_a_log_and_curves(tmp_path: Path) -> None:
    train(Counted(), folder=tmp_path, validate=lambda: Validation(2.5, {"mR": 2.5, "languages": {"en": 2.5}}))
    records = read_log(tmp_path)
    assert [record["kind"] for record in records] == ["train", "val"] * 3
    assert records[1] == {"kind": "val", "step": 2, "epoch": 1, "mR": 2.5, "languages": {"en": 2.5}}
    assert [record["lr"] for record in records if record["kind"] == "train"] == [1.0, 2.0, 3.0]
    assert (tmp_path / "curves.png").is_file()


def test_an_interrupted_run_resumes_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, first, second = Counted(), Counted(), Counted()
    (tmp_path / "whole").mkdir()
    train(whole, folder=tmp_path / "whole")
    seed_step = loop.seed_step

    def interrupt(seed: int, clock: Clock) -> None:
        seed_step(seed, clock)
        if clock.step == 3:
            signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patched:
        patched.setattr(loop, "seed_step", interrupt)
        with pytest.raises(TrainingInterrupt):
            train(first, folder=tmp_path, state=TrainingState("me"))
    optimizer = torch.optim.SGD(second.parameters(), lr=1.0)
    state = load_checkpoint(tmp_path, "me", second, optimizer)
    assert (state.step, state.epoch, state.batch) == (4, 1, 2) and state.seconds > 0
    train(second, folder=tmp_path, state=state, optimizer=optimizer)
    assert second.value == whole.value and first.noise + second.noise == whole.noise


def test_ctrl_c_without_a_folder_stops_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def press(task: Counted, rows: Ints, clock: Clock) -> Loss:
        raise KeyboardInterrupt

    monkeypatch.setattr(Counted, "loss", press)
    with pytest.raises(KeyboardInterrupt):
        train(Counted())


def test_validation_selects_by_the_mean_over_languages() -> None:
    def scores(recall: float) -> LanguageScores:
        recalls = {"R@1": recall, "R@5": recall, "R@10": recall}
        return LanguageScores(i2t=recalls, t2i=recalls, zero_shot=False, images=9, captions=9, chance=1.0)

    report = Report(
        model="m",
        dataset="d",
        split="val",
        protocol="all",
        parameters={},
        languages={"en": scores(40.0), "de": scores(20.0)},
        A=30.0,
        HA=None,
        ties="",
        dataset_sha256="",
        lingvis="",
    )
    validation = Validation.from_report(report)
    assert validation.score == 30.0
    assert validation.values == {"mR": 30.0, "rsum": 180.0, "languages": {"en": 40.0, "de": 20.0}}


def since(task: Counted) -> list[int | None]:
    return [clock.learning_since for clock in task.clocks]


def test_the_plateau_ends_with_an_epoch_whose_mean_matching_loss_is_clearly_below_it(tmp_path: Path) -> None:
    # Means of the epochs of two steps: 1, 0.95, 0.85, 1.
    task = Counted([1.0, 1.0, 1.0, 0.9, 0.95, 0.75, 1.0, 1.0, 0.2, 0.2])
    train(task, epochs=5, folder=tmp_path)
    assert since(task) == [None] * 6 + [3] * 4
    sometimes = Counted([None, 1.0, None, 0.75, None, None])  # steps without a watched term do not count
    train(sometimes, folder=tmp_path / "sometimes")
    assert since(sometimes) == [None] * 4 + [2] * 2
    unwatched = Counted()
    train(unwatched, folder=tmp_path / "unwatched")
    assert since(unwatched) == [None] * 6


@pytest.mark.parametrize("stop", [5, 7])
def test_a_resumed_run_knows_the_plateau_of_the_run_before(stop: int, tmp_path: Path) -> None:
    matching = [1.0, 1.0, 1.0, 0.9, 0.95, 0.75, 1.0, 1.0, 0.2, 0.2]
    first, folder = Counted(matching), tmp_path / "run"
    folder.mkdir()

    class Stopped(Exception):
        pass

    def stopping(rows: Ints, clock: Clock) -> Loss:
        if clock.step == stop:
            raise Stopped
        return Counted.loss(first, rows, clock)

    first.loss = stopping  # type: ignore[method-assign]
    optimizer = torch.optim.SGD(first.parameters(), lr=1.0)
    with pytest.raises(Stopped):
        train(first, epochs=5, folder=folder, optimizer=optimizer, checkpoint_seconds=0)
    second = Counted(matching)
    state = load_checkpoint(folder, "", second, torch.optim.SGD(second.parameters(), lr=1.0))
    assert (state.step, state.batch) == (stop, stop % 2)
    train(second, epochs=5, folder=folder, state=state)
    assert since(first) + since(second) == [None] * 6 + [3] * 4

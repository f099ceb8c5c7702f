"""The training loop, shared by training, pre-training and adding a language."""

from __future__ import annotations

import contextlib
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from lingvis.hardware import kept_memory
from lingvis.processes.group import process_number
from lingvis.progress import ProgressBar
from lingvis.training.loop.average import WeightAverage
from lingvis.training.loop.checkpoint import TrainingState
from lingvis.training.loop.optimizer import Schedule, begin_epoch, set_rate
from lingvis.training.loop.record import RunRecord, recording
from lingvis.training.loop.step import make_step
from lingvis.training.loop.task import Task, Validation
from lingvis.training.sampling import Sampler
from lingvis.types import Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingPlan:
    """How long to train, and when to stop.

    patience: stop after this number of epochs without a better validation; 0: never. clip: largest norm of the
    gradient; 0: not clipped. average: decay of the moving average of the weights; 0: none. selection_epochs: number of
    last epochs whose mean validation selects the epoch. seed: of the batches. checkpoint_seconds: time between two
    checkpoints.
    """

    epochs: int
    patience: int = 0
    clip: float = 0.0
    average: float = 0.0
    selection_epochs: int = 1
    seed: int
    checkpoint_seconds: float = float("inf")


def fit(
    *,
    task: Task,
    sampler: Sampler,
    optimizer: torch.optim.Optimizer,
    schedule: Schedule,
    plan: TrainingPlan,
    state: TrainingState,
    validate: Callable[[], Validation] | None = None,
    folder: Path | None = None,
    label: str | None = "train",
) -> TrainingState:
    """Train from `state` on and return the final state, with the best weights on validation.

    validate: called after every epoch; without it no weights are kept. folder: for log, curves and checkpoints.
    label: of the progress bar; None shows no bar.

    With a folder all random numbers of a step come from (seed, step), so that a resumed run repeats an uninterrupted
    one. Without a folder nothing can be resumed, and torch's generator is used unseeded.
    """
    run: contextlib.AbstractContextManager[RunRecord | None] = (
        recording(folder, state, task, optimizer, checkpoint_seconds=plan.checkpoint_seconds)
        if folder is not None
        else contextlib.nullcontext()
    )
    steps = plan.epochs * sampler.batch_count()
    average = WeightAverage(task.model, plan.average, state.average) if plan.average else None
    take_step = make_step(task, optimizer, clip=plan.clip)
    with kept_memory(), run as record, _progress(label, steps, state.step) as advance:
        for epoch in range(state.epoch, plan.epochs):
            progress = f"epoch {epoch + 1}/{plan.epochs}"
            begin_epoch(optimizer, epoch)
            task.train()
            for rows in sampler.epoch(plan.seed, epoch)[state.batch :]:
                set_rate(optimizer, schedule(state.step, epoch))
                clock = Clock(state.step, epoch, state.learning_since)
                if record is not None:
                    seed_step(plan.seed, clock)
                numbers = take_step(rows, clock)
                if record is not None:
                    record.watch.add(state.step + 1, numbers)
                state.step += 1
                state.batch += 1
                if average is not None:
                    average.update(state.step)
                advance(1, progress)
                if record is not None:
                    record.after_step()
            if record is not None:
                record.end_epoch()
            state.end_epoch()
            if validate is None:
                continue
            task.eval()
            with average.applied() if average is not None else contextlib.nullcontext():
                validation = validate()
                state.scores = [*state.scores, validation.score][-plan.selection_epochs :]
                score = statistics.fmean(state.scores)
                if score > state.best_score:
                    state.best_score = score
                    state.best_epoch = state.epoch
                    state.best = copy_weights(task.model)
            if record is not None:
                record.after_validation(validation)
            advance(0, f"{progress}, val mR {validation.score:.1f}")
            if plan.patience and state.epoch - state.best_epoch >= plan.patience:
                break
    return state


def seed_step(seed: int, clock: Clock) -> None:
    """Make all random numbers of a step a function of (seed, step), and of the process among several."""
    number = process_number()
    # The hash of integers is the same in every process.
    torch.manual_seed(hash((seed, clock.step, number) if number else (seed, clock.step)) & 0x7FFFFFFF)


def copy_weights(module: nn.Module) -> dict[str, torch.Tensor]:
    """A copy of all weights and buffers that a module saves, by name."""
    return {name: value.detach().clone() for name, value in module.state_dict().items()}


@contextlib.contextmanager
def _progress(label: str | None, total: int, done: int) -> Iterator[Callable[[int, str], None]]:
    """Yield the `advance` of a progress bar; without a label, a function that does nothing."""
    if label is None:
        yield lambda count, note: None
        return
    with ProgressBar(label, total, done=done) as bar:
        yield bar.advance

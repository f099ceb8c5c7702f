"""Stage 8, the one training loop."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from lingvis.progress import ProgressBar
from lingvis.training.loop.checkpoint import TrainingState, load_checkpoint, save_checkpoint
from lingvis.training.loop.log import RunLog, draw_curves
from lingvis.training.loop.optimizer import Schedule, set_rate
from lingvis.training.loop.watch import LossWatch, mean_loss
from lingvis.training.sampling import Sampler
from lingvis.training.task import RetrievalTask
from lingvis.types import Clock

LOG_EVERY = 50  # steps between looks at the loss: each makes the device wait once


class Interrupted(Exception):
    """Ctrl-C was pressed; the checkpoint is written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How long and in what portions to train; patience: see TrainingSection."""

    epochs: int
    patience: int
    clip: float
    seed: int
    checkpoint_seconds: float


def fit(
    *,
    task: RetrievalTask,
    sampler: Sampler,
    optimizer: torch.optim.Optimizer,
    schedule: Schedule,
    plan: Plan,
    validate: Callable[[], Mapping[str, Any]],
    folder: Path,
    identity: str,
    resume: bool,
) -> TrainingState:
    """Train, keep the model that is best on validation, and return the final state with its weights.

    `validate` returns an evaluation report, whose mean mR over languages selects. A checkpoint whose
    `identity` differs is refused. All randomness of a step comes from (seed, step), so a resumed run repeats
    an uninterrupted one.
    """
    state = load_checkpoint(folder, identity, task, optimizer) if resume else TrainingState(identity)
    log, watch = RunLog(folder, from_step=state.step, from_epoch=state.epoch), LossWatch()
    began, saved = time.monotonic() - state.seconds, time.monotonic()

    def checkpoint() -> None:
        _report(watch, log, optimizer)
        state.seconds = time.monotonic() - began
        save_checkpoint(folder, state, task, optimizer)

    steps = plan.epochs * sampler.batch_count()
    with (
        contextlib.closing(log),
        _interrupts() as interrupted,
        ProgressBar("train", steps, done=state.step) as bar,
    ):
        for epoch in range(state.epoch, plan.epochs):
            task.train()
            for rows in sampler.epoch(plan.seed, epoch)[state.batch :]:
                set_rate(optimizer, schedule(state.step, epoch))
                _step(task, optimizer, watch, rows, Clock(state.step, epoch), plan)
                state.step += 1
                state.batch += 1
                bar.advance(1, f"epoch {epoch + 1}/{plan.epochs}")
                if state.step % LOG_EVERY == 0:
                    _report(watch, log, optimizer)
                if interrupted():
                    checkpoint()
                    raise Interrupted
                if time.monotonic() - saved > plan.checkpoint_seconds:
                    checkpoint()
                    saved = time.monotonic()
            _report(watch, log, optimizer)
            task.eval()
            languages = validate()["languages"]
            scores = {
                key: sum(each[key] for each in languages.values()) / len(languages) for key in ("mR", "rsum")
            }
            state.epoch, state.batch = epoch + 1, 0
            per_language = {lang: each["mR"] for lang, each in languages.items()}
            log.write("val", state.step, {"epoch": epoch + 1, **scores, "languages": per_language})
            if scores["mR"] > state.best_score:
                state.best_score, state.best_epoch = scores["mR"], epoch + 1
                weights = task.model.state_dict()
                state.best = {name: value.detach().clone() for name, value in weights.items()}
            bar.advance(0, f"epoch {epoch + 1}/{plan.epochs}, val mR {scores['mR']:.1f}")
            if plan.patience and state.epoch - state.best_epoch >= plan.patience:
                break
        state.seconds = time.monotonic() - began
        draw_curves(folder, log.records)
    return state


def _step(
    task: RetrievalTask,
    optimizer: torch.optim.Optimizer,
    watch: LossWatch,
    rows: np.ndarray[Any, np.dtype[np.int64]],
    clock: Clock,
    plan: Plan,
) -> None:
    # The hash of integers is the same in every process.
    torch.manual_seed(hash((plan.seed, clock.step)) & 0x7FFFFFFF)
    optimizer.zero_grad(set_to_none=True)
    loss = task.loss(rows, clock)
    loss.total.backward()  # type: ignore[no-untyped-call]
    trained = [parameter for parameter in task.parameters() if parameter.grad is not None]
    norm = nn.utils.get_total_norm([p.grad for p in trained if p.grad is not None])
    if plan.clip > 0:
        nn.utils.clip_grads_with_norm_(trained, plan.clip, norm)
    optimizer.step()
    watch.add(clock.step + 1, loss, norm)


def _report(watch: LossWatch, log: RunLog, optimizer: torch.optim.Optimizer) -> None:
    records = watch.flush()
    if records:
        log.write("train", records[-1].step, mean_loss(records) | {"lr": optimizer.param_groups[0]["lr"]})


@contextlib.contextmanager
def _interrupts() -> Iterator[Callable[[], bool]]:
    """Ctrl-C asks the loop to stop after the step in hand; a second one stops at once."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked.is_set
        return

    def ask(number: int, frame: object) -> None:
        asked.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield asked.is_set
    finally:
        signal.signal(signal.SIGINT, before)

"""The folder of a training run while it is trained: log, checkpoints and curves."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch

from lingvis.processes.exchange import anywhere, from_first
from lingvis.training.loop.checkpoint import TrainingState, save_checkpoint
from lingvis.training.loop.log import RunLog, draw_curves
from lingvis.training.loop.task import Task, Validation
from lingvis.training.loop.watch import LossWatch, mean_loss

PLATEAU = 0.9  # of the matching loss of a model that maps everything to one point
LOG_EVERY = 50  # steps between two reports of the loss: each report makes the device wait once


class TrainingInterrupt(Exception):
    """Ctrl-C was pressed; the checkpoint is written."""


class RunRecord:
    """Writes the progress of a run to its folder; see `recording`."""

    def __init__(
        self,
        folder: Path,
        state: TrainingState,
        task: Task,
        optimizer: torch.optim.Optimizer,
        *,
        log: RunLog,
        interrupted: Callable[[], bool],
        checkpoint_seconds: float,
    ) -> None:
        self._folder = folder
        self._state = state
        self._task = task
        self._optimizer = optimizer
        self._log = log
        self._interrupted = interrupted
        self._checkpoint_seconds = checkpoint_seconds
        self._began = time.monotonic() - state.seconds
        self._saved = time.monotonic()
        self.watch = LossWatch()

    def after_step(self) -> None:
        """Report the loss and write a checkpoint when due; raises TrainingInterrupt after Ctrl-C."""
        if self._state.step % LOG_EVERY == 0:
            self.report()
        if anywhere(self._interrupted()):
            self._checkpoint()
            raise TrainingInterrupt
        if time.monotonic() - self._saved > self._checkpoint_seconds:
            self._checkpoint()
            self._saved = time.monotonic()

    def report(self) -> None:
        """Write the mean loss since the last report to the log; raises if training has gone wrong."""
        records = self.watch.flush()
        shares = [record.matching for record in records if record.matching is not None]
        self._state.matching += sum(shares)
        self._state.watched += len(shares)
        if records:
            rate = float(self._optimizer.param_groups[0]["lr"])
            self._log.write("train", records[-1].step, mean_loss(records) | {"lr": rate})

    def end_epoch(self) -> None:
        """Report the loss; the plateau has ended if the mean matching loss of the epoch was clearly below it."""
        self.report()
        state = self._state
        share = from_first(lambda: state.matching / state.watched if state.watched else None)
        if state.learning_since is None and share is not None and share < PLATEAU:
            state.learning_since = state.epoch + 1

    def after_validation(self, validation: Validation) -> None:
        """Write the numbers of the epoch that has just ended to the log."""
        if self._state.best_epoch == self._state.epoch:
            self.watch.improved()
        since = self._state.learning_since
        known = {} if since is None else {"learning_since": since}
        self._log.write("val", self._state.step, {"epoch": self._state.epoch, **known, **validation.values})

    def finish(self) -> None:
        """Record the training time and draw the curves."""
        self._state.seconds = time.monotonic() - self._began
        draw_curves(self._folder, self._log.records)

    def _checkpoint(self) -> None:
        self.report()
        self._state.seconds = time.monotonic() - self._began
        save_checkpoint(self._folder, self._state, self._task, self._optimizer)


@contextlib.contextmanager
def recording(
    folder: Path,
    state: TrainingState,
    task: Task,
    optimizer: torch.optim.Optimizer,
    *,
    checkpoint_seconds: float,
) -> Iterator[RunRecord]:
    """Record the run in a folder; inside the block Ctrl-C ends the run after the current step, with a checkpoint."""
    log = RunLog(folder, from_step=state.step, from_epoch=state.epoch)
    with contextlib.closing(log), _interrupts() as interrupted:
        record = RunRecord(
            folder,
            state,
            task,
            optimizer,
            log=log,
            interrupted=interrupted,
            checkpoint_seconds=checkpoint_seconds,
        )
        yield record
        record.finish()


@contextlib.contextmanager
def _interrupts() -> Iterator[Callable[[], bool]]:
    """Yield a function that returns whether Ctrl-C was pressed; a second Ctrl-C stops at once."""
    pressed = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield pressed.is_set
        return

    def press(number: int, frame: object) -> None:
        pressed.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    before = signal.signal(signal.SIGINT, press)
    try:
        yield pressed.is_set
    finally:
        signal.signal(signal.SIGINT, before)

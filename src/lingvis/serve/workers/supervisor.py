"""The process above the workers: it starts them, starts them again if they die, and ends them all."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path

from lingvis.errors import UserError
from lingvis.serve.workers.state import create_state
from lingvis.serve.workers.worker import Task, work

log = logging.getLogger("lingvis.serve")
SECONDS_TO_END = 8.0  # for the answers that are under way
STEADY = 60.0  # seconds; a worker that lived shorter is started again after a pause
PAUSE, LONGEST_PAUSE = 0.5, 30.0  # seconds, doubled with each short life
LOOK = 1.0  # seconds between looks at what no event announces


class Terminated(BaseException):
    """SIGTERM arrived."""


class Worker:
    """A place for a process, which is filled again when the process dies."""

    def __init__(self, number: int, task: Task) -> None:
        self._number, self._task, self._short_lives = number, task, 0
        self.due = 0.0  # when the process is to be started again
        self._start()

    def _start(self) -> None:
        context = get_context("spawn")  # libraries with threads do not survive a fork
        pipe, other = context.Pipe()
        process = context.Process(target=work, args=(self._task, other), name=f"worker {self._number}")
        with _ctrl_c_held(), other:  # Ctrl-C is for the process above, which ends the workers
            process.start()
        self.pipe: Connection = pipe
        self.process: BaseProcess = process
        self.started, self.ready = time.monotonic(), False

    @property
    def waits(self) -> Sequence[int | Connection]:
        """Return what a wait for this worker waits for: its end, and its first message."""
        if self.due:
            return []
        return [self.process.sentinel] if self.ready else [self.process.sentinel, self.pipe]

    def heard(self) -> str | None:
        """Read the report of a worker that has loaded everything; returns the sentence of an error."""
        with contextlib.suppress(EOFError, OSError):  # it has just died
            if not self.ready and self.pipe.poll():
                problem: str | None = self.pipe.recv()
                self.ready = problem is None
                return problem
        return None

    def go(self) -> None:
        """Let the worker answer."""
        with contextlib.suppress(OSError):  # it has just died
            self.pipe.send(None)

    def revive(self) -> None:
        """Start a process in place of a dead one, after a pause if it dies again and again."""
        now = time.monotonic()
        if not self.due and not self.process.is_alive():
            self.process.join()
            self.pipe.close()
            log.error("worker %d ended with code %s; another is started", self._number, self.process.exitcode)
            self._short_lives = self._short_lives + 1 if now - self.started < STEADY else 0
            self.due = now + min(LONGEST_PAUSE, PAUSE * 2 ** max(0, self._short_lives - 1))
        if self.due and now >= self.due:
            try:
                self._start()
            except OSError as error:  # no memory or processes left
                log.error("worker %d cannot be started: %s", self._number, error)
                self.due = now + LONGEST_PAUSE
            else:
                self.due = 0.0


def supervise(task: Task, count: int, announce: Callable[[], None]) -> None:
    """Run `count` workers until Ctrl-C or SIGTERM; announce: opens the port, once all have loaded everything."""
    os.environ["PYTHONSAFEPATH"] = (
        "1"  # a file in the current folder must not be imported instead of a module
    )
    with _terminable(), tempfile.TemporaryDirectory(prefix="lingvis-serve-") as shared:
        create_state(Path(shared))
        task = replace(task, settings=replace(task.settings, shared=Path(shared)))
        workers: list[Worker] = []
        try:
            for number in range(1, count + 1):
                workers.append(Worker(number, task))
            _wait_for_all(workers)
            announce()
            for worker in workers:
                worker.go()
            _keep(workers)
        finally:
            _end([worker.process for worker in workers])


def _wait_for_all(workers: Sequence[Worker]) -> None:
    while not all(worker.ready for worker in workers):
        wait([each for worker in workers for each in worker.waits])
        for worker in workers:
            problem = worker.heard()
            if problem is not None:
                raise UserError(problem)
            if not worker.process.is_alive():
                code = worker.process.exitcode
                raise UserError(
                    f"a worker ended with code {code} before it was ready; look into the log, or serve with one worker"
                )


def _keep(workers: Sequence[Worker]) -> None:
    """Replace dead workers until an exception ends it; the others answer meanwhile."""
    while True:
        wait([each for worker in workers for each in worker.waits], timeout=LOOK)
        for worker in workers:
            waited = not worker.ready
            problem = worker.heard()
            if problem is not None:
                log.error("a worker cannot start: %s", problem)
            elif waited and worker.ready:
                worker.go()
            worker.revive()


def _end(processes: Sequence[BaseProcess]) -> None:
    """End all workers, those that do not answer in time by force."""
    with _ctrl_c_held():
        for process in processes:
            process.terminate()
        until = time.monotonic() + SECONDS_TO_END
        for process in processes:
            process.join(max(0.0, until - time.monotonic()))
            if process.is_alive():
                process.kill()
                process.join()


@contextlib.contextmanager
def _ctrl_c_held() -> Iterator[None]:
    """Hold back Ctrl-C during the block; processes that are started in it never see it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _terminable() -> Iterator[None]:
    """End the workers first on SIGTERM, then this process as SIGTERM would have."""

    def stop(*_: object) -> None:
        raise Terminated

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    except Terminated:
        signal.signal(signal.SIGTERM, before)
        signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)

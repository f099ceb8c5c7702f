"""Tasks one after the other in this process, or side by side in a pool of processes."""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Protocol

import torch

from lingvis.errors import UserError
from lingvis.hardware import core_count
from lingvis.progress import ProgressBar


class Task(Protocol):
    """Work to be done once, in this process or in another."""

    @property
    def name(self) -> str: ...

    def run(self) -> str:
        """Do it and return a line to print."""
        ...


@contextlib.contextmanager
def workers(at_once: int) -> Iterator[Callable[[Sequence[Task], str], list[str]]]:
    """A function that does tasks: one after the other in this process, or in a pool of `at_once` processes.

    A task that ends with an error for the user, such as a collapsed run, does not stop the others; the function
    returns these errors.
    """
    if at_once == 1:
        yield _in_turn
        return
    spawn = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(at_once, spawn, _share_cores, (at_once,))

    def together(tasks: Sequence[Task], label: str) -> list[str]:
        failed = []
        with ProgressBar(label, len(tasks)) as bar:
            for done in as_completed([pool.submit(_run_quietly, task) for task in tasks]):
                line, success = done.result()
                bar.advance(1, line)
                failed += [] if success else [line]
        return failed

    try:
        yield together
    finally:
        pool.shutdown(cancel_futures=True)


def raise_failed(failed: Sequence[str]) -> None:
    """Report the runs that failed, if any."""
    if failed:
        count = f"{len(failed)} run{'s' if len(failed) > 1 else ''}"
        raise UserError(f"{count} failed, all others are kept:\n" + "\n".join(f"  {line}" for line in failed))


def _in_turn(tasks: Sequence[Task], label: str) -> list[str]:
    failed = []
    for number, task in enumerate(tasks, start=1):
        line, success = _run(task)
        print(f"{label} {number}/{len(tasks)}: {line}", file=sys.stderr, flush=True)
        failed += [] if success else [line]
    return failed


def _run(task: Task) -> tuple[str, bool]:
    """The line of a task, and whether it succeeded."""
    try:
        return task.run(), True
    except UserError as error:
        return f"{task.name}: {error}", False


def _run_quietly(task: Task) -> tuple[str, bool]:
    """One task, without the progress that it shows when it is alone."""
    with contextlib.redirect_stderr(io.StringIO()):
        return _run(task)


def _share_cores(processes: int) -> None:
    torch.set_num_threads(max(1, core_count() // processes))

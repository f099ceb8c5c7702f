"""Progress of long work and notes about it, on standard error: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from lingvis.printing import print_line, printable

SECONDS_BETWEEN_LINES = 10.0


def note(text: str) -> None:
    """Print a note for the user, as a line on standard error."""
    print_line(f"note: {text}", stderr=True)


class ProgressBar:
    """`with ProgressBar("features", total) as bar: bar.advance(n, "note")`: a bar with the time left on a terminal.

    Elsewhere it prints a line every SECONDS_BETWEEN_LINES seconds. It writes to standard error only.
    """

    def __init__(self, label: str, total: int, *, done: int = 0) -> None:
        self.label, self.total, self.done = label, total, done
        self._first = done
        self._note = ""
        self._start = self._last = time.monotonic()
        self._bar: Progress | None = None
        self._task = TaskID(0)

    def __enter__(self) -> ProgressBar:
        self._start = self._last = time.monotonic()
        if sys.stderr.isatty():
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                TextColumn("{task.fields[note]}", markup=False),
                console=Console(stderr=True),
                transient=True,
            )
            self._bar.start()
            self._task = self._bar.add_task(self.label, total=self.total, completed=self.done, note="")
        return self

    def advance(self, count: int = 1, note: str = "") -> None:
        """Count `count` more units as done; `note` is shown beside the numbers."""
        self.done += count
        self._note = printable(note) or self._note
        if self._bar is not None:
            self._bar.update(self._task, completed=self.done, note=self._note)
            return
        now = time.monotonic()
        if now - self._last >= SECONDS_BETWEEN_LINES:
            self._last = now
            self._line(now)

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
        elif self._last != self._start:
            self._line(time.monotonic())

    def _line(self, now: float) -> None:
        finished = self.done - self._first
        left = (now - self._start) / finished * (self.total - self.done) if finished else 0.0
        note = f", {self._note}" if self._note else ""
        print_line(f"{self.label}: {self.done}/{self.total}, {left:.0f} s left{note}", stderr=True)

"""The log of a server: a record is one line, whatever a request contains, and repeated records are left out."""

from __future__ import annotations

import logging
import sys
import time

REPEATED, WINDOW = 10, 60.0  # records of one kind in this many seconds
KIND_CHARACTERS = 60
KINDS = 1000


def one_line(text: str) -> str:
    """Return a text with line ends and other control characters escaped."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


class LineFormatter(logging.Formatter):
    """Escapes records; the lines of a traceback are indented, so that none passes for a record."""

    def format(self, record: logging.LogRecord) -> str:
        lines = [f"lingvis: {one_line(record.getMessage())}"]
        if record.exc_info:
            trace = self.formatException(record.exc_info)
            lines += ["  " + one_line(line) for line in trace.split("\n")]
        return "\n".join(lines)


class RepeatFilter(logging.Filter):
    """Leaves out records of a kind that was logged REPEATED times within WINDOW seconds."""

    def __init__(self) -> None:
        super().__init__()
        self._kinds: dict[tuple[str, str], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        kind, now = (record.name, str(record.msg)[:KIND_CHARACTERS]), time.monotonic()
        start, count = self._kinds.get(kind, (now, 0))
        if now - start > WINDOW:
            start, count = now, 0
        if len(self._kinds) > KINDS:
            self._kinds.clear()
        self._kinds[kind] = start, count + 1
        if count + 1 == REPEATED:
            record.msg = f"{record.msg} (more of these are left out for a minute)"
        return count < REPEATED


def log_to_stderr() -> None:
    """Log errors of all libraries and warnings of lingvis to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(LineFormatter())
    handler.addFilter(RepeatFilter())
    logging.basicConfig(level=logging.ERROR, handlers=[handler])
    logging.getLogger("lingvis").setLevel(logging.WARNING)

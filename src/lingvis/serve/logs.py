"""The log of a server: a record is one line, whatever a request contains, and repeated records are left out."""

from __future__ import annotations

import json
import logging
import sys
import time
from datetime import UTC, datetime

from lingvis.serve.operation.access_log import LOGGER

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


class JsonFormatter(logging.Formatter):
    """Writes a record as a JSON object; a traceback is one of its values."""

    def format(self, record: logging.LogRecord) -> str:
        fields = getattr(record, "fields", None) or {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            **({"traceback": self.formatException(record.exc_info)} if record.exc_info else {}),
        }
        return json.dumps(fields)  # ASCII, so that no character ends the line


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


def log_to_stderr(level: str = "warning", *, as_json: bool = False) -> None:
    """Log errors of all libraries, records of lingvis from `level` on, and the access log, if any, to stderr."""
    formatter = JsonFormatter() if as_json else LineFormatter()
    handler, access = logging.StreamHandler(sys.stderr), logging.StreamHandler(sys.stderr)
    handler.addFilter(RepeatFilter())
    for each in (handler, access):
        each.setFormatter(formatter)
    logging.basicConfig(level=logging.ERROR, handlers=[handler])
    logging.getLogger("lingvis").setLevel(level.upper())
    requests = logging.getLogger(LOGGER)
    requests.setLevel(logging.INFO)
    requests.propagate = False
    requests.addHandler(access)

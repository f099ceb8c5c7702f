"""`lingvis` commands in this process: a process of its own would import torch once more for each."""

from __future__ import annotations

import contextlib
import io
from dataclasses import dataclass
from unittest.mock import patch

from lingvis.cli import main


@dataclass(frozen=True)
class Done:
    """A command that has ended: its exit code, and what it printed."""

    returncode: int
    stdout: str
    stderr: str


def lingvis(*arguments: object, check: int | None = 0, **environment: str) -> Done:
    """Run a command; check: the exit code that it must have, or None for any."""
    out, errors = io.BytesIO(), io.BytesIO()
    code = 0
    with (
        patch.dict("os.environ", {"COLUMNS": "100", **environment}),
        contextlib.redirect_stdout(io.TextIOWrapper(out, "utf-8", write_through=True)),
        contextlib.redirect_stderr(io.TextIOWrapper(errors, "utf-8", write_through=True)),
    ):
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as end:
            code = int(end.code or 0)
        done = Done(code, out.getvalue().decode(), errors.getvalue().decode())
    assert check is None or code == check, done.stderr
    return done

"""The one exception that reaches a user as a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path


class UserError(Exception):
    """Bad input; the message states the value, the allowed values and the remedy.

    problems: listed below the message, one per line. The command line prints both without a traceback and exits with
    code 2.
    """

    def __init__(self, message: str, problems: Sequence[str] = ()) -> None:
        self.lines = [message, *(f"  {problem}" for problem in problems)]
        super().__init__("\n".join(self.lines))


def choices(names: Iterable[object]) -> str:
    """The allowed values, sorted and joined for an error sentence."""
    listed = sorted(str(name) for name in names)
    return ", ".join(listed) if listed else "none"


def check_list(argument: str, value: object, content: str) -> None:
    """Raise if a list of `content` is a single string or path; a string would count as a list of letters."""
    if isinstance(value, str | Path):
        raise UserError(f"{argument} must be a list of {content}, got {str(value)!r}; write [{str(value)!r}]")

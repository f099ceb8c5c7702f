"""The one exception that reaches a user as a sentence."""

from __future__ import annotations

from collections.abc import Iterable


class UserError(Exception):
    """Bad input; the message states the value, the allowed values and the remedy.

    The command line prints the message without a traceback and exits with code 2.
    """


def choices(names: Iterable[object]) -> str:
    """The allowed values, sorted and joined for an error sentence."""
    listed = sorted(str(name) for name in names)
    return ", ".join(listed) if listed else "none"

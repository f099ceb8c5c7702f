"""The one exception that reaches a user as a sentence."""

from __future__ import annotations


class UserError(Exception):
    """Bad input: says what was got, what is allowed and what to do next.

    The command line prints the message without a traceback and exits with code 2.
    """


def choices(names: object) -> str:
    """Format the allowed values of something for an error sentence."""
    listed = sorted(str(name) for name in names)  # type: ignore[attr-defined]
    return ", ".join(listed) if listed else "none"

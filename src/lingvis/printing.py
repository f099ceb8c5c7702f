"""Lines for a terminal: names of files and captions may hold anything, even commands for the terminal."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.text import Text

# Control characters (C0, DEL, C1), ends of lines and paragraphs, changes of the writing direction, halves of surrogate
# pairs (bytes of a file name that are not UTF-8).
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    r"""Return the text with escapes such as \x1b, \n or \u202e for control characters."""
    return CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def print_line(text: str, *, stderr: bool = False) -> None:
    """Print one line, whatever the text holds."""
    print(printable(text), file=sys.stderr if stderr else sys.stdout, flush=True)


def print_lines(text: str) -> None:
    """Print a text of our own that has several lines, maybe with tabs."""
    for line in text.split("\n"):
        print("\t".join(map(printable, line.split("\t"))))


def cell(value: object) -> Text:
    """Return a cell or a title of a table of rich, without markup."""
    from rich.text import Text

    return Text(printable(str(value)))

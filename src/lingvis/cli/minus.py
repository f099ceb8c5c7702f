"""Words with a minus on the command line: `lingvis search PHOTOS dog -beach` leaves beaches out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cyclopts import App

TERM = re.compile(r"-[^\W\d_]{2,}\S*")
MINUS = "\u2212"  # means the same in a query, and begins no option


def with_minus_words(app: App, arguments: Sequence[str]) -> list[str]:
    """Return the arguments of a command line; in a search, words after a hyphen begin with a minus sign instead.

    One letter after the hyphen, or the name of an option ("-format"), remains: that is an option, or a slip.
    """
    if not arguments or arguments[0] != "search":
        return list(arguments)
    options = {name for found in app["search"].assemble_argument_collection() for name in found.names}
    return [
        MINUS + word[1:] if TERM.fullmatch(word) and f"-{word.partition('=')[0]}" not in options else word
        for word in arguments
    ]

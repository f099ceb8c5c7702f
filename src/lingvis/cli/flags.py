"""Library errors name Python arguments as `argument`; the command line shows its own spelling of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cyclopts import App


def with_flags(sentence: str, app: App, arguments: Sequence[str] | None) -> str:
    """The sentence with `save_consistency` as --save-consistency, for the arguments of the command that ran."""
    _, commands, _ = app.parse_commands(arguments)
    spelling = {
        argument.field_info.name: argument.names[0]
        for argument in commands[-1].assemble_argument_collection()
        if argument.names
    }
    return re.sub(r"`(\w+)`", lambda name: spelling.get(name[1], name[0]), sentence)

"""Library errors name Python arguments; the command line shows them as flags."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cyclopts import App

# Forms of a name that cannot be an ordinary word: `lang`, batch_size, "k must be at least 1".
NAME = re.compile(r"`(\w+)`|(?<![\w/.-])([a-z]+(?:_[a-z]+)+)(?![\w/-]|\.\w)|^(\w+)(?= must be )")


def with_flags(sentence: str, app: App, arguments: Sequence[str] | None) -> str:
    """Replace arguments of the command by its flags in a sentence: save_consistency becomes --save-consistency."""
    _, commands, _ = app.parse_commands(arguments)
    spelling = {
        argument.field_info.name: argument.names[0]
        for argument in commands[-1].assemble_argument_collection()
        if argument.names
    }
    return NAME.sub(lambda match: spelling.get(match[1] or match[2] or match[3], match[0]), sentence)

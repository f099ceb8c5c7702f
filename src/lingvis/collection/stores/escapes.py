"""Characters that servers reject in texts."""

from __future__ import annotations

import re
from typing import Any

# The null character and lone surrogates are written as \x1b and four digits.
REJECTED, ESCAPED = re.compile("[\0\x1b\ud800-\udfff]"), re.compile("\x1b([0-9a-f]{4})")


def to_text(text: str) -> str:
    """Escape characters that servers reject; `from_text` restores them."""
    if text.isprintable():
        return text
    return REJECTED.sub(lambda match: f"\x1b{ord(match[0]):04x}", text)


def from_text(value: Any) -> Any:
    """Undo `to_text`; other values than strings stay unchanged."""
    if isinstance(value, str) and "\x1b" in value:
        return ESCAPED.sub(lambda match: chr(int(match[1], 16)), value)
    return value

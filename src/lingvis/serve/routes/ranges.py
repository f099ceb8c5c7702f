"""Parts of a file, as players of videos ask for them (RFC 9110, section 14)."""

from __future__ import annotations

import re

RANGE = re.compile(r"bytes=(\d{0,19})-(\d{0,19})")


class UnsatisfiableRange(Exception):
    """No byte of the file is in the range."""


def byte_range(header: str | None, condition: str | None, *, size: int, mark: str) -> tuple[int, int] | None:
    """Return the first byte and the byte behind the last of a request; None if the whole file must be sent.

    header, condition: Range and If-Range; mark: the current ETag. Several ranges, or a wrong one, get the whole file.
    """
    match = RANGE.fullmatch((header or "").replace(" ", ""))
    if match is None or match[0] == "bytes=-" or (condition is not None and condition.strip() != mark):
        return None
    first, last = match.groups()
    if not first:
        start, end = max(0, size - int(last)), size
    else:
        start, end = int(first), min(size, int(last) + 1) if last else size
        if last and int(last) < start:
            return None
    if start >= end:
        raise UnsatisfiableRange
    return start, end

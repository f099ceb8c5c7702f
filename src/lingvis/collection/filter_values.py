"""Values of filters as people write them: formats, sizes and periods. A wrong value is a ValueError."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime
from typing import TypeVar

from lingvis.collection.dates import from_moment, up_to_moment
from lingvis.data.images import FORMATS
from lingvis.data.video.formats import FORMATS as VIDEO_FORMATS
from lingvis.errors import UserError, choices

T = TypeVar("T")
KNOWN_FORMATS = tuple(name.lower() for name in (*FORMATS, *VIDEO_FORMATS))
ALIASES = {"jpg": "jpeg", "jpe": "jpeg", "heic": "heif", "tif": "tiff", "m4v": "mp4"}
UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}
SIZE = re.compile(r"(\d{1,19}(?:\.\d{1,9})?)\s*([A-Za-z]*)")
LARGEST = 2**63 - 1


def parse_format(text: str) -> str:
    """Return a format by its stored name: jpg is jpeg, and HEIC is heif."""
    name = text.strip().lower().removeprefix(".")
    name = ALIASES.get(name, name)
    if name not in KNOWN_FORMATS:
        raise ValueError(f"choose one of: {choices([*KNOWN_FORMATS, 'jpg', 'heic', 'tif'])}")
    return name


def parse_size(text: str | int) -> int:
    """Return a size in bytes: a number, or a text such as 500, 300 kB, 2MB or 1.5 GiB."""
    match = SIZE.fullmatch(str(text).strip())
    unit = UNITS.get(match[2].upper()) if match else None
    if match is None or unit is None:
        raise ValueError("write a size as a number of bytes, or with a unit as 300kB, 2MB or 1.5GB")
    size = int(match[1]) * unit if match[1].isdigit() else round(float(match[1]) * unit)
    if size > LARGEST:
        raise ValueError(f"use at most {LARGEST} bytes")
    return size


def parse_start(value: str | date) -> datetime:
    """Return the start of a period; a date without a time means the start of that day."""
    return value if isinstance(value, datetime) else from_moment(str(value))


def parse_end(value: str | date) -> datetime:
    """Return the end of a period; a date without a time means the end of that day."""
    return value if isinstance(value, datetime) else up_to_moment(str(value))


def parsed(name: str, value: str | int | date | None, parse: Callable[..., T]) -> T | None:
    """Return the value of a filter, None if it is not set; raises UserError with its name if it is wrong."""
    if value is None:
        return None
    try:
        return parse(value)
    except ValueError as error:
        raise UserError(f"`{name}` {value} is not allowed; {error}") from error

"""Dates as people write them, for filters."""

from __future__ import annotations

from datetime import date, datetime, time

YEARS = 1800, 2200  # engines store microseconds since 1970, which limits the range


def from_moment(text: str) -> datetime:
    """Parse the start of a period; a date alone means the start of that day."""
    return _parse(text, time.min)


def up_to_moment(text: str) -> datetime:
    """Parse the end of a period; a date alone means the end of that day."""
    return _parse(text, time.max)


def _parse(text: str, day_part: time) -> datetime:
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError("write a date as 2024-05-01, or with a time as 2024-05-01T18:30") from error
    if parsed.tzinfo is not None:
        raise ValueError("leave out the time zone: dates of pictures have none")
    if not YEARS[0] <= parsed.year <= YEARS[1]:
        raise ValueError(f"use a year from {YEARS[0]} to {YEARS[1]}")
    try:
        return datetime.combine(date.fromisoformat(text), day_part)
    except ValueError:
        return parsed

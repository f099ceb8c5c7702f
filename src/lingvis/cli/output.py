"""Printing results: JSON for programs, tables for people."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from lingvis.printing import CONTROL, cell


def print_json(value: Any) -> None:
    """Print one JSON value to standard output; control characters are escaped, those that JSON allows too."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    for line in text.split("\n"):
        print(CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", line))


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table to standard output; numbers are right-aligned."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=cell(title), title_justify="left")
    listed = [list(row) for row in rows]
    for position, column in enumerate(columns):
        numeric = bool(listed) and all(isinstance(row[position], int | float) for row in listed)
        table.add_column(column, justify="right" if numeric else "left")
    for row in listed:
        table.add_row(*(cell(f"{value:.1f}" if isinstance(value, float) else value) for value in row))
    Console().print(table)

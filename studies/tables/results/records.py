"""Records as the tables read them, and the caveats of those that a table used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lingvis.errors import UserError
from studies.records import RUNS, Record, read

MOST_NAMES = 4  # of records that are listed beside a caveat
TIMES = "times: "  # begins a caveat that concerns times alone


class Results:
    """Records below a folder such as results/."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._files: dict[str, list[Record]] = {}
        self._used: dict[tuple[str, str], Record] = {}

    def where(self, folder: str, /, **values: Any) -> list[Record]:
        """The records in a folder of results/ that have these values, in the order of the file."""
        if folder not in self._files:
            self._files[folder] = read(self.folder / folder / RUNS)
        records = [
            record
            for record in self._files[folder]
            if all(record.get(key) == value for key, value in values.items())
        ]
        self._used |= {(folder, record["name"]): record for record in records}
        return records

    def find(self, folder: str, name: str) -> Record | None:
        """The record with a name, None if it was not measured yet."""
        return next(iter(self.where(folder, name=name)), None)

    def get(self, folder: str, name: str) -> Record:
        """The record with a name, which must exist."""
        record = self.find(folder, name)
        if record is None:
            raise UserError(
                f"{self.folder / folder / RUNS} has no record {name}; measure it, see studies/README.md"
            )
        return record

    def seeds(self, folder: str, row: str) -> list[Record]:
        """The runs of a row, one per seed; empty if it was not trained yet."""
        return sorted(self.where(folder, row=row), key=lambda record: int(record["seed"]))

    def take_caveats(self, *, times: bool) -> str:
        """A Markdown list of the caveats of all records read since the last call; empty if there are none.

        times: also those that concern times alone.
        """
        names: dict[str, list[str]] = {}
        for record in self._used.values():
            for caveat in record.get("caveats", ()):
                if caveat.startswith(TIMES) and not times:
                    continue
                names.setdefault(caveat, []).append(str(record.get("row", record["name"])))
        lines = [f"- {caveat}{_which(names[caveat], len(self._used))}" for caveat in names]
        self._used = {}
        return "\n".join(["Caveats of these numbers:", *lines]) if lines else ""


def _which(names: list[str], used: int) -> str:
    """The records that a caveat concerns, empty if it concerns all."""
    if len(names) == used:
        return ""
    rows = list(dict.fromkeys(names))
    if len(rows) > MOST_NAMES:
        return f" ({len(names)} of {used} records)"
    return f" ({', '.join(f'`{row}`' for row in rows)})"

"""What has to be done to bring a collection up to date with what lies in the folders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lingvis.collection.stores.contract import Known
from lingvis.collection.writer.captions import NoteReader
from lingvis.collection.writer.scan import Found, Walk, is_gone


@dataclass(slots=True)
class Plan:
    """todo: new files and changed ones; noted: only their caption is new; gone: to be dropped, as of now."""

    todo: list[Found] = field(default_factory=list)
    noted: list[tuple[Found, Known]] = field(default_factory=list)
    gone: list[Known] = field(default_factory=list)
    unchanged: int = 0

    @property
    def empty(self) -> bool:
        """Whether there is nothing to do."""
        return not (self.todo or self.noted or self.gone)


def make_plan(
    found: Walk, known: Mapping[str, Known], notes: NoteReader, *, unusable: Mapping[str, Found], prune: bool
) -> Plan:
    """Compare files with rows; unusable: files that are passed over until they change."""
    plan = Plan()
    for file in found.files.values():
        row = known.get(file.path)
        if row is None or (row.size, row.mtime_ns) != (file.size, file.mtime_ns):
            if unusable.get(file.path) != file:
                plan.todo.append(file)
        elif row.note != notes.find(file)[0]:
            plan.noted.append((file, row))
        else:
            plan.unchanged += 1
    if prune:
        missing = [row for path, row in known.items() if path not in found.files and found.covers(path)]
        # Another process may have stored a file since the walk: only the disk itself tells what is gone.
        plan.gone = [row for row in missing if is_gone(row.path)]
    return plan

"""The plan that brings a collection up to date with its folders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lingvis.collection.stores.records import StoredFile
from lingvis.collection.writer.captions import CaptionReader
from lingvis.collection.writer.scan import FolderScan, ScannedFile, is_gone
from lingvis.collection.writer.stored import StoredRows


@dataclass(slots=True)
class IndexPlan:
    """to_read: new and changed files; recaptioned: files with a changed caption only; gone: paths to drop."""

    to_read: list[ScannedFile] = field(default_factory=list)
    recaptioned: list[tuple[ScannedFile, StoredFile]] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    unchanged: int = 0

    @property
    def empty(self) -> bool:
        """Whether there is nothing to do."""
        return not (self.to_read or self.recaptioned or self.gone)


def make_plan(
    scan: FolderScan,
    stored: StoredRows,
    captions: CaptionReader,
    *,
    unusable: Mapping[str, ScannedFile],
    prune: bool,
) -> IndexPlan:
    """Compare files with rows; unusable: files that are skipped until they change."""
    plan = IndexPlan()
    for file in scan.files.values():
        row = stored.unchanged(file)
        if row is None:
            if unusable.get(file.path) != file:
                plan.to_read.append(file)
        elif row.caption != captions.find(file)[0]:
            plan.recaptioned.append((file, row))
        else:
            plan.unchanged += 1
    if prune:
        missing = [path for path in stored if path not in scan.files and scan.covers(path)]
        # Another process may have stored a file since the scan: only the disk shows which files are gone.
        plan.gone = [path for path in missing if is_gone(path)]
    return plan

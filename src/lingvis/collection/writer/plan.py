"""The plan that brings a collection up to date with its folders."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice

from lingvis.collection.stores.records import StoredFile
from lingvis.collection.writer.captions import CaptionReader
from lingvis.collection.writer.found import ScannedFile
from lingvis.collection.writer.scan import FolderScan, is_gone
from lingvis.collection.writer.spool import FileSpool
from lingvis.collection.writer.stored import StoredRows, caption_key

COMPARED = 4096  # files at a time


@dataclass(slots=True)
class IndexPlan:
    """to_read: new and changed files; recaptioned: files of which only the caption is new, and their hashes; gone: paths."""

    to_read: FileSpool = field(default_factory=FileSpool)
    recaptioned: list[tuple[ScannedFile, str]] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    unchanged: int = 0

    @property
    def empty(self) -> bool:
        """Whether there is nothing to do."""
        return not (len(self.to_read) or self.recaptioned or self.gone)


def make_plan(
    scan: FolderScan,
    stored: StoredRows,
    captions: CaptionReader,
    *,
    unusable: Mapping[str, ScannedFile],
    prune: Callable[[], Iterable[StoredFile]] | None,
) -> IndexPlan:
    """Compare files with rows; unusable: files that are skipped until they change.

    prune: returns all rows again, to drop those whose files are gone; their paths are not kept in memory.
    """
    plan, files = IndexPlan(), iter(scan)
    while batch := list(islice(files, COMPARED)):
        for file, known in zip(batch, stored.compare(batch), strict=True):
            if known is None:
                if unusable.get(file.path) != file:
                    plan.to_read.append(file)
            elif known.caption != caption_key(captions.find(file)[0]):
                plan.recaptioned.append((file, known.hash))
            else:
                plan.unchanged += 1
    if prune is not None:
        # Another process may have stored a file since the scan: only the disk shows which files are gone.
        plan.gone = [path for path in stored.lost(prune()) if scan.covers(path) and is_gone(path)]
    return plan

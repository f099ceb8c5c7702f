"""Files -> rows of a collection, batch by batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from lingvis.collection.stores.contract import Store
from lingvis.collection.stores.records import Item, StoredFile
from lingvis.collection.writer.captions import CaptionReader
from lingvis.collection.writer.items import moved_item, new_item
from lingvis.collection.writer.pictures import DuplicateContent, UnreadPicture
from lingvis.collection.writer.plan import IndexPlan
from lingvis.collection.writer.scan import ScannedFile
from lingvis.collection.writer.workers import EncodedPicture, IndexWorkers, Outcome
from lingvis.features.pictures import BrokenPicture


@dataclass(slots=True)
class BatchReport:
    """The outcome of a batch: stored rows, and broken or unreadable files with reasons.

    postponed: files with the content of a stored row that has since changed or gone; they are retried in a later batch.
    """

    items: list[Item] = field(default_factory=list)
    broken: dict[ScannedFile, str] = field(default_factory=dict)
    unread: dict[ScannedFile, str] = field(default_factory=dict)
    postponed: list[ScannedFile] = field(default_factory=list)


class BatchWriter:
    """Stores pictures that workers read and encode."""

    def __init__(
        self, store: Store, workers: IndexWorkers, captions: CaptionReader, *, batch_size: int
    ) -> None:
        self._store, self._workers, self._captions = store, workers, captions
        self._batch_size = batch_size

    def run(self, plan: IndexPlan, stored: Mapping[str, StoredFile]) -> Iterator[BatchReport]:
        """Store files of which only the caption is new, then read, encode and store the others; stored: rows by path."""
        hashes = {row.hash: row.id for row in stored.values()}
        again: list[ScannedFile] = []
        for batch in self._batches(plan, hashes, again):
            report = self._rows(batch, hashes)
            self._store.upsert(report.items)
            # The row of a broken file is outdated; the row of an unreadable file may still be right.
            self._store.delete([stored[file.path].id for file in report.broken if file.path in stored])
            hashes |= {item.info.hash: item.info.id for item in report.items}
            again += report.postponed
            yield report

    def _batches(
        self, plan: IndexPlan, hashes: Mapping[str, str], again: Sequence[ScannedFile]
    ) -> Iterator[Sequence[tuple[ScannedFile, Outcome]]]:
        """Yield files with their outcomes; `again` grows while the others are stored, and comes last."""
        size = self._batch_size
        for start in range(0, len(plan.recaptioned), size):
            yield [(file, DuplicateContent(row.hash)) for file, row in plan.recaptioned[start : start + size]]
        yield from self._workers.batches(plan.to_read, batch_size=size, seen=hashes)
        yield from self._workers.batches(again, batch_size=size, seen=())

    def _rows(self, batch: Sequence[tuple[ScannedFile, Outcome]], hashes: Mapping[str, str]) -> BatchReport:
        """Make rows; known content copies its stored row, even if the worker encoded it again."""
        ids = {hashes[digest] for _, outcome in batch if (digest := _hash(outcome)) in hashes}
        by_hash = {item.info.hash: item for item in self._store.items(sorted(ids))}
        report = BatchReport()
        captioned: list[tuple[Item, str | None, str | None]] = []
        for file, outcome in batch:
            if isinstance(outcome, UnreadPicture):
                report.unread[file] = str(outcome)
            elif isinstance(outcome, BrokenPicture):
                report.broken[file] = str(outcome)
            elif isinstance(outcome, DuplicateContent) and outcome.hash not in by_hash:
                report.postponed.append(file)
            else:
                try:
                    captioned.append((_item(file, outcome, by_hash), *self._captions.read(file)))
                except Exception as error:  # a problem with one file must not stop the others
                    report.broken[file] = str(error) or type(error).__name__
        report.items = self._captions.encode(captioned)
        return report


def _item(file: ScannedFile, outcome: EncodedPicture | DuplicateContent, by_hash: Mapping[str, Item]) -> Item:
    if (stored := by_hash.get(_hash(outcome))) is not None:
        return moved_item(stored, file)
    assert isinstance(outcome, EncodedPicture)
    return new_item(file, outcome)


def _hash(outcome: Outcome) -> str:
    if isinstance(outcome, BrokenPicture):
        return ""
    return outcome.hash if isinstance(outcome, DuplicateContent) else outcome.facts.hash

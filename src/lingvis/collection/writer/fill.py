"""Files -> rows of a collection: batches that come quickly are stored together."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from lingvis.collection.stores.contract import SharedStore, Store
from lingvis.collection.stores.records import Item
from lingvis.collection.writer.captions import CaptionReader
from lingvis.collection.writer.contents import StoredContents
from lingvis.collection.writer.found import Files, ScannedFile
from lingvis.collection.writer.items import moved_item, new_item
from lingvis.collection.writer.pictures import DuplicateContent, UnreadPicture, WrittenPicture
from lingvis.collection.writer.plan import IndexPlan
from lingvis.collection.writer.stored import StoredRows
from lingvis.collection.writer.workers import (
    Direct,
    EncodedPicture,
    EncodedVideo,
    IndexWorkers,
    Outcome,
)
from lingvis.features.pictures import BrokenPicture

# A transaction takes as long as storing hundreds of rows, too long for each batch of a cluster. A kill loses at most
# these rows.
STORED_ROWS = 1024
STORED_SECONDS = 0.25

Batch = Sequence[tuple[ScannedFile, Outcome]]


@dataclass(slots=True)
class BatchReport:
    """The outcome of a batch: stored rows, and broken or unreadable files with reasons.

    written: new files whose rows workers have written. postponed: files with the content of a stored row that has since
    changed or gone; they are retried in a later batch.
    """

    items: list[Item] = field(default_factory=list)
    written: dict[ScannedFile, WrittenPicture] = field(default_factory=dict)
    broken: dict[ScannedFile, str] = field(default_factory=dict)
    unread: dict[ScannedFile, str] = field(default_factory=dict)
    postponed: list[ScannedFile] = field(default_factory=list)


class BatchWriter:
    """Stores pictures that workers read and encode; what is reported is stored."""

    def __init__(
        self, store: Store, workers: IndexWorkers, captions: CaptionReader, *, batch_size: int
    ) -> None:
        self._store, self._workers, self._captions = store, workers, captions
        self._batch_size = batch_size

    def run(self, plan: IndexPlan, stored: StoredRows, direct: Direct | None = None) -> Iterator[BatchReport]:
        """Store files of which only the caption is new, then read, encode and store the others.

        direct: the rows that workers write; they are added here.
        """
        hashes = StoredContents(stored)
        again: list[ScannedFile] = []
        sources = (
            self._recaptioned(plan),
            self._encoded(plan.to_read, hashes, direct),
            self._encoded(again, ()),
        )
        # Postponed files come again when all others are stored.
        for batch in chain.from_iterable(map(grouped, sources)):
            report = self._rows(batch, hashes)
            self._store.upsert(report.items)
            self._append(report)
            # The rows of a broken file are outdated, as are those of a video that has fewer moments now; the rows of an
            # unreadable file may still be right.
            current = {item.info.id for item in report.items}
            replaced = [*{item.info.path for item in report.items}, *(file.path for file in report.broken)]
            self._store.delete([id for path in replaced for id in stored.ids(path) if id not in current])
            hashes.add(report.items)
            for file, written in report.written.items():
                hashes.add_picture(written.hash, file.path)
            again += report.postponed
            yield report

    def _append(self, report: BatchReport) -> None:
        """Add the rows that workers have written; those of a reply that never came are added by nobody."""
        if report.written:
            assert isinstance(self._store, SharedStore), "others have no writer"
            names = dict.fromkeys(chain.from_iterable(each.names for each in report.written.values()))
            self._store.append(list(names), rows=len(report.written))

    def _recaptioned(self, plan: IndexPlan) -> Iterator[Batch]:
        size = self._batch_size
        for start in range(0, len(plan.recaptioned), size):
            yield [(file, DuplicateContent(hash)) for file, hash in plan.recaptioned[start : start + size]]

    def _encoded(self, files: Files, seen: Collection[str], direct: Direct | None = None) -> Iterator[Batch]:
        """Yield files with their outcomes; the workers begin when the first batch is asked for."""
        yield from self._workers.batches(files, batch_size=self._batch_size, seen=seen, direct=direct)

    def _rows(self, batch: Batch, hashes: StoredContents) -> BatchReport:
        """Make rows; known content copies its stored rows, even if the worker encoded it again."""
        known = {digest: hashes.ids(digest) for _, outcome in batch if (digest := _hash(outcome)) in hashes}
        items = {item.info.id: item for item in self._store.items(sorted({*chain(*known.values())}))}
        by_hash = {
            digest: [items[id] for id in ids]
            for digest, ids in known.items()
            if all(id in items and items[id].info.hash == digest for id in ids)
        }
        report = BatchReport()
        captioned: list[tuple[Item, str | None, str | None]] = []
        for file, outcome in batch:
            if isinstance(outcome, UnreadPicture):
                report.unread[file] = str(outcome)
            elif isinstance(outcome, BrokenPicture):
                report.broken[file] = str(outcome)
            elif isinstance(outcome, WrittenPicture):
                report.written[file] = outcome
            elif isinstance(outcome, DuplicateContent) and outcome.hash not in by_hash:
                report.postponed.append(file)
            else:
                try:
                    first, *others = _items(file, outcome, by_hash)
                    captioned += [
                        (first, *self._captions.read(file)),
                        *((each, None, None) for each in others),
                    ]
                except Exception as error:  # a problem with one file must not stop the others
                    report.broken[file] = str(error) or type(error).__name__
        report.items = self._captions.encode(captioned)
        return report


def grouped(batches: Iterable[Batch]) -> Iterator[Batch]:
    """Join batches until they have STORED_ROWS files, or the first has waited for STORED_SECONDS when another one comes.

    A batch that took as long to come waits for no other.
    """
    joined: list[tuple[ScannedFile, Outcome]] = []
    since = time.monotonic()
    for batch in batches:
        joined += batch
        if len(joined) >= STORED_ROWS or time.monotonic() >= since + STORED_SECONDS:
            yield joined
            joined, since = [], time.monotonic()
    if joined:
        yield joined


def _items(file: ScannedFile, outcome: Outcome, by_hash: Mapping[str, list[Item]]) -> list[Item]:
    """Return the row of a picture, or those of a video in the order of time."""
    if (stored := by_hash.get(_hash(outcome))) is not None:
        return [moved_item(item, file) for item in sorted(stored, key=lambda item: item.info.second or 0.0)]
    assert isinstance(outcome, EncodedPicture | EncodedVideo)
    pictures = outcome.moments if isinstance(outcome, EncodedVideo) else [outcome]
    return [new_item(file, picture) for picture in pictures]


def _hash(outcome: Outcome) -> str:
    if isinstance(outcome, BrokenPicture | WrittenPicture):  # the row is there, or there is none
        return ""
    if isinstance(outcome, EncodedVideo):
        return outcome.moments[0].facts.hash
    return outcome.hash if isinstance(outcome, DuplicateContent) else outcome.facts.hash

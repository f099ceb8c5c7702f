"""Passes over folders of pictures that bring a collection up to date."""

from __future__ import annotations

import errno
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lingvis.collection.binding import ImageEmbedder, check_image_side, same_captions
from lingvis.collection.stores.contract import FullDiskError, Store
from lingvis.collection.stores.folder.header import Engine
from lingvis.collection.stores.open import check_engine, create_store, open_store, shown, store_exists
from lingvis.collection.stores.records import Header
from lingvis.collection.stores.servers import is_server
from lingvis.collection.writer.captions import CaptionReader
from lingvis.collection.writer.direct import find_direct, rows_version
from lingvis.collection.writer.fill import BatchWriter
from lingvis.collection.writer.found import ScannedFile
from lingvis.collection.writer.plan import IndexPlan, make_plan
from lingvis.collection.writer.scan import is_below, is_gone, scan_folders
from lingvis.collection.writer.stored import StoredRows
from lingvis.collection.writer.workers import IndexWorkers, LocalWorkers
from lingvis.errors import UserError
from lingvis.model.encoder import Encoder
from lingvis.pretrained import from_reference
from lingvis.progress import ProgressBar, note

# Makes the workers for a collection with this header.
Spread = Callable[[Header], IndexWorkers]

BATCH = 64
ROWS_BETWEEN_MAINTENANCE = 50 * BATCH
# Pause between two passes: a minimum of seconds, and a multiple of the time to scan for changes.
REST, REST_SHARE = 5.0, 10
EMPTY = (
    "it is empty, so nothing below it was dropped; mount its disk, or put any file into it if the pictures are gone "
    "for good"
)


class OtherModelError(UserError):
    """Another process has changed the model of the collection since this one started."""


@dataclass(slots=True)
class IndexReport:
    """The outcome of a pass over folders, in files; broken and unreadable: path -> reason.

    pictures: pictures and videos in the collection now; moments: what a search can find, each picture and each moment of a
    video. An unreadable file is tried again in the next pass; a broken file is skipped until it changes. skipped_links:
    links to pictures or folders outside the given folders, which are followed only with `follow_links`. skipped_types:
    numbers of files of other formats by suffix, such as {".heic": 12} where pillow-heif is not installed.
    """

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    pruned: int = 0
    pictures: int = 0
    moments: int = 0
    broken: dict[str, str] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)
    skipped_links: list[str] = field(default_factory=list)
    skipped_types: dict[str, int] = field(default_factory=dict)


def watch_folders(
    indexer: Indexer,
    folders: Sequence[Path],
    *,
    prune: bool,
    follow_links: bool = False,
    report: Callable[[IndexReport], None],
) -> None:
    """Scan the folders again and again, until Ctrl-C; `report` is called after each pass that changed something.

    After the first pass, an error is printed to stderr once, and the next pass tries again; so does the first pass
    if the disk is full.
    """
    first, last_error, troubles = True, "", dict[str, str]()
    while True:
        try:
            outcome = indexer.run(folders, prune=prune, follow_links=follow_links)
        except (UserError, OSError) as error:
            if (first and not _is_full_disk(error)) or isinstance(error, OtherModelError):
                raise
            if str(error) != last_error:
                last_error = str(error)
                note(f"{last_error} (still watching)")
        else:
            current = outcome.broken | outcome.unreadable | dict.fromkeys(outcome.skipped_links, "")
            news = outcome.added or outcome.updated or outcome.pruned or current.items() - troubles.items()
            if first or news:
                report(outcome)
            first, last_error, troubles = False, "", current
        time.sleep(max(REST, REST_SHARE * indexer.seconds_to_scan))


def _is_full_disk(error: Exception) -> bool:
    full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
    return full or isinstance(error, FullDiskError)


class Indexer:
    """Brings a collection up to date; it is made or emptied in the first pass.

    header: of a collection of this model. engine: of a collection in a folder that is made or rebuilt; None: the one that
    it has, or SQLite. rebuild: drop all stored rows in the first pass. spread: makes the workers
    that read and encode, for instance on a cluster; only this process stores, or adds what they have written.
    """

    def __init__(
        self,
        address: str,
        embedder: Encoder,
        header: Header,
        *,
        engine: Engine | None = None,
        rebuild: bool = False,
        batch_size: int = BATCH,
        spread: Spread | None = None,
    ) -> None:
        if batch_size < 1:
            raise UserError(f"batch_size must be at least 1, got {batch_size}")
        check_engine(address, engine, replace=rebuild)
        self._address, self._header, self._engine, self._rebuild = address, header, engine, rebuild
        self.store = open_store(address) if not rebuild and store_exists(address) else None
        if self.store is not None:
            check_image_side(shown(address), self.store.header, header)
        self._workers: IndexWorkers = (
            LocalWorkers(ImageEmbedder(embedder)) if spread is None else spread(header)
        )
        self._spread = spread is not None
        self._captions = CaptionReader(embedder)
        self._batch_size = batch_size
        self.seconds_to_scan = 0.0  # of the last pass, before storing
        self._unusable: dict[str, ScannedFile] = {}  # broken files, skipped until they change
        self._followed = False  # whether the collection has our model
        self._settled = False  # whether the last pass with changes was completed

    def run(self, folders: Sequence[Path], *, prune: bool = False, follow_links: bool = False) -> IndexReport:
        """Make one pass; every stored batch is durable."""
        start = time.monotonic()
        scan = scan_folders(
            folders, follow_links=follow_links
        )  # first: a mistake in the folders must change nothing
        store = self.store = self.store or self._make_store()
        version = (
            rows_version(store) if self._spread else None
        )  # before the rows: they may be newer, not older
        stored = StoredRows(store.files())
        self._check(store.header)
        plan = make_plan(
            scan, stored, self._captions, unusable=self._unusable, prune=store.files if prune else None
        )
        self.seconds_to_scan = time.monotonic() - start
        report = IndexReport(
            unchanged=plan.unchanged,
            unreadable=scan.unreadable,
            skipped_links=scan.skipped_links,
            skipped_types=dict(scan.skipped_types),
        )
        if prune:
            report.unreadable |= {
                root: EMPTY for root in scan.empty if any(is_below(row.path, [root]) for row in store.files())
            }
        if not (plan.empty and self._settled):  # otherwise other writers need not wait
            self._settled = False
            with store.writing():
                self._check(store.header)
                self._follow_model(store)
                self._fill(store, plan, stored, version, report)
                gone = [path for path in plan.gone if is_gone(path)]
                store.delete([id for path in gone for id in stored.ids(path)])
                report.pruned = len(gone)
                store.maintain()
            self._settled = True
        report.pictures, report.moments = store.count(once=True), store.count()
        return report

    def _fill(
        self, store: Store, plan: IndexPlan, stored: StoredRows, version: int | None, report: IndexReport
    ) -> None:
        """Store new and changed pictures, and add the outcome to the report."""
        direct = find_direct(store, stored, version) if self._spread else None
        writer = BatchWriter(store, self._workers, self._captions, batch_size=self._batch_size)
        with ProgressBar("index", len(plan.recaptioned) + len(plan.to_read)) as bar:
            changed = 0
            for batch in writer.run(plan, stored, direct):
                paths = {item.info.path for item in batch.items} | {file.path for file in batch.written}
                report.added += sum(path not in stored for path in paths)
                report.updated += sum(path in stored for path in paths)
                report.broken |= {file.path: reason for file, reason in batch.broken.items()}
                report.unreadable |= {file.path: reason for file, reason in batch.unread.items()}
                self._unusable |= {file.path: file for file in batch.broken}
                changed += len(batch.items) + len(batch.written)
                if changed >= ROWS_BETWEEN_MAINTENANCE:
                    changed = 0
                    store.maintain()
                bar.advance(len(paths) + len(batch.broken) + len(batch.unread))

    def _make_store(self) -> Store:
        """Make or empty the collection; if another process made it meanwhile, open it."""
        store = create_store(self._address, self._header, engine=self._engine, replace=self._rebuild)
        check_image_side(shown(self._address), store.header, self._header)
        return store

    def _check(self, stored: Header) -> None:
        """Raise if another process has changed the model since our last pass, which must not be undone."""
        sides = (stored.image_fingerprint, stored.text_fingerprint)
        if self._followed and sides != (self._header.image_fingerprint, self._header.text_fingerprint):
            raise OtherModelError(
                f"collection {shown(self._address)} now has another model, {stored.model}; start again "
                "without naming a model to use it"
            )
        check_image_side(shown(self._address), stored, self._header)

    def _follow_model(self, store: Store) -> None:
        """Store the header of a new text side, after which all captions are encoded again, or a new path of the model.

        Captions stay valid if the models differ only by added languages.
        """
        stored, header = store.header, self._header
        if stored.text_fingerprint != header.text_fingerprint and same_captions(
            stored.text_fingerprint, header.text_fingerprint
        ):
            store.replace_header(header)
        elif stored.text_fingerprint != header.text_fingerprint:
            # Until all are done, captions of two text sides are mixed: no model may search them.
            store.replace_header(header.model_copy(update={"text_fingerprint": ""}))
            captioned = [row.id for row in store.files() if row.caption is not None]
            for start in range(0, len(captioned), self._batch_size):
                items = store.items(captioned[start : start + self._batch_size])
                store.upsert(
                    self._captions.encode([(item, item.info.caption, item.info.lang) for item in items])
                )
            store.replace_header(header)
        elif not is_server(self._address) and not from_reference(stored.model).is_dir():
            # On a server the path may be valid on other machines.
            store.replace_header(header)
        self._followed = True

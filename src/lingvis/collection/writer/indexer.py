"""The job of bringing a collection up to date with folders of pictures."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lingvis.collection.binding import PictureSide, check, describe
from lingvis.collection.rebuilds import same_captions
from lingvis.collection.stores.contract import Header, Known, Store
from lingvis.collection.stores.open import create_store, open_store, shown, store_exists
from lingvis.collection.stores.postgres.address import is_postgres
from lingvis.collection.writer.captions import NoteReader
from lingvis.collection.writer.fill import Filling
from lingvis.collection.writer.plan import Plan, make_plan
from lingvis.collection.writer.scan import Found, is_below, is_gone, walk
from lingvis.collection.writer.workers import Here, Workers
from lingvis.errors import UserError
from lingvis.model.embedder import Embedder
from lingvis.progress import ProgressBar

# Workers for a collection with this header, on this kind of device.
Spread = Callable[[Header, str | None], Workers]

BATCH = 64
BATCHES_BETWEEN_CARE = 50
# Between two passes: at least so many seconds, and so many times as long as it takes to see what has changed.
REST, REST_SHARE = 5.0, 10
EMPTY = (
    "it is empty, so nothing below it was dropped; mount its disk, or put any file into it if the pictures are gone "
    "for good"
)


class OtherModelError(UserError):
    """Somebody else has given the collection another model since we began."""


@dataclass(slots=True)
class IndexReport:
    """What a pass over the folders did; broken and unreadable: path -> reason; pictures: in the collection now.

    What is unreadable may be all right another time; what is broken is left out until it changes.
    """

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    pruned: int = 0
    pictures: int = 0
    broken: dict[str, str] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)


def index_folders(
    collection: str | Path,
    folders: Sequence[Path],
    *,
    model: Path | None = None,
    prune: bool = False,
    rebuild: bool = False,
    device: str | None = None,
    batch_size: int = BATCH,
    spread: Spread | None = None,
) -> IndexReport:
    """Add new pictures, update changed ones, with `prune` drop those that are gone; stoppable at any moment.

    model: for a new collection, or one with the same image side whose text side is to be used from now on.
    rebuild: forget all that is stored and embed it again, which another image side needs.
    spread: makes the workers that read and embed, on a cluster for instance; this process alone stores.
    """
    indexer = Indexer(
        str(collection), model=model, rebuild=rebuild, device=device, batch_size=batch_size, spread=spread
    )
    return indexer.run(folders, prune=prune)


def watch_folders(
    indexer: Indexer, folders: Sequence[Path], *, prune: bool, tell: Callable[[IndexReport], None]
) -> None:
    """Look at the folders again and again, until Ctrl-C; `tell` hears of every pass that changed something.

    After the first pass, what goes wrong is told on stderr, once, and may go well at the next look.
    """
    first, said, troubles = True, "", dict[str, str]()
    while True:
        try:
            report = indexer.run(folders, prune=prune)
        except (UserError, OSError) as error:
            if first or isinstance(error, OtherModelError):
                raise
            if str(error) != said:
                said = str(error)
                print(f"lingvis: {said} (going on)", file=sys.stderr, flush=True)
        else:
            found = report.broken | report.unreadable
            news = report.added or report.updated or report.pruned or found.items() - troubles.items()
            if first or news:
                tell(report)
            first, said, troubles = False, "", found
        time.sleep(max(REST, REST_SHARE * indexer.seconds_to_look))


class Indexer:
    """A collection and its model, ready for passes over folders; nothing is made or emptied before the first."""

    def __init__(
        self,
        collection: str,
        *,
        model: Path | None = None,
        rebuild: bool = False,
        device: str | None = None,
        batch_size: int = BATCH,
        spread: Spread | None = None,
    ) -> None:
        if batch_size < 1:
            raise UserError(f"batch size {batch_size} is too small; use at least 1")
        self._address, self._rebuild = collection, rebuild
        embedder, self._header = _load_model(collection, model, device if spread is None else "cpu")
        self._store = open_store(collection) if not rebuild and store_exists(collection) else None
        if self._store is not None:
            check(shown(collection), self._store.header, self._header)
        self._workers: Workers = (
            Here(PictureSide(embedder)) if spread is None else spread(self._header, device)
        )
        self._notes = NoteReader(embedder)
        self._batch_size = batch_size
        self.seconds_to_look = 0.0  # of the last pass, before it had anything to store
        self._unusable: dict[str, Found] = {}  # broken, and not to be tried again before they change
        self._followed = False  # whether the collection has taken over our model
        self._settled = False  # whether the last pass with something to do came to its end

    def run(self, folders: Sequence[Path], *, prune: bool = False) -> IndexReport:
        """One pass; what it has stored is durable batch by batch."""
        began = time.monotonic()
        found = walk(folders)  # first of all: a mistake in the folders must cost nothing
        store = self._store = self._store or self._made()
        known = {row.path: row for row in store.known()}
        self._check(store.header)
        plan = make_plan(found, known, self._notes, unusable=self._unusable, prune=prune)
        self.seconds_to_look = time.monotonic() - began
        report = IndexReport(unchanged=plan.unchanged, unreadable=found.unreadable)
        if prune:
            report.unreadable |= {
                root: EMPTY for root in found.empty if any(is_below(path, [root]) for path in known)
            }
        if not (plan.empty and self._settled):  # else nobody has to wait for us
            self._settled = False
            with store.writing():
                self._check(store.header)
                self._follow_model(store)
                self._fill(store, plan, known, report)
                gone = [row.id for row in plan.gone if is_gone(row.path)]
                store.delete(gone)
                report.pruned = len(gone)
                store.maintain()
            self._settled = True
        report.pictures = store.count()
        return report

    def _fill(self, store: Store, plan: Plan, known: dict[str, Known], report: IndexReport) -> None:
        """Store what is new, and note what became of it."""
        filling = Filling(store, self._workers, self._notes, batch_size=self._batch_size)
        with ProgressBar("index", len(plan.noted) + len(plan.todo)) as bar:
            for number, done in enumerate(filling.run(plan, known), start=1):
                report.added += sum(item.entry.path not in known for item in done.items)
                report.updated += sum(item.entry.path in known for item in done.items)
                report.broken |= {file.path: reason for file, reason in done.broken.items()}
                report.unreadable |= {file.path: reason for file, reason in done.unread.items()}
                self._unusable |= {file.path: file for file in done.broken}
                if number % BATCHES_BETWEEN_CARE == 0:
                    store.maintain()
                bar.advance(len(done.items) + len(done.broken) + len(done.unread))

    def _made(self) -> Store:
        """The collection, made or emptied; of two first runs at once one makes it, and the other opens it."""
        store = create_store(self._address, self._header, replace=self._rebuild)
        check(shown(self._address), store.header, self._header)
        return store

    def _check(self, stored: Header) -> None:
        """Another process may have changed the model since our last pass: that is not for us to undo."""
        sides = (stored.image_fingerprint, stored.text_fingerprint)
        if self._followed and sides != (self._header.image_fingerprint, self._header.text_fingerprint):
            raise OtherModelError(
                f"collection {shown(self._address)} is filled by another model now, {stored.model}; start again without "
                "--model to go on with that"
            )
        check(shown(self._address), stored, self._header)

    def _follow_model(self, store: Store) -> None:
        """Take over a new text side, after which all captions are embedded again, or the new place of a model.

        A model with a language more or less reads all other captions as they were read.
        """
        stored, ours = store.header, self._header
        if stored.text_fingerprint != ours.text_fingerprint and same_captions(
            stored.text_fingerprint, ours.text_fingerprint
        ):
            store.replace_header(ours)
        elif stored.text_fingerprint != ours.text_fingerprint:
            # Until all are done, captions of two text sides lie side by side: no model may search them.
            store.replace_header(ours.model_copy(update={"text_fingerprint": ""}))
            noted = [row.id for row in store.known() if row.note is not None]
            for start in range(0, len(noted), self._batch_size):
                items = store.items(noted[start : start + self._batch_size])
                store.upsert(self._notes.embed([(item, item.entry.note, item.entry.lang) for item in items]))
            store.replace_header(ours)
        elif not is_postgres(self._address) and not Path(stored.model).is_dir():
            # On a server the path may be right for other machines.
            store.replace_header(ours)
        self._followed = True


def _load_model(collection: str, model: Path | None, device: str | None) -> tuple[Embedder, Header]:
    if model is None and not store_exists(collection):
        raise UserError(
            f"collection {shown(collection)} is new; say which model shall fill it with --model RUN"
        )
    run = model or Path(open_store(collection).header.model)
    embedder = Embedder.load(run, device=device)
    return embedder, describe(embedder, run)

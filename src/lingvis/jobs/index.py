"""The job of bringing a collection up to date with folders of pictures."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lingvis.embedder import Embedder
from lingvis.errors import UserError
from lingvis.features.pictures import BrokenPicture
from lingvis.index.contract import Header, Item, Known, Store
from lingvis.index.entries import moved_item, new_item
from lingvis.index.model import PictureSide, check, describe
from lingvis.index.notes import NoteReader
from lingvis.index.pictures import Same
from lingvis.index.stores import create_store, open_store, shown, store_exists
from lingvis.index.walk import Found, walk
from lingvis.index.workers import Embedded, Here, Outcome, Workers
from lingvis.progress import ProgressBar
from lingvis.scale.cluster import Cluster
from lingvis.scale.indexing import ClusterWorkers

BATCH = 64
BATCHES_BETWEEN_CARE = 50
SECONDS_BETWEEN_LOOKS = 5.0


@dataclass(slots=True)
class IndexReport:
    """What a pass over the folders did; broken and unreadable: path -> reason; pictures: in the collection now."""

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
    cluster: Cluster | None = None,
) -> IndexReport:
    """Add new pictures, update changed ones, with `prune` drop those that are gone; stoppable at any moment.

    model: for a new collection, or one with the same image side whose text side is to be used from now on.
    rebuild: forget all that is stored and embed it again, which another image side needs.
    cluster: whose machines read and embed; this process alone stores.
    """
    indexer = Indexer(
        str(collection), model=model, rebuild=rebuild, device=device, batch_size=batch_size, cluster=cluster
    )
    return indexer.run(folders, prune=prune)


def watch_folders(
    indexer: Indexer, folders: Sequence[Path], *, prune: bool, tell: Callable[[IndexReport], None]
) -> None:
    """Look at the folders again and again, until Ctrl-C; `tell` hears of every pass that changed something."""
    first = True
    while True:
        report = indexer.run(folders, prune=prune)
        if first or report.added or report.updated or report.pruned or report.broken:
            tell(report)
        first = False
        time.sleep(SECONDS_BETWEEN_LOOKS)


class Indexer:
    """A collection and its model, ready for passes over folders."""

    def __init__(
        self,
        collection: str,
        *,
        model: Path | None = None,
        rebuild: bool = False,
        device: str | None = None,
        batch_size: int = BATCH,
        cluster: Cluster | None = None,
    ) -> None:
        if batch_size < 1:
            raise UserError(f"batch size {batch_size} is too small; use at least 1")
        embedder, self._header = _load_model(collection, model, device if cluster is None else "cpu")
        self._workers: Workers = (
            Here(PictureSide(embedder)) if cluster is None else ClusterWorkers(cluster, self._header, device)
        )
        self._store = _open(collection, self._header, rebuild=rebuild)
        self._notes = NoteReader(embedder)
        self._batch_size = batch_size
        self._unusable: dict[str, Found] = {}  # broken, and not to be tried again before they change

    def run(self, folders: Sequence[Path], *, prune: bool = False) -> IndexReport:
        """One pass; what it has stored is durable batch by batch."""
        found = walk(folders)
        with self._store.writing():
            known = {row.path: row for row in self._store.known()}
            self._follow_model([row.id for row in known.values() if row.note is not None])
            report = IndexReport(unreadable=found.unreadable)
            noted, todo = [], []
            for file in found.files.values():
                row = known.get(file.path)
                if row is None or _stamp(row) != _stamp(file):
                    if self._unusable.get(file.path) != file:
                        todo.append(file)
                elif row.note != self._notes.read(file)[0]:
                    noted.append((file, Same(row.hash)))
                else:
                    report.unchanged += 1
            self._update(noted, todo, known, report)
            if prune:
                gone = [
                    row.id for path, row in known.items() if path not in found.files and found.covers(path)
                ]
                self._store.delete(gone)
                report.pruned = len(gone)
            self._store.maintain()
            report.pictures = self._store.count()
        return report

    def _update(
        self,
        noted: Sequence[tuple[Found, Outcome]],
        todo: Sequence[Found],
        known: Mapping[str, Known],
        report: IndexReport,
    ) -> None:
        """Store the files whose note alone is new, then read, embed and store the others, batch by batch."""
        hashes = {row.hash: row.id for row in known.values()}
        again: list[Found] = []  # content that was known, but whose row has changed or gone since
        with ProgressBar("index", len(noted) + len(todo)) as bar:
            for number, batch in enumerate(self._batches(noted, todo, hashes, again), start=1):
                items, broken, missed = self._items(batch, hashes)
                self._store.upsert(items)
                self._store.delete([known[path].id for path in broken if path in known])
                again += missed
                hashes |= {item.entry.hash: item.entry.id for item in items}
                report.added += sum(item.entry.path not in known for item in items)
                report.updated += sum(item.entry.path in known for item in items)
                report.broken |= {path: str(reason) for path, reason in broken.items()}
                self._unusable |= {file.path: file for file, _ in batch if file.path in broken}
                if number % BATCHES_BETWEEN_CARE == 0:
                    self._store.maintain()
                bar.advance(len(batch) - len(missed))

    def _batches(
        self,
        noted: Sequence[tuple[Found, Outcome]],
        todo: Sequence[Found],
        hashes: Mapping[str, str],
        again: Sequence[Found],
    ) -> Iterator[Sequence[tuple[Found, Outcome]]]:
        """Files with what became of them; `again` fills up while the others are stored, and comes last."""
        size = self._batch_size
        for start in range(0, len(noted), size):
            yield noted[start : start + size]
        yield from self._workers.batches(todo, batch_size=size, seen=hashes)
        yield from self._workers.batches(again, batch_size=size, seen=())

    def _items(
        self, batch: Sequence[tuple[Found, Outcome]], hashes: Mapping[str, str]
    ) -> tuple[list[Item], dict[str, BrokenPicture], list[Found]]:
        """Rows of a batch, what is broken in it, and what has to be embedded after all.

        Content seen before takes over what is stored of it, whether or not the worker knew of it in time.
        """
        hashed = [(file, result, _hash(result)) for file, result in batch]
        wanted = {hashes[digest] for _, _, digest in hashed if digest in hashes}
        stored = {item.entry.hash: item for item in self._store.items(sorted(wanted))}
        items: list[Item] = []
        broken: dict[str, BrokenPicture] = {}
        missed: list[Found] = []
        for file, result, digest in hashed:
            if isinstance(result, BrokenPicture):
                broken[file.path] = result
            elif digest in stored:
                items.append(moved_item(stored[digest], file))
            elif isinstance(result, Embedded):
                items.append(new_item(file, result))
            else:
                missed.append(file)
        files = {file.path: file for file, _ in batch}
        noted = [(item, *self._notes.read(files[item.entry.path])) for item in items]
        return self._notes.embed(noted), broken, missed

    def _follow_model(self, noted: Sequence[str]) -> None:
        """Remember the model; where its text side is new, the captions are embedded again first."""
        if self._store.header == self._header:
            return
        if self._store.header.text_fingerprint != self._header.text_fingerprint:
            # Until all are done, captions of two text sides lie side by side: no model may search them.
            self._store.replace_header(self._header.model_copy(update={"text_fingerprint": ""}))
            for start in range(0, len(noted), self._batch_size):
                items = self._store.items(noted[start : start + self._batch_size])
                self._store.upsert(
                    self._notes.embed([(item, item.entry.note, item.entry.lang) for item in items])
                )
        self._store.replace_header(self._header)


def _load_model(collection: str, model: Path | None, device: str | None) -> tuple[Embedder, Header]:
    if model is None and not store_exists(collection):
        raise UserError(
            f"collection {shown(collection)} is new; say which model shall fill it with --model RUN"
        )
    run = model or Path(open_store(collection).header.model)
    embedder = Embedder.load(run, device=device)
    return embedder, describe(embedder, run)


def _open(collection: str, header: Header, *, rebuild: bool) -> Store:
    # Of two first runs at the same time one makes the collection, and the other opens it.
    new = rebuild or not store_exists(collection)
    store = create_store(collection, header, replace=rebuild) if new else open_store(collection)
    check(shown(collection), store.header, header)
    return store


def _stamp(file: Found | Known) -> tuple[int, int]:
    return file.size, file.mtime_ns


def _hash(result: Outcome) -> str:
    if isinstance(result, BrokenPicture):
        return ""
    return result.hash if isinstance(result, Same) else result.facts.hash

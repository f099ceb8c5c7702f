"""The job of bringing a collection up to date with folders of pictures."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from lingvis.embedder import Embedder
from lingvis.errors import UserError
from lingvis.features.pictures import BrokenPicture
from lingvis.index.contract import Entry, Header, Item, Known, Store
from lingvis.index.model import PictureSide, check, describe
from lingvis.index.notes import NoteReader
from lingvis.index.pictures import Picture, Same, ahead, read_picture
from lingvis.index.stores import create_store, open_store, store_exists
from lingvis.index.walk import Found, walk
from lingvis.progress import ProgressBar

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
) -> IndexReport:
    """Add new pictures, update changed ones, with `prune` drop those that are gone; stoppable at any moment.

    model: for a new collection, or one with the same image side whose text side is to be used from now on.
    rebuild: forget all that is stored and embed it again, which another image side needs.
    """
    indexer = Indexer(str(collection), model=model, rebuild=rebuild, device=device, batch_size=batch_size)
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
    ) -> None:
        if batch_size < 1:
            raise UserError(f"batch size {batch_size} is too small; use at least 1")
        embedder, self._header = _load_model(collection, model, device)
        self._store = _open(collection, self._header, rebuild=rebuild)
        self._side, self._notes = PictureSide(embedder), NoteReader(embedder)
        self._batch_size = batch_size
        self._unusable: dict[str, Found] = {}  # broken, and not to be tried again before they change

    def run(self, folders: Sequence[Path], *, prune: bool = False) -> IndexReport:
        """One pass; what it has stored is durable batch by batch."""
        found = walk(folders)
        with self._store.writing():
            known = {row.path: row for row in self._store.known()}
            self._follow_model([row.id for row in known.values() if row.note is not None])
            report = IndexReport(unreadable=found.unreadable)
            todo = []
            for file in found.files.values():
                row = known.get(file.path)
                if row is None or _stamp(row) != _stamp(file) or row.note != self._notes.read(file)[0]:
                    if self._unusable.get(file.path) != file:
                        todo.append(file)
                else:
                    report.unchanged += 1
            self._update(todo, known, report)
            if prune:
                gone = [
                    row.id for path, row in known.items() if path not in found.files and found.covers(path)
                ]
                self._store.delete(gone)
                report.pruned = len(gone)
            self._store.maintain()
            report.pictures = self._store.count()
        return report

    def _update(self, todo: Sequence[Found], known: Mapping[str, Known], report: IndexReport) -> None:
        """Read, embed and store the files, batch by batch."""
        hashes = {row.hash: row.id for row in known.values()}

        def look(file: Found) -> Picture | Same | BrokenPicture:
            row = known.get(file.path)
            if row is not None and _stamp(row) == _stamp(file):  # only its note is new
                return Same(row.hash)
            return read_picture(file, self._side.preprocessing, hashes.__contains__)

        with ProgressBar("index", len(todo)) as bar:
            for number, batch in enumerate(ahead(look, todo, batch_size=self._batch_size), start=1):
                items, broken = self._items(batch, hashes)
                self._store.upsert(items)
                self._store.delete([known[path].id for path in broken if path in known])
                hashes |= {item.entry.hash: item.entry.id for item in items}
                report.added += sum(item.entry.path not in known for item in items)
                report.updated += sum(item.entry.path in known for item in items)
                report.broken |= {path: str(reason) for path, reason in broken.items()}
                self._unusable |= {file.path: file for file, _ in batch if file.path in broken}
                if number % BATCHES_BETWEEN_CARE == 0:
                    self._store.maintain()
                bar.advance(len(batch))

    def _items(
        self, batch: Sequence[tuple[Found, Picture | Same | BrokenPicture]], hashes: Mapping[str, str]
    ) -> tuple[list[Item], dict[str, BrokenPicture]]:
        """Rows of a batch, and what is broken in it; content seen before takes over what is stored of it."""
        wanted = {hashes[result.hash] for _, result in batch if isinstance(result, Same)}
        stored = {item.entry.hash: item for item in self._store.items(sorted(wanted))}
        fresh: list[tuple[Found, Picture]] = []
        items: list[Item] = []
        broken: dict[str, BrokenPicture] = {}
        for file, result in batch:
            if isinstance(result, Same) and result.hash in stored:
                items.append(_moved(stored[result.hash], file))
                continue
            if isinstance(result, Same):  # its source has changed or gone since it was looked up
                result = read_picture(file, self._side.preprocessing, lambda _: False)
            if isinstance(result, Picture):
                fresh.append((file, result))
            elif isinstance(result, BrokenPicture):
                broken[file.path] = result
        embeddings = self._side([picture.decoded for _, picture in fresh])
        items += [
            Item(_entry(file, picture), embedding, picture.thumbnail)
            for (file, picture), embedding in zip(fresh, embeddings, strict=True)
        ]
        files = {file.path: file for file, _ in batch}
        return self._notes.embed(
            [(item, *self._notes.read(files[item.entry.path])) for item in items]
        ), broken

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
        raise UserError(f"collection {collection} is new; say which model shall fill it with --model RUN")
    run = model or Path(open_store(collection).header.model)
    embedder = Embedder.load(run, device=device)
    return embedder, describe(embedder, run)


def _open(collection: str, header: Header, *, rebuild: bool) -> Store:
    if rebuild or not store_exists(collection):
        return create_store(collection, header)
    store = open_store(collection)
    check(collection, store.header, header)
    return store


def _stamp(file: Found | Known) -> tuple[int, int]:
    return file.size, file.mtime_ns


def _id(path: str) -> str:
    return hashlib.blake2b(path.encode(), digest_size=16).hexdigest()


def _entry(file: Found, picture: Picture) -> Entry:
    return Entry(
        id=_id(file.path),
        path=file.path,
        hash=picture.hash,
        size=file.size,
        mtime_ns=file.mtime_ns,
        width=picture.width,
        height=picture.height,
        format=picture.format,
        date=picture.date,
    )


def _moved(item: Item, file: Found) -> Item:
    """What is stored of one file, for another with the same content."""
    entry = replace(item.entry, id=_id(file.path), path=file.path, size=file.size, mtime_ns=file.mtime_ns)
    return replace(item, entry=entry)

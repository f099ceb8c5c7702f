"""Files -> rows of a collection, batch by batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from lingvis.collection.stores.contract import Item, Known, Store
from lingvis.collection.writer.captions import NoteReader
from lingvis.collection.writer.items import moved_item, new_item
from lingvis.collection.writer.pictures import Same, UnreadPicture
from lingvis.collection.writer.plan import Plan
from lingvis.collection.writer.scan import Found
from lingvis.collection.writer.workers import Embedded, Outcome, Workers
from lingvis.features.pictures import BrokenPicture


@dataclass(slots=True)
class Stored:
    """What became of a batch: rows that are stored now, files that are broken or could not be read, with reasons.

    missed: their content was known, but its row has changed or gone since; they come again in a later batch.
    """

    items: list[Item] = field(default_factory=list)
    broken: dict[Found, str] = field(default_factory=dict)
    unread: dict[Found, str] = field(default_factory=dict)
    missed: list[Found] = field(default_factory=list)


class Filling:
    """A store, and those who read and embed for it."""

    def __init__(self, store: Store, workers: Workers, notes: NoteReader, *, batch_size: int) -> None:
        self._store, self._workers, self._notes, self._batch_size = store, workers, notes, batch_size

    def run(self, plan: Plan, known: Mapping[str, Known]) -> Iterator[Stored]:
        """Store the files whose caption alone is new, then read, embed and store the others."""
        hashes = {row.hash: row.id for row in known.values()}
        again: list[Found] = []
        for batch in self._batches(plan, hashes, again):
            stored = self._rows(batch, hashes)
            self._store.upsert(stored.items)
            # What is stored of a file that broke is no longer true; of one that could not be read it may be.
            self._store.delete([known[file.path].id for file in stored.broken if file.path in known])
            hashes |= {item.entry.hash: item.entry.id for item in stored.items}
            again += stored.missed
            yield stored

    def _batches(
        self, plan: Plan, hashes: Mapping[str, str], again: Sequence[Found]
    ) -> Iterator[Sequence[tuple[Found, Outcome]]]:
        """Files with what became of them; `again` fills up while the others are stored, and comes last."""
        size = self._batch_size
        for start in range(0, len(plan.noted), size):
            yield [(file, Same(row.hash)) for file, row in plan.noted[start : start + size]]
        yield from self._workers.batches(plan.todo, batch_size=size, seen=hashes)
        yield from self._workers.batches(again, batch_size=size, seen=())

    def _rows(self, batch: Sequence[tuple[Found, Outcome]], hashes: Mapping[str, str]) -> Stored:
        """Content seen before takes over what is stored of it, whether or not the worker knew of it in time."""
        wanted = {hashes[digest] for _, result in batch if (digest := _hash(result)) in hashes}
        stored = {item.entry.hash: item for item in self._store.items(sorted(wanted))}
        made = Stored()
        noted: list[tuple[Item, str | None, str | None]] = []
        for file, result in batch:
            if isinstance(result, UnreadPicture):
                made.unread[file] = str(result)
            elif isinstance(result, BrokenPicture):
                made.broken[file] = str(result)
            elif isinstance(result, Same) and result.hash not in stored:
                made.missed.append(file)
            else:
                try:
                    noted.append((_item(file, result, stored), *self._notes.read(file)))
                except Exception as error:  # whatever is odd about one file, the others go on
                    made.broken[file] = str(error) or type(error).__name__
        made.items = self._notes.embed(noted)
        return made


def _item(file: Found, result: Embedded | Same, stored: Mapping[str, Item]) -> Item:
    if (known := stored.get(_hash(result))) is not None:
        return moved_item(known, file)
    assert isinstance(result, Embedded)
    return new_item(file, result)


def _hash(result: Outcome) -> str:
    if isinstance(result, BrokenPicture):
        return ""
    return result.hash if isinstance(result, Same) else result.facts.hash

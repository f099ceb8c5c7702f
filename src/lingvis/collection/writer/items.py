"""Rows of pictures: of new contents, and of contents that are stored under another path."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import datetime

from lingvis.collection.stores.contract import Entry, Item
from lingvis.collection.writer.scan import Found
from lingvis.collection.writer.workers import Embedded


def new_item(file: Found, made: Embedded) -> Item:
    """The row of a file that was embedded; its date is when it was taken, else when the file was changed."""
    facts = made.facts
    entry = Entry(
        id=_id(file.path),
        path=file.path,
        hash=facts.hash,
        size=file.size,
        mtime_ns=file.mtime_ns,
        width=facts.width,
        height=facts.height,
        format=facts.format,
        date=facts.taken or datetime.fromtimestamp(file.mtime_ns // 10**9),
    )
    return Item(entry, made.embedding, facts.thumbnail)


def moved_item(item: Item, file: Found) -> Item:
    """What is stored of one file, for another with the same content."""
    entry = replace(item.entry, id=_id(file.path), path=file.path, size=file.size, mtime_ns=file.mtime_ns)
    return replace(item, entry=entry)


def _id(path: str) -> str:
    return hashlib.blake2b(path.encode(), digest_size=16).hexdigest()

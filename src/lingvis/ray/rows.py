"""Rows that a worker writes itself, so that only their hashes and the names of their files are sent."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lingvis.collection.stores.contract import RowWriter
from lingvis.collection.stores.records import Item
from lingvis.collection.writer.found import ScannedFile
from lingvis.collection.writer.items import new_item
from lingvis.collection.writer.pictures import WrittenPicture
from lingvis.collection.writer.workers import EncodedPicture, Outcome
from lingvis.errors import UserError


def write_rows(
    files: Sequence[ScannedFile], outcomes: Sequence[Outcome], allowed: Sequence[bool], writer: RowWriter
) -> list[Outcome]:
    """Write the rows of the allowed pictures, and return the outcomes without these.

    Where the writer does not reach the collection, for instance because its folder is on another machine, they stay.
    """
    items: dict[int, Item] = {}
    for number, (file, outcome, may) in enumerate(zip(files, outcomes, allowed, strict=True)):
        if may and isinstance(outcome, EncodedPicture) and np.isfinite(outcome.embedding).all():
            try:
                items[number] = new_item(file, outcome)
            except Exception:  # the one writer reports it
                continue
    if not items:
        return list(outcomes)
    try:
        names = tuple(writer(list(items.values())))
    except (UserError, OSError):
        return list(outcomes)
    return [
        WrittenPicture(items[number].info.hash, names) if number in items else outcome
        for number, outcome in enumerate(outcomes)
    ]

"""Rows of contents that are stored under another path."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import numpy as np

from lingvis.collection.stores.records import Item
from lingvis.collection.writer.found import ScannedFile
from lingvis.collection.writer.items import moved_item

from .rows import make_item

SECOND = 10**9


def moved(item: Item, mtime_ns: int) -> Item:
    return moved_item(item, ScannedFile("/photos/other.png", 77, mtime_ns))


def test_a_date_from_the_file_follows_the_file_and_one_from_the_camera_stays() -> None:
    item = make_item(1)
    info = replace(item.info, mtime_ns=50 * SECOND)
    from_file = replace(item, info=replace(info, date=datetime.fromtimestamp(50)))
    changed = moved(from_file, 90 * SECOND)
    assert changed.info.date == datetime.fromtimestamp(90) and changed.info.mtime_ns == 90 * SECOND
    assert (changed.info.path, changed.info.size) == ("/photos/other.png", 77)
    np.testing.assert_array_equal(changed.embedding, item.embedding)
    taken = datetime(2001, 2, 3, 4, 5, 6)
    assert moved(replace(item, info=replace(info, date=taken)), 90 * SECOND).info.date == taken

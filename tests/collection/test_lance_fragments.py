"""Rows that another process wrote into the folder of a table on LanceDB: added once, whole, and found by every index."""

from __future__ import annotations

import json
import os
import time
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

from lingvis.collection.stores.contract import SharedStore
from lingvis.collection.stores.lance import store as lance
from lingvis.collection.stores.lance.store import LanceStore
from lingvis.collection.stores.records import Filter, Item
from lingvis.collection.writer.direct import find_direct, rows_version
from lingvis.collection.writer.found import ScannedFile
from lingvis.collection.writer.stored import StoredRows
from lingvis.errors import UserError

from .rows import HEADER, make_item

pytest.importorskip("lance")

ITEMS = [make_item(number) for number in range(60)]


@pytest.fixture
def store(tmp_path: Path) -> LanceStore:
    made = LanceStore.create(tmp_path / "c.lv", HEADER)
    with made.writing():
        made.upsert(ITEMS[:20])
    return made


def write(store: LanceStore, items: list[Item]) -> list[str]:
    writer = store.row_writer()
    assert writer is not None and isinstance(store, SharedStore)
    return writer(items)


def ids(store: LanceStore) -> list[str]:
    return sorted(row.id for row in store.files())


def test_rows_are_seen_when_they_are_added_and_equal_stored_ones(store: LanceStore) -> None:
    names = write(store, ITEMS[20:40]) + write(store, ITEMS[40:])
    assert LanceStore(store.folder).count() == store.count() == 20
    with store.writing():
        store.append(names, rows=40)
        assert LanceStore(store.folder).count() == 60
    other = LanceStore.create(store.folder.with_name("other.lv"), HEADER)
    with other.writing():
        other.upsert(ITEMS)
    assert ids(store) == ids(other) == sorted(item.info.id for item in ITEMS)
    for one, two in zip(
        *(sorted(s.items(ids(s)), key=lambda i: i.info.id) for s in (store, other)), strict=True
    ):
        assert one.info == two.info and one.thumbnail == two.thumbnail
        np.testing.assert_array_equal(one.embedding, two.embedding)
        assert (one.caption_embedding is None) == (two.caption_embedding is None)


def test_added_rows_are_replaced_and_deleted_like_others(store: LanceStore) -> None:
    with store.writing():
        store.append(write(store, ITEMS[20:40]), rows=20)
        store.upsert([make_item(25, seed=3), make_item(50)])
        store.delete([ITEMS[30].info.id])
    assert len(ids(store)) == len(set(ids(store))) == 40
    (item,) = store.items([ITEMS[25].info.id])
    np.testing.assert_allclose(item.embedding, make_item(25, seed=3).embedding, atol=1e-3)


def test_indexes_find_added_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"PARTITION": 20, "PROBED": 0, "PROBED_LEAST": 5, "LOOKED_UP": 100}.items():
        monkeypatch.setattr(lance, name, value)
    store = LanceStore.create(tmp_path / "c.lv", HEADER, exact_values=0)
    made = [make_item(number, seed=9) for number in range(320)]
    with store.writing():
        store.upsert(made[:300])
        store.maintain()
        indexes = {index.name for index in store._table.list_indices()}
        assert indexes >= {"embedding_15", "id"}
        store.append(write(store, made[300:]), rows=20)
        assert {index.name for index in store._table.list_indices()} == indexes
        for maintained in (False, True):
            if maintained:
                monkeypatch.setattr(lance, "UNINDEXED", 0)
                store.maintain()
            found = store.items([item.info.id for item in made[290:]])
            assert {item.info.id for item in found} == {item.info.id for item in made[290:]}
            for item in made[295:]:
                (hits,) = store.search(item.embedding[None], k=1, where=Filter())
                assert hits[0].id == item.info.id
            assert store.count() == 320


def test_files_that_are_not_whole_add_nothing(store: LanceStore) -> None:
    (name,) = write(store, ITEMS[20:40])
    (file,) = json.loads(name)["files"]
    path = store.folder / f"{store._name}.lance" / "data" / file["path"]
    content = path.read_bytes()
    for damage in (lambda: path.write_bytes(content[:-1]), path.unlink):
        damage()
        with (
            store.writing(),
            pytest.raises(UserError, match="not whole on this machine; every machine must see"),
        ):
            store.append([name], rows=20)
    path.write_bytes(content)
    with store.writing(), pytest.raises(UserError, match="other rows than these reported"):
        store.append([name], rows=19)
    assert store.count() == 20


def test_an_added_version_that_was_not_flushed_is_dropped(store: LanceStore) -> None:
    names = write(store, ITEMS[20:40])
    with store.writing(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "_sync", lambda: None)  # a kill before the flush
        store.append(names, rows=20)
    again = LanceStore(store.folder)
    assert again.count() == 20
    with again.writing():
        assert len(ids(again)) == 20
        again.append(write(again, ITEMS[20:40]), rows=20)
    assert len(set(ids(again))) == len(ids(again)) == 40


def test_files_that_nobody_adds_are_removed_a_week_later(store: LanceStore) -> None:
    data = store.folder / f"{store._name}.lance" / "data"
    before = set(data.iterdir())
    write(store, ITEMS[20:40])
    (orphan,) = set(data.iterdir()) - before
    with store.writing():
        store._tidy(timedelta(milliseconds=1))
        assert orphan.exists(), "it may still be added"
        week_ago = time.time() - 8 * 86400
        os.utime(orphan, (week_ago, week_ago))
        store._tidy(timedelta(milliseconds=1))
    assert not orphan.exists() and len(ids(store)) == 20


def test_the_folder_of_another_table_is_not_written_to(store: LanceStore) -> None:
    writer = store.row_writer()
    assert writer is not None
    LanceStore.create(
        store.folder, HEADER
    )  # rebuilt, or another collection at the same path on another machine
    with pytest.raises(UserError, match="rows cannot be written to"):
        writer(ITEMS[20:])


def test_unfinished_files_of_others_are_not_flushed(store: LanceStore) -> None:
    data = store.folder / f"{store._name}.lance" / "data"
    (data / ".tmpAbc").symlink_to("nowhere")  # cannot be opened
    with store.writing():
        store.upsert(ITEMS[20:])
    assert store.count() == 60


def test_rows_that_another_process_stored_after_the_plan_are_known(store: LanceStore) -> None:
    version, stored = rows_version(store), StoredRows(store.files())
    file = ScannedFile(ITEMS[30].info.path, 1, 1)
    same = find_direct(store, stored, version)
    assert same is not None and same.stored is stored and same.allows(file)
    assert not same.allows(ScannedFile("/a.jpg", 1, 1, ("/a.txt",))) and not same.allows(
        ScannedFile("/a.mp4", 1, 1)
    )
    other = LanceStore(store.folder)
    with other.writing():
        other.upsert(ITEMS[30:31])
    with store.writing():
        direct = find_direct(store, stored, version)
    assert direct is not None and not direct.allows(file)
    assert direct.allows(ScannedFile("/new.jpg", 1, 1))

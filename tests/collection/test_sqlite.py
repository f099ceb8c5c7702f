"""The store on SQLite: one writer, readers beside it, kills, rebuilds, engines, folders without permission to write."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lingvis.collection.stores.contract import MovedError
from lingvis.collection.stores.lance.store import LanceStore
from lingvis.collection.stores.open import create_store, open_store
from lingvis.collection.stores.records import LATER_COLUMNS, Filter
from lingvis.collection.stores.sqlite import reading
from lingvis.collection.stores.sqlite.store import SqliteStore
from lingvis.errors import UserError

from .rows import HEADER, make_item
from .test_full_disk import can_mount

COUNT = 60
ITEMS = [make_item(number) for number in range(COUNT)]


@pytest.fixture
def store(tmp_path: Path) -> SqliteStore:
    made = SqliteStore.create(tmp_path / "c.lv", HEADER)
    with made.writing():
        made.upsert(ITEMS)
    return made


def database(folder: Path) -> Path:
    (file,) = folder.glob("items-*.db")
    return file


def test_only_one_process_may_write(store: SqliteStore) -> None:
    with (
        store.writing(),
        pytest.raises(UserError, match="another process is writing"),
        SqliteStore(store.folder).writing(),
    ):
        pass


def test_one_file_is_left_when_nobody_has_it_open(store: SqliteStore) -> None:
    with store.writing():
        store.maintain()
    store._state.pool.close()
    assert sorted(path.suffix for path in store.folder.iterdir()) == ["", ".db", ".json"]


def test_a_rebuild_drops_the_old_database(store: SqliteStore) -> None:
    create_store(str(store.folder), HEADER)
    assert len(list(store.folder.glob("items-*.db"))) == 1
    assert store.count() == 0


def test_what_a_kill_left_of_a_new_collection_is_no_hindrance(store: SqliteStore) -> None:
    (store.folder / "collection.json").unlink()
    assert SqliteStore.create(store.folder, HEADER).count() == 0
    assert len(list(store.folder.glob("items-*.db"))) == 1


def test_damage_and_other_folders_get_a_sentence(store: SqliteStore, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no collection at .*nowhere; make one with: lingvis index"):
        SqliteStore(tmp_path / "nowhere")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("x")
    with pytest.raises(UserError, match="holds no collection; name a new folder"):
        SqliteStore.create(tmp_path / "full", HEADER)
    assert (tmp_path / "full" / "mine.txt").exists()
    file = store.folder / "collection.json"
    good = file.read_text()
    for old, bad in (
        (good, ""),
        (good, "[]"),
        (good, "{}"),
        ('"dim": 64', '"dim": -1'),
        ('"table"', '"chair"'),
        ('"sqlite"', '"x"'),
        ("items-", "other-"),
        ("items-", "items-../../items-"),
    ):
        file.write_text(good.replace(old, bad))
        with pytest.raises(UserError, match=r"collection\.json is damaged; restore the file"):
            open_store(str(store.folder))
    file.write_text(good.replace('"format": 1', '"format": 9'))
    with pytest.raises(UserError, match="collection format 9, this version reads 1"):
        SqliteStore(store.folder)
    file.write_text(good.replace("items-", "items-0"))
    with pytest.raises(
        UserError, match=r"c\.lv is damaged \(items-0.* is missing\); restore the folder from"
    ):
        SqliteStore(store.folder)


def test_files_out_of_reach_are_not_called_damaged(store: SqliteStore) -> None:
    store._state.pool.close()
    fresh = SqliteStore(store.folder)
    fresh._state.pool.close()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.open(os.devnull, os.O_RDONLY)  # the lowest number that is free
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, hard))
    try:
        with pytest.raises((UserError, OSError), match="Too many open files") as caught:
            list(fresh.files())
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert "delete" not in str(caught.value)
    assert len(list(fresh.files())) == COUNT


def test_a_database_of_an_earlier_version_gets_the_later_columns(store: SqliteStore) -> None:
    store._state.pool.close()
    with sqlite3.connect(database(store.folder)) as connection:
        for name in LATER_COLUMNS:
            connection.execute(f"ALTER TABLE pictures DROP COLUMN {name}")
    connection.close()
    old = SqliteStore(store.folder)
    assert old.info("0005") is not None and old.info("0005").camera is None  # type: ignore[union-attr]
    assert old.places(Filter(), step=1) == []
    (hits,) = old.search(ITEMS[5].embedding[None], k=1, where=Filter(area=(-90, -180, 90, 180)))
    assert hits == []
    with old.writing():
        old.upsert(ITEMS[5:6])
    assert old.info("0005") == SqliteStore(store.folder).info("0005") == ITEMS[5].info
    (hits,) = old.search(ITEMS[5].embedding[None], k=9, where=Filter(area=(-90, -180, 90, 180)))
    assert [hit.id for hit in hits] == ["0005"]


def test_engines_change_only_by_a_rebuild(store: SqliteStore) -> None:
    address = str(store.folder)
    with pytest.raises(
        UserError, match=r"is on engine sqlite, not lance; leave the engine out, or .*--rebuild"
    ):
        create_store(address, HEADER, engine="lance", replace=False)
    with pytest.raises(UserError, match="unknown engine 'x'; choose one of: lance, sqlite"):
        create_store(address, HEADER, engine="x")  # type: ignore[arg-type]
    with pytest.raises(UserError, match=r"is on a server, but engine sqlite keeps a collection in a folder"):
        create_store("postgresql://h/d", HEADER, engine="sqlite")
    assert open_store(address).count() == COUNT
    store.albums.add("Rome", ["h1"])
    moved = create_store(address, HEADER, engine="lance")
    assert isinstance(moved, LanceStore) and isinstance(open_store(address), LanceStore)
    assert sorted(path.suffix for path in store.folder.glob("items-*")) == [".lance"]
    with pytest.raises(MovedError, match="was rebuilt on another engine; open it again"):
        store.count()
    assert isinstance(create_store(address, HEADER), LanceStore)  # it keeps its engine
    assert isinstance(create_store(address, HEADER, engine="sqlite"), SqliteStore)
    assert sorted(path.suffix for path in store.folder.glob("items-*.*b")) == [".db"]
    assert moved.albums.counts() == {"Rome": 1}


def test_a_filter_is_remembered_until_a_row_changes(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = ITEMS[0].embedding[None]

    def found(size: int) -> set[str]:
        return {hit.id for hit in store.search(query, k=COUNT + 9, where=Filter(max_size=size))[0]}

    wanted = [{item.info.id for item in ITEMS if item.info.size <= 100 * size} for size in range(20)]
    assert [found(100 * size) for size in (*range(20), *range(20))] == wanted * 2
    assert len(store._state.passing._last[1]) == 8
    parsed: list[int] = []
    parse = np.fromstring

    def counted(*arguments: Any, **named: Any) -> Any:
        parsed.append(1)
        return parse(*arguments, **named)

    monkeypatch.setattr(np, "fromstring", counted)
    assert found(1900) == wanted[19] and not parsed
    with store.writing():
        store.delete([ITEMS[3].info.id])
        store.upsert([make_item(COUNT)])
    assert found(1900) == wanted[19] - {ITEMS[3].info.id} and len(parsed) == 1
    assert found(100 * COUNT) == {make_item(n).info.id for n in range(COUNT + 1) if n != 3}


def test_threads_read_while_one_writes(store: SqliteStore) -> None:
    """Each sees whole batches, and no search waits for the writer."""
    done = threading.Event()

    def read(number: int) -> set[int]:
        seen = set()
        while not done.is_set():
            seen.add(store.count())
            info = store.info("0003")
            assert info == ITEMS[3].info and store.thumbnail("0003") == ITEMS[3].thumbnail
            (hits,) = store.search(ITEMS[number].embedding[None], k=3, where=Filter())
            assert hits[0].id == ITEMS[number].info.id
        return seen

    with ThreadPoolExecutor(4) as pool:
        readers = [pool.submit(read, number) for number in (3, 6, 9, 12)]
        try:
            with store.writing():
                for start in range(100, 400, 20):
                    store.upsert([make_item(number) for number in range(start, start + 20)])
        finally:
            done.set()
        counts = set().union(*(reader.result() for reader in readers))
    assert counts <= set(range(COUNT, COUNT + 301, 20)) and len(counts) > 2
    assert store.count() == COUNT + 300


WRITER = """
import sys
from pathlib import Path
from tests.collection.rows import make_item
from lingvis.collection.stores.sqlite.store import SqliteStore
store = SqliteStore(Path(sys.argv[1]))
with store.writing():
    for start in range(100, 100_000, 10):
        store.upsert([make_item(number) for number in range(start, start + 10)])
        print(start + 10, flush=True)
"""


def test_a_kill_loses_nothing_that_was_stored(store: SqliteStore) -> None:
    for kill in range(3):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(store.folder)], stdout=subprocess.PIPE, text=True
        ) as writer:
            assert writer.stdout is not None
            told = [int(writer.stdout.readline()) for _ in range(3 + 4 * kill)]
            writer.send_signal(signal.SIGKILL)
            told += [int(line) for line in writer.stdout.read().splitlines()]
        rows = {row.id for row in store.files()}
        assert {f"{number:04x}" for number in range(100, max(told))} <= rows
        assert len(rows) % 10 == 0  # whole batches
        assert len(store.items(sorted(rows))) == len(rows)
    with store.writing():
        store.upsert([make_item(99)])
    assert SqliteStore(store.folder).info("0063") == make_item(99).info


# Runs in namespaces of its own, so that it may mount: a copy of the collection on a disk that cannot be written.
READ_ONLY = """
import shutil, subprocess, sys
from pathlib import Path
disk, source = map(Path, sys.argv[1:])
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=9m", "tmpfs", str(disk)], check=True)
shutil.copytree(source, disk / "c.lv")
subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
from lingvis.collection.stores.open import open_store
from lingvis.collection.stores.records import Filter
store = open_store(str(disk / "c.lv"))
print(store.count(), len(store.browse(k=5, where=Filter())), len(store.thumbnail("0003")))
try:
    with store.writing():
        pass
except OSError as error:
    print(error.strerror)
"""


@pytest.mark.skipif(not can_mount(), reason="no file system of our own may be mounted here")
@pytest.mark.parametrize("state", ["closed", "open", "log alone"])
def test_a_disk_that_cannot_be_written_is_read(store: SqliteStore, tmp_path: Path, state: str) -> None:
    (tmp_path / "disk").mkdir()
    if state == "closed":
        store._state.pool.close()
    source = shutil.copytree(store.folder, tmp_path / "copy.lv")
    if state == "log alone":  # which somebody has to move into the database first
        database(source).with_suffix(".db-shm").unlink()
    done = subprocess.run(
        ["unshare", "-Urm", sys.executable, "-c", READ_ONLY, str(tmp_path / "disk"), str(source)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    if state == "log alone":
        assert "UserError: the files of collection" in done.stderr and "cannot be used" in done.stderr
    else:
        assert done.stdout.splitlines() == [f"{COUNT} 5 3", "Read-only file system"], done.stderr


def test_nothing_stays_of_a_picture_that_was_removed(store: SqliteStore) -> None:
    mark = b"a private thumbnail " * 400
    with store.writing():
        store.upsert([replace(ITEMS[0], thumbnail=mark)])
        store.maintain()
        assert mark[:200] in database(store.folder).read_bytes()
        store.delete([ITEMS[0].info.id])
        store.maintain()
    store._state.pool.close()
    assert mark[:20] not in database(store.folder).read_bytes()


def test_a_copy_beside_an_open_one_is_complete(store: SqliteStore, tmp_path: Path) -> None:
    with store.writing():
        store.upsert([make_item(70)])
        store.maintain()
    copy = shutil.copytree(store.folder, tmp_path / "copy.lv")
    assert SqliteStore(copy).count() == COUNT + 1


def test_remembered_records_follow_changes_of_another_process(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "RECORDS", 3)
    query, expected = ITEMS[7].embedding[None], {item.info.id: item.info.caption for item in ITEMS}

    def captions() -> dict[str, str | None]:
        store._state.exact._load_from = 0.0  # new rows are loaded at once
        (hits,) = store.search(query, k=COUNT, where=Filter())
        return {hit.id: hit.info.caption for hit in hits}

    for _ in range(2):
        assert captions() == expected
    other = SqliteStore(store.folder)
    with other.writing():
        other.upsert([replace(ITEMS[7], info=replace(ITEMS[7].info, caption="changed"))])
        other.delete([ITEMS[9].info.id])
    expected[ITEMS[7].info.id] = "changed"
    del expected[ITEMS[9].info.id]
    for _ in range(2):
        assert captions() == expected
    assert len(store._state.records._last[1]) == COUNT - 1

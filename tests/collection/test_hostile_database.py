"""Databases that anybody may have written: one sentence, and nothing of them runs."""

from __future__ import annotations

import contextlib
import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from lingvis.collection.stores.records import Filter
from lingvis.collection.stores.sqlite.store import SqliteStore
from lingvis.errors import UserError

from ..damage import time_limit
from .rows import HEADER, make_item

COUNT = 40
QUERY = make_item(3).embedding[None]
NOT_OURS = "its database has other tables than those of a collection"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole") / "c.lv"
    store = SqliteStore.create(folder, HEADER)
    with store.writing():
        store.upsert([make_item(number) for number in range(COUNT)])
    store._state.pool.close()
    return folder


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    return shutil.copytree(whole, tmp_path / "c.lv")


def database(folder: Path) -> Path:
    (file,) = folder.glob("items-*.db")
    return file


def change(folder: Path, *statements: str, values: tuple[object, ...] = ()) -> None:
    with contextlib.closing(sqlite3.connect(database(folder), isolation_level=None)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        for statement in statements:
            connection.execute(statement, values if "?" in statement else ())


def read_all(folder: Path) -> None:
    """Everything that a command or the server may ask."""
    store = SqliteStore(folder)
    ids = [row.id for row in store.files()]
    store.search(QUERY, k=9, where=Filter())
    store.search(QUERY, k=9, where=Filter(min_size=300), captions=True)
    store.items(ids)
    store.vectors(ids)
    store.browse(k=99, where=Filter())
    for read in (store.timeline, store.folders):
        read(Filter())
    store.places(Filter(), step=1)
    store.statistics()
    for id in ids[:3]:
        store.thumbnail(id)


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER t AFTER INSERT ON pictures BEGIN DELETE FROM vectors; END",
        "CREATE VIEW v AS SELECT 1",
        "CREATE TABLE others (x)",
        "CREATE VIRTUAL TABLE words USING fts5 (text)",
        "CREATE INDEX more ON pictures (lower(path))",
        "ALTER TABLE pictures ADD COLUMN camera2 TEXT DEFAULT (1)",
        "ALTER TABLE pictures ADD COLUMN name TEXT AS (hex(zeroblob(99999999)))",
        "ALTER TABLE pictures ADD COLUMN small INTEGER CHECK (small < 3)",
        "DROP TABLE thumbnails",
        "DROP INDEX pictures_id",
    ],
)
def test_a_schema_that_is_not_ours_is_refused(folder: Path, statement: str) -> None:
    change(folder, statement)
    with pytest.raises(UserError, match=rf"c\.lv is damaged \({NOT_OURS}\); restore the folder from a copy"):
        SqliteStore(folder)


def test_a_column_of_a_later_version_is_left_alone(folder: Path) -> None:
    change(folder, "ALTER TABLE pictures ADD COLUMN mood TEXT")
    store = SqliteStore(folder)
    assert store.info("0003") == make_item(3).info
    with store.writing():
        store.upsert([make_item(50)])
    assert store.count() == COUNT + 1


def test_another_database_is_refused(folder: Path) -> None:
    change(folder, "PRAGMA application_id = 0")
    with pytest.raises(UserError, match=r"damaged \(its database is not that of a collection\)"):
        SqliteStore(folder)


def test_a_link_to_another_database_is_refused(folder: Path, whole: Path) -> None:
    database(folder).unlink()
    (folder / database(whole).name).symlink_to(database(whole))
    with pytest.raises(UserError, match="it is not a regular file"):
        SqliteStore(folder)


def test_nothing_is_attached_and_nothing_is_written_by_a_reader(folder: Path, tmp_path: Path) -> None:
    store = SqliteStore(folder)
    with store._state.pool.reading() as connection:
        with pytest.raises(sqlite3.OperationalError, match="too many attached databases"):
            connection.execute("ATTACH ? AS other", [str(tmp_path / "new.db")])
        with pytest.raises(sqlite3.OperationalError, match="attempt to write a readonly database"):
            connection.execute("DELETE FROM pictures")
    assert not (tmp_path / "new.db").exists() and store.count() == COUNT


@pytest.mark.parametrize(
    ("statement", "value", "reason"),
    [
        ("UPDATE vectors SET embedding = ?", bytes(10), "an embedding has 10 bytes, not 128"),
        ("UPDATE vectors SET embedding = ?", "x" * 128, "str in place of bytes"),
        ("UPDATE vectors SET embedding = ?", b"\xff" * 128, "an embedding has values that are not numbers"),
        ("UPDATE pictures SET path = ?", b"/a", "path has a value of type bytes"),
        ("UPDATE pictures SET hash = ?", b"x", "hash has a value of type bytes"),
        ("UPDATE pictures SET width = ?", "wide", "width has a value of type str"),
        ("UPDATE pictures SET date = ?", "yesterday", "Invalid isoformat string: 'yesterday'"),
        ("UPDATE pictures SET path = CAST(? AS TEXT)", b"/\xff", "Could not decode to UTF-8 column 'path'.*"),
    ],
)
def test_wrong_values_are_told(folder: Path, statement: str, value: object, reason: str) -> None:
    change(folder, f"{statement} WHERE number = 4", values=(value,))
    with pytest.raises(UserError, match=rf"c\.lv is damaged \({reason}\); restore the folder from a copy"):
        read_all(folder)


def test_a_strange_thumbnail_is_told(folder: Path) -> None:
    change(folder, "UPDATE thumbnails SET jpeg = ? WHERE number = 1", values=("x",))
    with pytest.raises(UserError, match=r"damaged \(str in place of bytes\)"):
        SqliteStore(folder).thumbnail("0000")


def flipped(content: bytes, seed: int) -> bytes:
    changed, generator = bytearray(content), random.Random(seed)
    for _ in range(20):
        changed[generator.randrange(len(changed))] ^= 1 << generator.randrange(8)
    return bytes(changed)


def cut(content: bytes, seed: int) -> bytes:
    return content[: random.Random(seed).randrange(len(content))]


@pytest.mark.parametrize("damage", [flipped, cut])
def test_damage_at_random_places_is_one_sentence(folder: Path, damage: Callable[[bytes, int], bytes]) -> None:
    file = database(folder)
    content, told = file.read_bytes(), list[str]()
    for seed in range(60):
        for left in folder.glob("items-*-*"):
            left.unlink()
        file.write_bytes(damage(content, seed))
        try:
            with time_limit():
                read_all(folder)
        except UserError as error:
            told.append(str(error))
    assert len(told) > 20 and all("is damaged (" in sentence for sentence in told)

"""Favourites and albums, in all stores: names of contents that outlive re-indexing, rebuilds and other models."""

from __future__ import annotations

import itertools
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from lingvis import Collection
from lingvis.cli import main
from lingvis.collection.albums import Album
from lingvis.collection.stores.albums import FAVOURITES
from lingvis.collection.stores.contract import Store
from lingvis.collection.stores.open import create_store, open_store
from lingvis.collection.stores.postgres.address import parse
from lingvis.collection.stores.records import Filter
from lingvis.errors import UserError

from ..milvus import address_for
from ..postgres import Server
from .conftest import make_model, make_pictures
from .rows import HEADER, make_item

COLLECTIONS = itertools.count()
ITEMS = [make_item(number) for number in range(30)]
HASHES = [item.info.hash for item in ITEMS]


@pytest.fixture(scope="module")
def shared(server: Server) -> str:
    return server.make_database("albums")


@pytest.fixture(params=["folder", "postgres", "milvus"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a collection may be made."""
    if request.param == "folder":
        return str(tmp_path / "c.lv")
    if request.param == "milvus":
        return address_for(request, f"albums{next(COLLECTIONS)}")
    return f"{request.getfixturevalue('shared')}?collection=c{next(COLLECTIONS)}"


@pytest.fixture
def store(address: str) -> Store:
    made = create_store(address, HEADER)
    with made.writing():
        made.upsert(ITEMS)
    return made


def test_albums_are_filled_renamed_and_deleted(store: Store, address: str) -> None:
    albums = store.albums
    assert albums.counts() == {} and albums.hashes(FAVOURITES) == []
    assert albums.add("Rome 'n' \"Ostia\" %s 🏛", HASHES[5:8]) == 3
    assert albums.add("Rome 'n' \"Ostia\" %s 🏛", [HASHES[7], HASHES[2], HASHES[2]]) == 1
    assert albums.add(FAVOURITES, HASHES[:1]) == 1
    other = open_store(address).albums  # another process
    assert other.counts() == {"Rome 'n' \"Ostia\" %s 🏛": 4, FAVOURITES: 1}
    assert other.hashes("Rome 'n' \"Ostia\" %s 🏛") == [*HASHES[5:8], HASHES[2]], "the order of adding"
    assert other.containing(HASHES[2]) == ["Rome 'n' \"Ostia\" %s 🏛"] and other.containing("h99") == []
    other.rename("Rome 'n' \"Ostia\" %s 🏛", "Roma")
    assert albums.remove("Roma", [HASHES[5], HASHES[5], "h99"]) == 1
    assert albums.counts() == {"Roma": 3, FAVOURITES: 1}
    albums.add("empty", [])
    albums.delete("Roma")
    assert albums.counts() == {FAVOURITES: 1, "empty": 0}
    with pytest.raises(UserError, match=r"there is no album 'Roma'; choose one of: empty, favourites"):
        albums.remove("Roma", HASHES)
    for wrong in (albums.hashes, albums.delete):
        with pytest.raises(UserError, match="there is no album"):
            wrong("Roma")
    with pytest.raises(UserError, match="has a fixed name"):
        albums.rename(FAVOURITES, "best")
    albums.add("other", [])
    with pytest.raises(UserError, match="there is an album 'other' already"):
        albums.rename("empty", "other")


def test_a_search_within_an_album(store: Store) -> None:
    chosen = HASHES[3:9]
    for captions in (False, True):
        vector = ITEMS[4].caption_embedding if captions else ITEMS[4].embedding
        assert vector is not None
        for hashes in (chosen, ["h99"], []):
            where = Filter(hashes=frozenset(hashes), min_size=100)
            (hits,) = store.search(vector[None], k=50, where=where, captions=captions)
            expected = {i.info.hash for i in ITEMS if i.info.caption or not captions} & set(hashes)
            assert {hit.info.hash for hit in hits} == expected
    with pytest.raises(TypeError, match="knows hashes, not albums"):
        store.search(ITEMS[0].embedding[None], k=1, where=Filter(album="Rome"))
    assert {info.id for info in store.infos([ITEMS[1].info.id, "nothing"])} == {ITEMS[1].info.id}
    assert store.infos([]) == []


def test_a_rebuild_keeps_albums(store: Store, address: str) -> None:
    store.albums.add("Rome", HASHES[:2])
    create_store(address, HEADER.model_copy(update={"image_fingerprint": "z", "dim": 32}))
    assert open_store(address).albums.hashes("Rome") == HASHES[:2]


WRITER = """
import sys
from lingvis.collection.stores.open import open_store
albums = open_store(sys.argv[1]).albums
for number in range(10):
    albums.add("Rome", [f"{sys.argv[2]}-{number}"])
"""


def test_several_processes_and_threads_lose_nothing(store: Store, address: str) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, address, name]) for name in "ab"]
    with ThreadPoolExecutor(4) as pool:
        added = list(pool.map(lambda number: store.albums.add("Rome", [f"t-{number}"]), range(20)))
    assert [writer.wait(60) for writer in writers] == [0, 0] and sum(added) == 20
    assert len(set(store.albums.hashes("Rome"))) == 40


def test_indexing_does_not_block_albums(store: Store) -> None:
    with store.writing():
        assert store.albums.add("Rome", HASHES) == len(HASHES)


def test_bounds(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lingvis.collection.stores.albums.PICTURES", 3)
    monkeypatch.setattr("lingvis.collection.stores.albums.ALBUMS", 2)
    store.albums.add("Rome", HASHES[:3])
    with pytest.raises(UserError, match="album 'Rome' would have 4 pictures, the most is 3"):
        store.albums.add("Rome", HASHES[:4])
    store.albums.add("two", [])
    with pytest.raises(UserError, match="at most 2 albums; delete one first"):
        store.albums.add("three", [])
    assert store.albums.counts() == {"Rome": 3, "two": 0}


def test_a_role_that_only_reads_opens_tables_of_the_version_before(server: Server) -> None:
    """Until the owner has opened the collection, there are no albums."""
    base = server.make_database("earlier")
    address = f"{base}?collection=old"
    create_store(address, HEADER)
    with psycopg.connect(parse(address).conninfo, autocommit=True) as admin:
        admin.execute("DROP TABLE lingvis_album_pictures, lingvis_albums")
        admin.execute("DELETE FROM lingvis_migrations WHERE version = 2")
        admin.execute("DROP ROLE IF EXISTS visitor_of_albums")
        admin.execute("CREATE ROLE visitor_of_albums LOGIN")
        admin.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO visitor_of_albums")
    visitor = open_store(f"{address}&options=-c%20role%3Dvisitor_of_albums")
    assert visitor.count() == 0 and visitor.albums.counts() == {}
    assert visitor.albums.containing("h") == [] and visitor.albums.hashes(FAVOURITES) == []
    with pytest.raises(UserError, match="of an earlier version, without albums; let the owner"):
        visitor.albums.add("Rome", ["h"])
    assert open_store(address).albums.add("Rome", ["h"]) == 1
    with pytest.raises(UserError, match="lacks a permission"):
        visitor.albums.add("Rome", ["i"])


def test_the_file_of_a_folder(tmp_path: Path) -> None:
    store = create_store(str(tmp_path / "c.lv"), HEADER)
    store.albums.add("Rome", ["h1"])
    shutil.move(tmp_path / "c.lv", tmp_path / "renamed.lv")
    renamed = open_store(str(tmp_path / "renamed.lv"))
    assert renamed.albums.hashes("Rome") == ["h1"]
    for content in ("{", "[]", '{"format": 2, "albums": {}}', '{"format": 1, "albums": {"a": [1]}}'):
        (tmp_path / "renamed.lv" / "albums.json").write_text(content)
        with pytest.raises(UserError, match=r"albums\.json is damaged; restore the file"):
            renamed.albums.counts()


def test_albums_of_a_collection(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Through a re-index, a moved file, a rebuild by another model; by ids and paths; on the command line."""
    paths = make_pictures(tmp_path / "photos", 4)
    place = str(tmp_path / "photos.lv")
    photos = Collection.create(place, model, device="cpu")
    photos.add([tmp_path / "photos"])
    first = photos.search(image=paths[0], k=1)[0]
    assert photos.albums.all() == [Album(FAVOURITES, 0)]
    assert photos.albums.add("  Café ", [first.id, paths[1], str(paths[0])]) == 2
    assert photos.albums.add("Cafe\u0301", [paths[2]]) == 1, "the same name in another spelling"
    photos.albums.add(FAVOURITES, [paths[0]])
    assert photos.albums.of(paths[0]) == ["Café", FAVOURITES] == photos.albums.of(first.id)
    paths[0].rename(tmp_path / "photos" / "moved.png")
    photos.add([tmp_path / "photos"], prune=True)
    other = make_model(tmp_path / "other", image_seed=1)
    Collection(place, model=other, device="cpu").add([tmp_path / "photos"], rebuild=True)
    again = Collection.open(place, device="cpu")
    hits = again.search("a dog", lang="en", where=Filter(album="Café"))
    assert sorted(Path(hit.path).name for hit in hits) == ["001.png", "002.png", "moved.png"]
    assert [Path(h.path).name for h in again.similar(hits[0].id, where=Filter(album=FAVOURITES))] in (
        ["moved.png"],
        [],
    )
    with pytest.raises(UserError, match="there is no album 'nothing'"):
        again.search("a dog", lang="en", where=Filter(album="nothing"))
    with pytest.raises(UserError, match=r"has no picture '.*never\.png'; take its id from a search"):
        again.albums.add("Café", [paths[1], tmp_path / "never.png"])
    with pytest.raises(UserError, match="pictures must be a list of ids or paths"):
        again.albums.add("Café", str(paths[1]))
    for name in ("", " ", "a\nb", "x" * 101):
        with pytest.raises(UserError, match="an album needs a name of 1 to 100 printable characters"):
            again.albums.add(name, [])
    main(["albums", "add", place, "Rome", str(paths[1]), str(paths[3])])
    main(["albums", "remove", place, "Rome", str(paths[3])])
    main(["albums", "rename", place, "Rome", "Roma"])
    main(["albums", "delete", place, "Café"])
    main(["albums", "list", place])
    assert capsys.readouterr().out.splitlines() == [
        "2 added to Rome",
        "1 removed from Rome",
        "     1  favourites",
        "     1  Roma",
    ]
    main(["search", place, "a dog", "--lang", "en", "--album", "Roma", "--device", "cpu"])
    assert capsys.readouterr().out.split()[-1] == str(paths[1])

"""All stores: rows come back as they went in, search and filters against naive loops, two processes, rebuilds."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections import Counter, defaultdict
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

from lingvis.collection.stores.contract import Store
from lingvis.collection.stores.milvus.store import MilvusStore
from lingvis.collection.stores.open import create_store, open_store, store_exists
from lingvis.collection.stores.postgres.store import PostgresStore
from lingvis.collection.stores.records import Filter, FolderCount, MonthCount, PictureInfo
from lingvis.errors import UserError

from ..milvus import address_for
from ..postgres import Server
from .rows import HEADER, make_item, unit

COLLECTIONS = itertools.count()
COUNT = 60
ITEMS = [make_item(number) for number in range(COUNT)]


@pytest.fixture(scope="module")
def shared(server: Server) -> str:
    """The address of a database for many collections."""
    return server.make_database("shared")


@pytest.fixture(params=["sqlite", "lance", "postgres", "milvus"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def address(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a collection may be made."""
    if kind in ("sqlite", "lance"):
        return str(tmp_path / "c.lv")
    if kind == "milvus":
        return address_for(request, f"c{next(COLLECTIONS)}")
    return f"{request.getfixturevalue('shared')}?collection=c{next(COLLECTIONS)}"


@pytest.fixture
def empty(kind: str, address: str) -> Store:
    return create_store(address, HEADER, engine="lance") if kind == "lance" else create_store(address, HEADER)


@pytest.fixture
def store(empty: Store) -> Store:
    made = empty
    with made.writing():
        made.upsert(ITEMS[:40])
        made.upsert(ITEMS[40:])
    return made


def passes(entry: PictureInfo, where: Filter) -> bool:
    return (
        (where.folder is None or f"/{where.folder.lstrip('/')}/" in entry.path)
        and (where.after is None or entry.date >= where.after)
        and (where.before is None or entry.date <= where.before)
        and (where.min_size is None or entry.size >= where.min_size)
        and (where.max_size is None or entry.size <= where.max_size)
        and (where.format is None or entry.format == where.format)
        and (where.area is None or is_inside(entry, where.area))
    )


def is_inside(entry: PictureInfo, area: tuple[float, float, float, float]) -> bool:
    south, west, north, east = area
    if entry.latitude is None or entry.longitude is None:
        return False
    return south <= entry.latitude <= north and west <= entry.longitude <= east


FILTERS = [
    Filter(),
    Filter(folder="/p/it's"),
    Filter(folder="/p/it"),
    Filter(folder="/p/it's/deep_%"),
    Filter(after=datetime(2020, 1, 11), before=datetime(2020, 2, 1)),
    Filter(after=ITEMS[10].info.date, before=ITEMS[10].info.date),
    Filter(min_size=900, max_size=3000, format="png"),
    Filter(folder="deep_%"),
    Filter(folder="x' OR '1'='1"),
    Filter(format="JPG"),
    Filter(area=(-20, -60, 10, -5), format="jpeg"),
]


@pytest.mark.parametrize("indexed", [False, True], ids=["exact", "index"])
@pytest.mark.parametrize("captions", [False, True], ids=["pictures", "captions"])
def test_search_is_that_of_a_naive_loop(
    indexed: bool, captions: bool, kind: str, store: Store, address: str
) -> None:
    if indexed and kind == "sqlite":
        pytest.skip("it compares every row")
    if indexed:
        store = open_store(address, exact_values=0)
        if isinstance(store, PostgresStore | MilvusStore):  # LanceDB's engine answers without an index, too
            store.maintain()
    queries = np.stack([unit(np.random.default_rng(1000 + number)) for number in range(3)])
    for where in FILTERS:
        for k, offset in ((7, 0), (5, 7), (200, 0), (3, 500)):
            found = store.search(queries, k=k, offset=offset, where=where, captions=captions)
            for query, hits in zip(queries, found, strict=True):
                scored = []
                for item in ITEMS:
                    vector = item.caption_embedding if captions else item.embedding
                    if vector is not None and passes(item.info, where):
                        scored.append(
                            (float(sum(a * b for a, b in zip(query, vector, strict=True))), item.info)
                        )
                scored.sort(key=lambda pair: -pair[0])
                expected = scored[offset : offset + k]
                assert [hit.info for hit in hits] == [entry for _, entry in expected], (where, k, offset)
                np.testing.assert_allclose([h.score for h in hits], [s for s, _ in expected], atol=1e-5)
                assert [hit.rank for hit in hits] == [offset + 1 + place for place in range(len(expected))]


def test_rows_come_back_as_they_went_in(address: str, store: Store) -> None:
    again = open_store(address)
    assert again.header == HEADER
    assert again.count() == COUNT
    found = {item.info.id: item for item in again.items([item.info.id for item in ITEMS])}
    for item in ITEMS:
        other = found[item.info.id]
        assert (other.info, other.thumbnail) == (item.info, item.thumbnail)
        np.testing.assert_array_equal(other.embedding, item.embedding)
        assert (other.caption_embedding is None) == (item.caption_embedding is None)
    assert again.info("0003") == ITEMS[3].info
    assert again.thumbnail("0003") == ITEMS[3].thumbnail
    assert again.info("' OR 1=1 --") is None
    assert again.thumbnail("nothing") is None
    assert again.items([]) == again.items(["nothing"]) == []
    for captions in (False, True):
        held = {i.info.id: i.caption_embedding if captions else i.embedding for i in ITEMS}
        vectors = again.vectors([*held, "nothing"], captions=captions)
        assert vectors.keys() == {id for id, vector in held.items() if vector is not None}
        for id, vector in vectors.items():
            np.testing.assert_array_equal(vector, held[id])
    assert again.vectors([]) == {}
    known = sorted((row.id, row.hash, row.caption) for row in again.files())
    assert known == [(i.info.id, i.info.hash, i.info.caption) for i in ITEMS]
    numbers = again.statistics()
    assert (numbers.pictures, numbers.captions, numbers.bytes) == (60, 15, 100 * sum(range(60)))
    assert numbers.formats == {"jpeg": 30, "png": 30}
    assert (numbers.first, numbers.last) == (ITEMS[0].info.date, ITEMS[-1].info.date)


def test_browsing_is_that_of_a_naive_loop(store: Store) -> None:
    for where in FILTERS:
        newest = sorted(
            (i.info for i in ITEMS if passes(i.info, where)), key=lambda info: info.date, reverse=True
        )
        for k, offset in ((7, 0), (5, 7), (200, 0), (3, 500)):
            assert store.browse(k=k, offset=offset, where=where) == newest[offset : offset + k], (where, k)
        months = Counter(info.date.strftime("%Y-%m") for info in newest)
        assert store.timeline(where) == [MonthCount(month, months[month]) for month in sorted(months)[::-1]]
        folders = Counter(info.path.rpartition("/")[0] for info in newest)
        assert store.folders(where) == [FolderCount(name, folders[name]) for name in sorted(folders)]
        placed = [info for info in newest if info.latitude is not None and info.longitude is not None]
        squares = defaultdict(list)
        for info in placed:
            squares[info.latitude // 10, info.longitude // 10].append(info)  # type: ignore[operator]
        found = store.places(where, step=10)
        assert sorted(place.id for place in found) == sorted(infos[0].id for infos in squares.values())
        for place in found:
            (infos,) = [infos for infos in squares.values() if infos[0].id == place.id]
            assert place.pictures == len(infos)
            assert place.latitude == pytest.approx(np.mean([info.latitude for info in infos]))
            assert place.longitude == pytest.approx(np.mean([info.longitude for info in infos]))
        assert [place.pictures for place in found] == sorted((p.pictures for p in found), reverse=True)
    assert len(store.places(Filter(), step=10)) > 5


def test_browsing_follows_changes_and_orders_one_date_by_path(address: str, store: Store) -> None:
    reader = open_store(address)
    assert reader.browse(k=1, where=Filter())[0].id == ITEMS[-1].info.id
    late = replace(ITEMS[0].info, date=datetime(2031, 5, 6))
    twins = [replace(ITEMS[0], info=replace(late, id=f"t{n}", path=f"/t/{9 - n}")) for n in range(3)]
    with store.writing():
        store.upsert(twins)
        store.delete([ITEMS[-1].info.id])
    for opened in (store, reader):
        pages = [opened.browse(k=2, offset=offset, where=Filter()) for offset in (0, 2)]
        assert [info.id for page in pages for info in page] == ["t2", "t1", "t0", ITEMS[-2].info.id]
        assert opened.timeline(Filter())[0] == MonthCount("2031-05", 3)
        assert FolderCount("/t", 3) in opened.folders(Filter())


def test_strange_characters_come_back_as_they_went_in(store: Store) -> None:
    text = "null \0, escape \x1b and \x1b0000, percent %s %(a)s, quotes ' \" \\, \U0001f600, \u202eright"
    odd = replace(ITEMS[4], info=replace(ITEMS[4].info, id="odd", path=f"/odd/{text[9:]}", caption=text))
    with store.writing():
        store.upsert([odd])
    assert store.info("odd") == odd.info
    assert next(row.caption for row in store.files() if row.id == "odd") == text
    assert store.browse(k=9, where=Filter(folder="/odd")) == [odd.info]
    assert FolderCount(odd.info.path.rpartition("/")[0], 1) in store.folders(Filter())
    (hits,) = store.search(ITEMS[4].embedding[None], k=2, where=Filter(folder="/odd"))
    assert [hit.info for hit in hits] == [odd.info]
    assert store.info("a\0b") is None


def test_rows_are_replaced_and_dropped(store: Store) -> None:
    with store.writing():
        changed = make_item(5, seed=1)
        store.upsert([changed, make_item(99)])
        store.upsert([])
        store.delete(["0007", "nothing"])
        store.delete([])
        store.maintain()
    assert store.count() == COUNT
    np.testing.assert_array_equal(store.items(["0005"])[0].embedding, changed.embedding)
    (hits,) = store.search(changed.embedding[None], k=100, where=Filter())
    ids = [hit.id for hit in hits]
    assert ids[0] == "0005" and "0007" not in ids and "0063" in ids
    assert len(ids) == len(set(ids)) == COUNT


def test_equal_scores_are_paged_without_overlap(store: Store) -> None:
    twins = [replace(ITEMS[0], info=replace(ITEMS[0].info, id=f"t{n}", path=f"/t/{9 - n}")) for n in range(9)]
    with store.writing():
        store.upsert(twins)
    query = ITEMS[0].embedding[None]
    pages = [store.search(query, k=2, offset=offset, where=Filter())[0] for offset in range(0, 10, 2)]
    assert [hit.path for page in pages for hit in page] == sorted([i.info.path for i in [*twins, ITEMS[0]]])


def test_there_is_no_collection_before_it_is_made(address: str) -> None:
    assert not store_exists(address)
    with pytest.raises(UserError, match=r"no collection at .*; make one with: lingvis index .* --model RUN"):
        open_store(address)


def test_an_empty_collection_finds_nothing(empty: Store) -> None:
    store = empty
    assert store.search(ITEMS[0].embedding[None], k=5, where=Filter()) == [[]]
    assert store.search(ITEMS[0].embedding[None], k=5, where=Filter(format="png"), captions=True) == [[]]
    assert store.statistics().first is None
    assert store.browse(k=5, where=Filter()) == []
    assert (store.timeline(Filter()), store.folders(Filter())) == ([], [])
    assert store.places(Filter(), step=1) == []
    assert list(store.files()) == []


READER = """
import sys, numpy as np
from lingvis.collection.stores.records import Filter
from lingvis.collection.stores.milvus.store import MilvusStore
from lingvis.collection.stores.open import open_store
store = open_store(sys.argv[1])
for line in sys.stdin:
    (hits,) = store.search(np.eye(64, dtype=np.float32)[:1], k=100, where=Filter())
    print(store.count(), len(hits), flush=True)
"""


def test_another_process_sees_what_is_written(address: str, store: Store) -> None:
    reader = subprocess.Popen(
        [sys.executable, "-c", READER, address],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert reader.stdin is not None and reader.stdout is not None

    def ask() -> list[int]:
        reader.stdin.write("\n")  # type: ignore[union-attr]
        reader.stdin.flush()  # type: ignore[union-attr]
        return [int(word) for word in reader.stdout.readline().split()]  # type: ignore[union-attr]

    assert ask() == [60, 60]
    with store.writing():
        store.upsert([make_item(70)])
        assert ask()[0] == 61
    for _ in range(100):  # a reader may lag behind by ten times what loading takes
        if ask() == [61, 61]:
            break
    else:
        raise AssertionError("the reader never saw the new row")
    reader.stdin.close()
    assert reader.wait(10) == 0


def test_a_rebuilt_collection_is_another_one(address: str, store: Store) -> None:
    reader, other = open_store(address), open_store(address)
    assert create_store(address, HEADER, replace=False).count() == COUNT
    create_store(address, HEADER)
    assert reader.count() == 0
    create_store(address, HEADER.model_copy(update={"image_fingerprint": "z", "dim": 32}))
    with pytest.raises(UserError, match="was rebuilt with another model; open it again"):
        other.search(ITEMS[0].embedding[None], k=1, where=Filter())
    assert other.header.image_fingerprint == "z"  # by which a collection sees that it has to be opened again


def test_another_model_of_the_same_image_side_is_remembered(address: str, store: Store) -> None:
    reader = open_store(address)
    learnt = HEADER.model_copy(update={"text_fingerprint": "c", "model": "/run2"})
    with store.writing():
        store.replace_header(learnt)
        store.upsert([make_item(80)])
    assert store.header == open_store(address).header == learnt
    assert reader.count() == COUNT + 1
    assert reader.header == learnt

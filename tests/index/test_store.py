"""The store: rows come back as they went in, search and filters against naive loops, damage, two processes."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from lingvis.errors import UserError
from lingvis.index import lance
from lingvis.index.contract import Entry, Filter, Header, Item
from lingvis.index.lance import LanceStore

DIM, COUNT = 64, 60  # LanceDB looks at vectors this long more closely than at short ones
HEADER = Header(dim=DIM, image_fingerprint="a", text_fingerprint="b", model="/run", features={"kind": "grid"})


def unit(generator: np.random.Generator) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    vector = generator.normal(size=DIM).astype(np.float32)
    return (vector / np.linalg.norm(vector)).astype(np.float16).astype(np.float32)


def make_item(number: int, seed: int = 0) -> Item:
    generator = np.random.default_rng([seed, number])
    folder = "/p/it's" if number % 3 == 0 else "/p/its" if number % 3 == 1 else "/p/it's/deep_%"
    entry = Entry(
        id=f"{number:04x}",
        path=f"{folder}/{number}.jpg",
        hash=f"h{number}",
        size=100 * number,
        mtime_ns=number,
        width=number + 1,
        height=2,
        format="jpeg" if number % 2 else "png",
        date=datetime(2020, 1, 1) + timedelta(days=number, microseconds=number),
        note=f"note {number}" if number % 4 == 0 else None,
        lang="en" if number % 4 == 0 else None,
    )
    noted = unit(generator) if entry.note else None
    return Item(entry, unit(generator), bytes([number]) * 3, noted)


ITEMS = [make_item(number) for number in range(COUNT)]


@pytest.fixture
def store(tmp_path: Path) -> LanceStore:
    made = LanceStore.create(tmp_path / "c.lv", HEADER)
    with made.writing():
        made.upsert(ITEMS[:40])
        made.upsert(ITEMS[40:])
    return made


def passes(entry: Entry, where: Filter) -> bool:
    return (
        (where.folder is None or entry.path.startswith(where.folder + "/"))
        and (where.after is None or entry.date >= where.after)
        and (where.before is None or entry.date <= where.before)
        and (where.min_size is None or entry.size >= where.min_size)
        and (where.max_size is None or entry.size <= where.max_size)
        and (where.format is None or entry.format == where.format)
    )


FILTERS = [
    Filter(),
    Filter(folder="/p/it's"),
    Filter(folder="/p/it"),
    Filter(folder="/p/it's/deep_%"),
    Filter(after=datetime(2020, 1, 11), before=datetime(2020, 2, 1)),
    Filter(after=ITEMS[10].entry.date, before=ITEMS[10].entry.date),
    Filter(min_size=900, max_size=3000, format="png"),
    Filter(format="x' OR '1'='1"),
]


@pytest.mark.parametrize("engine", [False, True], ids=["memory", "engine"])
@pytest.mark.parametrize("captions", [False, True], ids=["pictures", "captions"])
def test_search_is_that_of_a_naive_loop(
    engine: bool, captions: bool, store: LanceStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    if engine:
        monkeypatch.setattr(lance, "EXACT_VALUES", 0)
    queries = np.stack([unit(np.random.default_rng(1000 + number)) for number in range(3)])
    for where in FILTERS:
        for k, offset in ((7, 0), (5, 7), (200, 0), (3, 500)):
            found = store.search(queries, k=k, offset=offset, where=where, captions=captions)
            for query, hits in zip(queries, found, strict=True):
                scored = []
                for item in ITEMS:
                    vector = item.note_embedding if captions else item.embedding
                    if vector is not None and passes(item.entry, where):
                        scored.append(
                            (float(sum(a * b for a, b in zip(query, vector, strict=True))), item.entry)
                        )
                scored.sort(key=lambda pair: -pair[0])
                expected = scored[offset : offset + k]
                assert [hit.entry for hit in hits] == [entry for _, entry in expected], (where, k, offset)
                np.testing.assert_allclose([h.score for h in hits], [s for s, _ in expected], atol=1e-5)
                assert [hit.rank for hit in hits] == [offset + 1 + place for place in range(len(expected))]


def test_an_index_is_built_beyond_the_limit_and_finds_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator, dim = np.random.default_rng(5), 64
    centres = generator.normal(size=(40, dim))

    def draw() -> np.ndarray[tuple[int], np.dtype[np.float32]]:
        vector = centres[generator.integers(40)] + 0.5 * generator.normal(size=dim)
        return np.asarray(vector / np.linalg.norm(vector), np.float32)

    store = LanceStore.create(tmp_path / "c.lv", HEADER.model_copy(update={"dim": dim}))
    with store.writing():
        store.upsert(
            [Item(replace(ITEMS[1].entry, id=f"m{n}", path=f"/m/{n}"), draw(), b"", None) for n in range(600)]
        )
        store.maintain()
        assert not store._table.list_indices()
        monkeypatch.setattr(lance, "EXACT_VALUES", 300 * dim)
        monkeypatch.setattr(lance, "PARTITION", 200)
        store.maintain()
        assert [index.name for index in store._table.list_indices()] == ["embedding_3"]
        monkeypatch.setattr(lance, "PARTITION", 100)
        store.maintain()
    assert [index.name for index in store._table.list_indices()] == ["embedding_6"]
    queries = np.stack([draw() for _ in range(10)])
    indexed = store.search(queries, k=10, where=Filter())
    monkeypatch.undo()
    exact = store.search(queries, k=10, where=Filter())
    shared = [len({h.id for h in a} & {h.id for h in b}) for a, b in zip(indexed, exact, strict=True)]
    assert sum(shared) >= 98
    np.testing.assert_allclose(indexed[0][0].score, exact[0][0].score, atol=1e-3)


def test_rows_come_back_as_they_went_in(store: LanceStore) -> None:
    again = LanceStore(store.folder)
    assert again.header == HEADER
    assert again.count() == COUNT
    found = {item.entry.id: item for item in again.items([item.entry.id for item in ITEMS])}
    for item in ITEMS:
        other = found[item.entry.id]
        assert (other.entry, other.thumbnail) == (item.entry, item.thumbnail)
        np.testing.assert_array_equal(other.embedding, item.embedding)
        assert (other.note_embedding is None) == (item.note_embedding is None)
    assert again.entry("0003") == ITEMS[3].entry
    assert again.thumbnail("0003") == ITEMS[3].thumbnail
    assert again.entry("' OR 1=1 --") is None
    assert again.thumbnail("nothing") is None
    known = sorted((row.id, row.hash, row.note) for row in again.known())
    assert known == [(i.entry.id, i.entry.hash, i.entry.note) for i in ITEMS]
    numbers = again.statistics()
    assert (numbers.pictures, numbers.notes, numbers.bytes) == (60, 15, 100 * sum(range(60)))
    assert numbers.formats == {"jpeg": 30, "png": 30}
    assert (numbers.first, numbers.last) == (ITEMS[0].entry.date, ITEMS[-1].entry.date)


def test_rows_are_replaced_and_dropped_and_stay_after_merging(
    store: LanceStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lance, "FEW_FILES", 1)
    with store.writing():
        changed = make_item(5, seed=1)
        store.upsert([changed, make_item(99)])
        store.delete(["0007", "nothing"])
        files = store._table.stats()["fragment_stats"]["num_fragments"]
        store.maintain()
        assert store._table.stats()["fragment_stats"]["num_fragments"] < files
    assert store.count() == COUNT
    np.testing.assert_array_equal(store.items(["0005"])[0].embedding, changed.embedding)
    (hits,) = store.search(changed.embedding[None], k=100, where=Filter())
    ids = [hit.id for hit in hits]
    assert ids[0] == "0005" and "0007" not in ids and "0063" in ids
    assert len(ids) == len(set(ids)) == COUNT


def test_equal_scores_are_paged_without_overlap(store: LanceStore) -> None:
    twins = [
        replace(ITEMS[0], entry=replace(ITEMS[0].entry, id=f"t{n}", path=f"/t/{9 - n}")) for n in range(9)
    ]
    with store.writing():
        store.upsert(twins)
    query = ITEMS[0].embedding[None]
    pages = [store.search(query, k=2, offset=offset, where=Filter())[0] for offset in range(0, 10, 2)]
    assert [hit.path for page in pages for hit in page] == sorted([i.entry.path for i in [*twins, ITEMS[0]]])


def test_an_empty_collection_finds_nothing(tmp_path: Path) -> None:
    store = LanceStore.create(tmp_path / "new", HEADER)
    assert store.search(ITEMS[0].embedding[None], k=5, where=Filter()) == [[]]
    assert store.search(ITEMS[0].embedding[None], k=5, where=Filter(format="png"), captions=True) == [[]]
    assert store.statistics().first is None
    assert list(store.known()) == []


READER = """
import sys, numpy as np
from pathlib import Path
from lingvis.index.contract import Filter
from lingvis.index.lance import LanceStore
store = LanceStore(Path(sys.argv[1]))
for line in sys.stdin:
    (hits,) = store.search(np.eye(64, dtype=np.float32)[:1], k=100, where=Filter())
    print(store.count(), len(hits), flush=True)
"""


def test_another_process_sees_what_is_written_and_only_one_may_write(
    store: LanceStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = subprocess.Popen(
        [sys.executable, "-c", READER, str(store.folder)],
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
        with pytest.raises(UserError, match="another process is writing"), LanceStore(store.folder).writing():
            pass
        assert ask()[0] == 61
        monkeypatch.setattr(lance, "FEW_FILES", -1)
        store.maintain()
    for _ in range(100):  # a reader may lag behind by ten times what loading takes
        if ask() == [61, 61]:
            break
    else:
        raise AssertionError("the reader never saw the new row")
    reader.stdin.close()
    assert reader.wait(10) == 0


def test_every_file_is_flushed_before_a_write_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: set[Path] = set()
    from lingvis.index import durable

    monkeypatch.setattr(durable, "sync", flushed.add)
    store = LanceStore.create(tmp_path / "c.lv", HEADER)
    with store.writing():
        for start in (0, 20):
            store.upsert(ITEMS[start : start + 20])
            table = next(store.folder.glob("items-*.lance"))
            assert {table, *table.rglob("*")} <= flushed
        before = set(flushed)
        flushed.clear()
        store.delete(["0001"])
        new = set(table.rglob("*")) - before
        assert new <= flushed
        assert not {path for path in before & flushed if path.is_file()}


def test_a_rebuilt_collection_is_another_one(store: LanceStore) -> None:
    reader, other = LanceStore(store.folder), LanceStore(store.folder)
    LanceStore.create(store.folder, HEADER)
    assert reader.count() == 0
    assert len(list(store.folder.glob("items-*"))) == 1
    LanceStore.create(store.folder, HEADER.model_copy(update={"image_fingerprint": "z"}))
    with pytest.raises(UserError, match="was rebuilt with another model; open it again"):
        other.search(ITEMS[0].embedding[None], k=1, where=Filter())


def test_damage_and_other_folders_get_a_sentence(store: LanceStore, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no collection at .*nowhere; make one with: lingvis index"):
        LanceStore(tmp_path / "nowhere")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("x")
    with pytest.raises(UserError, match="holds no collection; name a new folder"):
        LanceStore.create(tmp_path / "full", HEADER)
    assert (tmp_path / "full" / "mine.txt").exists()
    file = store.folder / "collection.json"
    good = file.read_text()
    for bad in ("", "[]", "{}", good.replace('"dim": 64', '"dim": -1'), good.replace('"table"', '"chair"')):
        file.write_text(bad)
        with pytest.raises(UserError, match="damaged"):
            LanceStore(store.folder)
    file.write_text(good.replace('"format": 1', '"format": 9'))
    with pytest.raises(UserError, match="collection format 9, this version reads 1"):
        LanceStore(store.folder)
    file.write_text(good.replace("items-", "other-"))
    with pytest.raises(UserError, match=r"its table other-.* cannot be opened"):
        LanceStore(store.folder)


def test_what_a_kill_left_of_a_new_collection_is_no_hindrance(store: LanceStore) -> None:
    (store.folder / "collection.json").unlink()
    assert LanceStore.create(store.folder, HEADER).count() == 0
    assert len(list(store.folder.glob("items-*"))) == 1

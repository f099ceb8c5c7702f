"""The store on LanceDB: its index, merging of files, flushing, damage."""

from __future__ import annotations

import os
import resource
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lingvis.collection.stores.lance import store as lance
from lingvis.collection.stores.lance.store import LanceStore
from lingvis.collection.stores.records import Filter, Item
from lingvis.errors import UserError

from .rows import HEADER, make_item

COUNT = 60
ITEMS = [make_item(number) for number in range(COUNT)]


@pytest.fixture
def store(tmp_path: Path) -> LanceStore:
    made = LanceStore.create(tmp_path / "c.lv", HEADER)
    with made.writing():
        made.upsert(ITEMS[:40])
        made.upsert(ITEMS[40:])
    return made


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
            [Item(replace(ITEMS[1].info, id=f"m{n}", path=f"/m/{n}"), draw(), b"", None) for n in range(600)]
        )
        store.maintain()
        assert not store._table.list_indices()
    store = LanceStore(tmp_path / "c.lv", exact_values=300 * dim)
    with store.writing():
        monkeypatch.setattr(lance, "PARTITION", 200)
        store.maintain()
        assert [index.name for index in store._table.list_indices()] == ["embedding_3"]
        monkeypatch.setattr(lance, "PARTITION", 100)
        store.maintain()
    assert [index.name for index in store._table.list_indices()] == ["embedding_6"]
    queries = np.stack([draw() for _ in range(10)])
    indexed = store.search(queries, k=10, where=Filter())
    exact = LanceStore(tmp_path / "c.lv").search(queries, k=10, where=Filter())
    shared = [len({h.id for h in a} & {h.id for h in b}) for a, b in zip(indexed, exact, strict=True)]
    assert sum(shared) >= 98
    np.testing.assert_allclose(indexed[0][0].score, exact[0][0].score, atol=1e-3)


def many(store: LanceStore, count: int, *, copies: int = 0) -> list[Item]:
    """Rows whose first `copies` have one vector; every fiftieth lies in a folder of its own."""
    made = [make_item(number, seed=9) for number in range(count)]
    made = [
        replace(
            item,
            info=replace(item.info, path=f"/p/{'few' if n % 50 == 0 else 'many'}/{n:04}"),
            embedding=made[0].embedding if n < copies else item.embedding,
        )
        for n, item in enumerate(made)
    ]
    with store.writing():
        store.upsert(made)
        store.maintain()
    return made


@pytest.fixture
def indexed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LanceStore:
    """An empty store that has an index of forty partitions from 800 rows on, of which two are looked into."""
    for name, value in {"PARTITION": 20, "PROBED": 0, "PROBED_LEAST": 2}.items():
        monkeypatch.setattr(lance, name, value)
    return LanceStore.create(tmp_path / "indexed.lv", HEADER, exact_values=0)


def test_a_narrow_filter_finds_all_that_passes(indexed: LanceStore) -> None:
    made = many(indexed, 800)
    few = {item.info.id for item in made if "/few/" in item.info.path}
    for number in range(10):
        query = make_item(number, seed=3).embedding
        (hits,) = indexed.search(query[None], k=20, where=Filter(folder="/p/few"))
        assert {hit.id for hit in hits} == few


def test_pages_of_the_index_never_overlap(indexed: LanceStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lance, "PROBED_LEAST", 20)
    made = many(indexed, 800, copies=40)
    copies = {item.info.id for item in made[:40]}
    for size in (10, 48):
        found = [
            hit
            for offset in range(0, 240, size)
            for hit in indexed.search(made[0].embedding[None], k=size, offset=offset, where=Filter())[0]
        ]
        assert len({hit.id for hit in found}) == len(found) == 240
        assert {hit.id for hit in found[:40]} == copies
        assert [hit.path for hit in found[:40]] == sorted(hit.path for hit in found[:40])


def test_an_index_that_a_kill_left_beside_a_newer_one_goes(indexed: LanceStore) -> None:
    many(indexed, 800)
    (old,) = [index.name for index in indexed._table.list_indices() if index.columns == ["embedding"]]
    from lancedb.index import IvfRq

    with indexed.writing():
        config = IvfRq(distance_type="dot", num_partitions=4)
        indexed._table.create_index("embedding", config=config, name="embedding_4")
        indexed.maintain()
    assert [i.name for i in indexed._table.list_indices() if i.columns == ["embedding"]] == [old]


def unflushed(store: LanceStore) -> list[Path]:
    """Write rows as a writer does that a power cut hits before it flushes; gives the files of these."""
    table = store.folder / f"{store._name}.lance"
    before = set(table.rglob("*"))
    with store.writing(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "_sync", lambda: None)
        store.upsert([make_item(1000), make_item(1001)])
    return [path for path in sorted(set(table.rglob("*")) - before) if path.is_file()]


@pytest.mark.parametrize("lost", ["none", "manifest", "lance", "all"])
def test_a_power_cut_costs_only_what_was_not_flushed(store: LanceStore, lost: str) -> None:
    for path in unflushed(store):
        if lost == "all" or path.suffix == f".{lost}":
            path.write_bytes(b"")
    again = LanceStore(store.folder)
    assert again.count() == len(list(again.files())) == COUNT
    assert again.search(ITEMS[7].embedding[None], k=1, where=Filter())[0][0].id == ITEMS[7].info.id
    with again.writing():
        assert len(list(again.files())) == COUNT
        again.upsert([make_item(1000)])
        again._optimize()
    assert LanceStore(store.folder).count() == again.count() == store.count() == COUNT + 1


def test_readers_see_rows_once_they_are_flushed(store: LanceStore) -> None:
    reader = LanceStore(store.folder)
    with store.writing():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(store, "_sync", lambda: None)
            store.upsert([make_item(1000)])
        assert (reader.count(), store.count()) == (COUNT, COUNT + 1)
        store.upsert([make_item(1001)])
        assert reader.count() == COUNT + 2


def test_merging_small_files_changes_nothing(store: LanceStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lance, "FEW_FILES", 1)
    reader = LanceStore(store.folder)
    with store.writing():
        store.delete(["0007"])
        files = store._table.stats()["fragment_stats"]["num_fragments"]
        store.maintain()
        assert store._table.stats()["fragment_stats"]["num_fragments"] < files
    for each in (store, reader):
        (hits,) = each.search(ITEMS[3].embedding[None], k=100, where=Filter())
        assert {hit.id for hit in hits} == {item.info.id for item in ITEMS} - {"0007"}
        assert len(hits) == COUNT - 1 and hits[0].id == "0003"


def test_every_file_is_flushed_before_a_write_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: set[Path] = set()
    from lingvis.collection.stores.lance import durable

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


def test_a_missing_table_gets_a_sentence(store: LanceStore) -> None:
    file = store.folder / "collection.json"
    file.write_text(file.read_text().replace("items-", "items-0"))
    with pytest.raises(UserError, match=r"c\.lv is damaged \(.*items-0.*\); restore the folder from a copy"):
        LanceStore(store.folder)


def test_files_out_of_reach_are_not_called_damaged(store: LanceStore) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.open(os.devnull, os.O_RDONLY)  # the lowest number that is free
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, hard))
    try:
        with pytest.raises((UserError, OSError), match="Too many open files") as caught:
            list(store.files())
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert "delete" not in str(caught.value)
    assert len(list(store.files())) == COUNT

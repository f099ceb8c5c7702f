"""Vectors of PostgreSQL in our memory: the hits are those of comparing every row, whatever has changed since."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import psycopg
import pytest

from lingvis.collection.stores.open import create_store, open_store
from lingvis.collection.stores.postgres import held as held_vectors
from lingvis.collection.stores.postgres import search as postgres_search
from lingvis.collection.stores.postgres.search import Searcher
from lingvis.collection.stores.postgres.store import PostgresStore
from lingvis.collection.stores.records import EMBEDDING, Filter, Hit

from .rows import DIM, HEADER, make_item, unit

COUNT = 400
QUERIES = np.stack([unit(np.random.default_rng([7, number])) for number in range(3)])
FILTERS = [Filter(), Filter(folder="/p/it's"), Filter(max_size=20_000), Filter(max_size=300)]
PAGES = [(10, 0), (7, 7), (60, 350), (500, 0)]


def hold(store: PostgresStore) -> None:
    """Search until the vectors are in memory."""
    for _ in range(held_vectors.SEARCHES_BEFORE + 1):
        store.search(QUERIES[:1], k=1, where=Filter())
    store._held.wait()
    assert store._held._held[EMBEDDING].origin == store._state.origin


@pytest.fixture
def held(database: str) -> PostgresStore:
    store = create_store(database, HEADER)
    assert isinstance(store, PostgresStore)
    store.upsert([make_item(number) for number in range(COUNT)])
    hold(store)
    return store


def ids(results: list[list[Hit]]) -> list[list[tuple[int, str]]]:
    return [[(hit.rank, hit.id) for hit in hits] for hits in results]


def check(store: PostgresStore, database: str) -> None:
    """The hits are those that the server finds by comparing every row."""
    exact = open_store(database)
    assert isinstance(exact, PostgresStore)
    for where in FILTERS:
        for k, offset in PAGES:
            wanted = Searcher(exact._fetch, EMBEDDING).exactly(QUERIES, k, offset, where)
            found = store.search(QUERIES, k=k, offset=offset, where=where)
            assert ids(found) == ids(wanted), (where, k, offset)
            for hits, others in zip(found, wanted, strict=True):
                np.testing.assert_allclose([h.score for h in hits], [h.score for h in others], atol=1e-6)


def count_comparisons(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A list that grows by one whenever the server compares every row."""
    calls: list[int] = []
    exactly = Searcher.exactly

    def counted(self: Searcher, *arguments: Any) -> list[list[Hit]]:
        calls.append(1)
        return exactly(self, *arguments)

    monkeypatch.setattr(Searcher, "exactly", counted)
    return calls


def test_hits_are_those_of_comparing_every_row(held: PostgresStore, database: str) -> None:
    check(held, database)


def test_the_server_compares_only_what_memory_cannot(
    held: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_search, "FILTERED", 50)
    calls = count_comparisons(monkeypatch)
    held.search(QUERIES, k=10, where=Filter())
    held.search(
        QUERIES, k=10, where=Filter(max_size=20_000)
    )  # half of the rows: enough of the candidates pass
    assert not calls
    (hits, *_) = held.search(
        QUERIES, k=10, where=Filter(max_size=900)
    )  # ten rows, of which few are candidates
    assert sorted(hit.id for hit in hits) == [f"{number:04x}" for number in range(10)]
    assert calls
    monkeypatch.setattr(postgres_search, "MOST", 30)
    held.search(QUERIES, k=10, where=Filter())
    assert len(calls) == 2


def test_changes_are_seen_at_once(
    held: PostgresStore, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = held._held._held[EMBEDDING]
    writer = open_store(database)
    best = held.search(QUERIES, k=3, where=Filter())
    writer.delete([hits[0].id for hits in best])  # the best is gone
    check(held, database)
    moved = [
        replace(make_item(number), embedding=query)
        for number, query in zip((300, 301, 302), QUERIES, strict=True)
    ]
    writer.upsert(
        [*moved, make_item(COUNT + 1), make_item(COUNT + 2)]
    )  # far ones are now the best, others are new
    check(held, database)
    assert [hits[0].id for hits in held.search(QUERIES, k=3, where=Filter())] == ["012c", "012d", "012e"]
    assert held._held._held[EMBEDDING] is snapshot  # by the old snapshot
    calls = count_comparisons(monkeypatch)
    held.search(QUERIES, k=10, where=Filter())
    assert not calls


def test_a_change_that_was_under_way_while_loading_is_seen(database: str) -> None:
    store = create_store(database, HEADER)
    assert isinstance(store, PostgresStore)
    store.upsert([make_item(number) for number in range(COUNT)])
    far = store.search(QUERIES[:1], k=COUNT, where=Filter())[0][-1]
    with psycopg.connect(database) as slow:
        change = "UPDATE lingvis_items_1 SET changed = DEFAULT, embedding = %s::text::halfvec WHERE id = %s"
        slow.execute(change, [str(QUERIES[0].tolist()), far.id])  # not committed
        open_store(database).upsert([make_item(COUNT + 1)])  # a later transaction ends before
        hold(store)
        assert store.search(QUERIES[:1], k=1, where=Filter())[0][0].id != far.id
        slow.commit()
    assert store.search(QUERIES[:1], k=1, where=Filter())[0][0].id == far.id
    check(store, database)


def test_many_changes_are_loaded_again(held: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_search, "RENEWED", 5)
    first = held._held._held[EMBEDDING]
    held.upsert([make_item(number, seed=1) for number in range(10)])
    held._held._next_try.clear()
    held.search(QUERIES, k=1, where=Filter())
    held._held.wait()
    second = held._held._held[EMBEDDING]
    assert second is not first and second.since > first.since
    assert len(second.ids) == COUNT


def test_a_rebuilt_collection_is_not_answered_from_memory(held: PostgresStore, database: str) -> None:
    rebuilt = create_store(database, HEADER)
    rebuilt.upsert([make_item(1000)])
    assert ids(held.search(QUERIES[:1], k=3, where=Filter())) == [[(1, "03e8")]]
    held._held._next_try.clear()
    hold(held)
    check(held, database)


def test_few_searches_load_nothing_and_many_values_are_not_loaded(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = create_store(database, HEADER, exact_values=10 * DIM)
    assert isinstance(store, PostgresStore)
    store.upsert([make_item(number) for number in range(10)])
    loads: list[str] = []
    load: Callable[..., Any] = held_vectors.read_snapshot

    def counted(connection: Any, state: Any, column: str, most: int) -> Any:
        loads.append(column)
        return load(connection, state, column, most)

    monkeypatch.setattr(held_vectors, "read_snapshot", counted)
    for _ in range(held_vectors.SEARCHES_BEFORE):
        store.search(QUERIES, k=1, where=Filter())
    assert not loads
    store.search(QUERIES, k=1, where=Filter())
    store._held.wait()
    assert loads == [EMBEDDING] and store._held._held
    store.upsert([make_item(10)])
    store = PostgresStore(store._address, exact_values=10 * DIM)
    for _ in range(held_vectors.SEARCHES_BEFORE + 2):
        assert len(store.search(QUERIES, k=20, where=Filter())[0]) == 11
        store._held.wait()
    assert loads == [EMBEDDING, EMBEDDING] and not store._held._held  # and it does not try again at once
    assert store._held._next_try[store._state.origin, EMBEDDING] > time.monotonic() + 1000


def test_a_collection_that_grows_too_large_is_let_go(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_search, "RENEWED", 5)
    store = create_store(database, HEADER, exact_values=20 * DIM)
    assert isinstance(store, PostgresStore)
    store.upsert([make_item(number) for number in range(20)])
    hold(store)
    store.upsert([make_item(number) for number in range(20, 40)])
    store._held._next_try.clear()
    assert len(store.search(QUERIES[:1], k=50, where=Filter())[0]) == 40
    store._held.wait()
    assert not store._held._held
    assert len(store.search(QUERIES[:1], k=50, where=Filter())[0]) == 40


def test_copies_and_long_pages_do_not_load_again(held: PostgresStore, database: str) -> None:
    held.upsert([replace(make_item(number), embedding=QUERIES[0]) for number in range(100)])
    held._held._next_try.clear()
    held._held.load(held._state, EMBEDDING, held._pool.read)
    held._held.wait()
    held._held._next_try.clear()
    snapshot = held._held._held[EMBEDDING]
    check(held, database)  # more places than candidates, and more copies
    held._held.wait()
    assert held._held._held[EMBEDDING] is snapshot


def test_rows_of_a_backup_are_not_taken_for_changes(
    held: PostgresStore, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("UPDATE lingvis_items_1 SET changed = changed + 1000000000000")
    monkeypatch.setattr(postgres_search, "RENEWED", 5)
    held._held._next_try.clear()
    held._held.load(held._state, EMBEDDING, held._pool.read)
    held._held.wait()
    held._held._next_try.clear()
    snapshot = held._held._held[EMBEDDING]
    check(held, database)
    held._held.wait()
    assert held._held._held[EMBEDDING] is snapshot
    open_store(database).upsert([replace(make_item(5), embedding=QUERIES[0])])
    assert held.search(QUERIES[:1], k=1, where=Filter())[0][0].id == "0005"


def test_a_table_of_an_earlier_version_is_held_once_a_writer_has_added_the_column(database: str) -> None:
    store = create_store(database, HEADER)
    assert isinstance(store, PostgresStore)
    store.upsert([make_item(number) for number in range(COUNT)])
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("ALTER TABLE lingvis_items_1 DROP COLUMN changed")
    reader = open_store(database)
    assert isinstance(reader, PostgresStore)
    for _ in range(held_vectors.SEARCHES_BEFORE + 2):
        assert len(reader.search(QUERIES, k=5, where=Filter())[0]) == 5
        reader._held.wait()
    assert not reader._held._held
    open_store(database).upsert([make_item(3, seed=1)])  # adds the column
    reader.search(QUERIES, k=5, where=Filter())
    hold(reader)
    check(reader, database)
    open_store(database).upsert([replace(make_item(5), embedding=QUERIES[0])])
    assert reader.search(QUERIES[:1], k=1, where=Filter())[0][0].id == "0005"

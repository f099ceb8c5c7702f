"""The store on a real PostgreSQL: many writers, kills of clients and of the server, migrations, rights, the index."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest
from psycopg import sql
from starlette.exceptions import HTTPException

from lingvis.cli import main
from lingvis.collection.collection import Collection
from lingvis.collection.stores.open import create_store, open_store, shown, store_exists
from lingvis.collection.stores.postgres import connection as postgres_connection
from lingvis.collection.stores.postgres import hnsw as postgres_hnsw
from lingvis.collection.stores.postgres import migrations as postgres_migrations
from lingvis.collection.stores.postgres import search as postgres_search
from lingvis.collection.stores.postgres import state as states
from lingvis.collection.stores.postgres.address import is_postgres, parse
from lingvis.collection.stores.postgres.store import PostgresStore
from lingvis.collection.stores.records import Filter, Item
from lingvis.errors import UserError
from lingvis.serve.engine import SearchEngine
from lingvis.serve.queries import SearchQuery

from ..postgres import Server
from .conftest import make_pictures
from .rows import DIM, HEADER, make_item

WRITER = """
import sys
sys.path.insert(0, sys.argv[1])
from tests.collection.rows import make_item
from lingvis.collection.stores.open import open_store
store = open_store(sys.argv[2])
first, batches, step = map(int, sys.argv[3:])
with store.writing():
    for batch in range(batches):
        numbers = range(first + 20 * batch, first + 20 * batch + 20)
        store.upsert([make_item(number, seed=abs(step - 1)) for number in list(numbers)[::step]])
        print(batch, flush=True)
    store.maintain()
"""


def write(address: str, first: int, batches: int, step: int = 1) -> subprocess.Popen[str]:
    """Another process that adds 20 rows a batch and says when each is acknowledged."""
    root = str(Path(__file__).parents[2])
    command = [sys.executable, "-c", WRITER, root, address, str(first), str(batches), str(step)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ask(address: str, query: Any, *values: object) -> list[tuple[Any, ...]]:
    """What the database says."""
    with psycopg.connect(parse(address).conninfo, autocommit=True) as connection:
        cursor = connection.execute(query, values or None)
        return cursor.fetchall() if cursor.description else []


def test_several_processes_write_at_once(database: str) -> None:
    store = create_store(database, HEADER)
    writers = [
        write(database, 0, 30),
        write(database, 200, 30, step=-1),
    ]  # 400 ids in common, in other orders
    for writer in writers:
        out, err = writer.communicate(timeout=60)
        assert writer.returncode == 0, err
        assert len(out.split()) == 30
    assert store.count() == 800
    assert {row.id for row in store.files()} == {f"{number:04x}" for number in range(800)}
    (hits,) = store.search(make_item(650, seed=2).embedding[None], k=1, where=Filter())
    assert hits[0].id == f"{650:04x}"


def test_two_threads_that_meet_on_the_same_rows_both_get_through(database: str) -> None:
    create_store(database, HEADER)
    items = [make_item(number) for number in range(100)]
    start = threading.Barrier(2)

    def work(order: int) -> None:
        store = open_store(database)
        with store.writing():
            start.wait()
            for _ in range(10):
                store.upsert(items[::order])
                store.delete([item.info.id for item in items[::order]])
                store.upsert(items[::order])

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(work, (1, -1)))
    assert open_store(database).count() == 100  # whoever drops adds again


def test_a_killed_client_leaves_whole_batches_and_no_lock(database: str) -> None:
    store = create_store(database, HEADER)
    writer = write(database, 0, 10_000)
    assert writer.stdout is not None
    for line in writer.stdout:
        if int(line) == 5:
            break
    writer.send_signal(signal.SIGKILL)
    rest, _ = writer.communicate()
    acknowledged = 20 * (6 + len(rest.split()))
    held = {row.id for row in store.files()}
    assert {f"{number:04x}" for number in range(acknowledged)} <= held
    assert len(held) % 20 == 0
    for _ in range(100):  # the server notices that the client is gone when it has answered it
        try:
            assert create_store(database, HEADER).count() == 0
            break
        except UserError:
            pass
    else:
        raise AssertionError("the lock of a killed client stayed")


def test_a_killed_server_loses_nothing_and_clients_go_on(database: str, server: Server) -> None:
    store = create_store(database, HEADER)
    assert store.count() == 0  # a connection that will be lost waits in the pool
    writer = write(database, 0, 150)
    assert writer.stdout is not None
    for line in writer.stdout:
        if int(line) == 20:
            break
    server.kill()
    restart = threading.Timer(0.5, server.start)
    restart.start()
    held = {row.id for row in store.files()}
    assert {f"{number:04x}" for number in range(20 * 21)} <= held
    restart.join()
    _, err = writer.communicate(timeout=60)
    assert writer.returncode == 0, err
    assert store.count() == 20 * 150


def test_an_administrator_may_end_connections(database: str) -> None:
    store = create_store(database, HEADER)
    end = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE datname = current_database() AND application_name = 'lingvis'"
    )
    with store.writing():
        store.upsert([make_item(1)])
        assert store.count() == 1
        assert len(ask(database, end)) == 2  # the writer's and the reader's
        store.upsert([make_item(2)])
        with pytest.raises(UserError, match="another process is writing"):  # the lock was taken again
            create_store(database, HEADER)
    assert store.count() == 2


def test_a_server_that_stays_away_gets_a_sentence(
    database: str, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = create_store(database, HEADER)
    monkeypatch.setattr(postgres_connection, "PATIENCE", 0.3)
    with store.writing():
        server.kill()
        try:
            for action in (store.count, lambda: store.upsert([make_item(1)])):
                with pytest.raises(
                    UserError, match=r"went away and did not come back .* start it and try again"
                ):
                    action()
            with pytest.raises(UserError, match=r"cannot connect to .*refused.*; check the address"):
                open_store(database)
        finally:
            server.start()
        store.upsert([make_item(1)])
    assert store.count() == 1


def test_a_server_that_hangs_gets_a_sentence(
    database: str, server: Server, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its processes are stopped: the system still accepts connections for them, and nobody answers."""
    address = f"{database}?options=-c%20statement_timeout%3D1s&connect_timeout=2"
    Collection.create(address, model)
    collection = Collection.open(address)
    engine = SearchEngine(collection)
    assert engine.search(SearchQuery.model_validate({"q": ["a dog"]}))[1] == []
    writer = open_store(address)
    silent = r"the server of .* does not answer \((no answer within \d+ seconds|connection timeout expired)\)"
    with server.stopped():
        began = time.monotonic()
        with pytest.raises(UserError, match=silent):
            collection.store.count()
        assert time.monotonic() - began < 20
        with pytest.raises(HTTPException, match=r"503: the collection cannot be read; ask again later"):
            engine.search(SearchQuery.model_validate({"q": ["a dog"]}))
        with pytest.raises(UserError, match=silent), writer.writing():
            pass
        with pytest.raises(SystemExit) as ended:
            main(["search", address, "a dog"])
        assert ended.value.code == 2
        assert re.fullmatch(
            r"lingvis: cannot connect to .* \(connection timeout expired\); check .*\n",
            capsys.readouterr().err,
        )
        assert time.monotonic() - began < 60
    assert collection.store.count() == 0


def test_a_long_statement_ends(database: str) -> None:
    store = create_store(f"{database}?options=-c%20statement_timeout%3D1s", HEADER)
    assert isinstance(store, PostgresStore)
    with pytest.raises(UserError, match=r"cannot do this now: canceling statement due to statement timeout"):
        store._fetch(lambda _: (sql.Composed([sql.SQL("SELECT pg_sleep(20)")]), []))
    assert store.count() == 0


def test_rebuilds_and_other_models_wait_for_writers(database: str) -> None:
    store, other = create_store(database, HEADER), open_store(database)
    learnt = HEADER.model_copy(update={"text_fingerprint": "c"})
    moved = HEADER.model_copy(update={"model": "/elsewhere"})
    with store.writing(), other.writing():
        for wrong in (lambda: create_store(database, HEADER), lambda: other.replace_header(learnt)):
            with pytest.raises(
                UserError, match=r"another process is writing to postgresql://.*collection=pictures"
            ):
                wrong()
        other.replace_header(moved)
    assert open_store(database).header == moved
    with store.writing():
        store.replace_header(learnt)
        with pytest.raises(UserError, match="another process is writing"), open_store(database).writing():
            pass
    with open_store(database).writing():
        pass


def test_migrations_run_once_and_completely(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    good = postgres_migrations.MIGRATIONS
    monkeypatch.setattr(postgres_migrations, "MIGRATIONS", (*good, "CREATE TABLE x (y nonsense)"))
    with pytest.raises(psycopg.errors.UndefinedObject):
        create_store(database, HEADER)
    assert ask(database, "SELECT to_regclass('lingvis_migrations'), to_regclass('lingvis_collections')") == [
        (None, None)
    ]
    monkeypatch.setattr(postgres_migrations, "MIGRATIONS", good)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda name: create_store(f"{database}?collection={name}", HEADER), "abcd"))
    assert ask(database, "SELECT version FROM lingvis_migrations ORDER BY 1") == [(1,), (2,)]
    assert not store_exists(database) and store_exists(f"{database}?collection=c")
    monkeypatch.setattr(
        postgres_migrations, "MIGRATIONS", (*good, "ALTER TABLE lingvis_collections ADD extra int")
    )
    assert open_store(f"{database}?collection=a").count() == 0
    assert ask(database, "SELECT version FROM lingvis_migrations ORDER BY 1") == [(1,), (2,), (3,)]
    monkeypatch.setattr(postgres_migrations, "MIGRATIONS", good)
    with pytest.raises(UserError, match="have version 3, this lingvis supports 2; upgrade it"):
        open_store(f"{database}?collection=a")


def test_wrong_addresses_get_a_sentence_without_the_password(server: Server, database: str) -> None:
    secret = "hunter-2"
    cases = {
        server.address(
            "postgres", password=secret
        ): r"password authentication failed.*; give it in the address, in",
        server.address(
            "nowhere"
        ): r'database "nowhere" does not exist\); create it .see docs.*, or name another one',
        f"postgresql://u:{secret}@127.0.0.1:1/x": r"refused.*; check the address, and that the server runs",
        f"postgresql://u:{secret}@nothing.invalid/x": r"nothing.invalid.*; check the address",
        f"{database}?chair=1": "has unknown options",
        f"postgresql://u:{secret}/x@host/x": "the address of the collection is not valid; write postgresql://USER",
        f"postgresql://u:{secret}#x@host/x": "not valid",
        f"postgresql://u:{secret}?x@host/x": "not valid",
        f"postgresql://u:a@{secret}@host/x": "not valid",
        f"postgresql://u:{secret}:host/x": "not valid",
        f"{database}?collection=a%20b": "invalid collection name 'a b'; use up to 63 letters",
        f"{database}?collection=": "invalid collection name ''",
    }
    for address, sentence in cases.items():
        with pytest.raises(UserError, match=sentence) as caught:
            open_store(address)
        assert secret not in str(caught.value)
        assert server.password.removesuffix("&") not in str(caught.value)
    assert is_postgres("postgres://h/d") and not is_postgres("photos.lv") and not is_postgres("postgresql")
    assert shown("postgresql://me:a%40b@h1:1,[::1]:2/d?sslmode=require&collection=x&password=p") == (
        "postgresql://me@h1:1,[::1]:2/d?collection=x"
    )
    assert parse("postgresql:///d?host=/tmp/a&collection=x").conninfo == "postgresql:///d?host=%2Ftmp%2Fa"


def test_rights_and_encodings_get_a_sentence(server: Server, database: str) -> None:
    name = f"reader_{parse(database).conninfo.rpartition('/')[2]}"
    ask(database, psycopg.sql.SQL("CREATE ROLE {} LOGIN PASSWORD 'x'").format(psycopg.sql.Identifier(name)))
    reading = server.address(database.rpartition("/")[2], user=name, password="x")
    with pytest.raises(UserError, match="no collection at"):
        open_store(reading)
    with pytest.raises(UserError, match=r"may not add pgvector.*CREATE EXTENSION vector"):
        create_store(reading, HEADER)
    store = create_store(database, HEADER)
    with store.writing():
        store.upsert([make_item(3)])
    with pytest.raises(UserError, match=r"lacks a permission \(permission denied"):
        open_store(reading)
    ask(
        database,
        psycopg.sql.SQL("GRANT SELECT ON ALL TABLES IN SCHEMA public TO {}").format(
            psycopg.sql.Identifier(name)
        ),
    )
    reader = open_store(reading)
    assert reader.search(make_item(3).embedding[None], k=1, where=Filter())[0][0].id == "0003"
    with reader.writing():
        with pytest.raises(UserError, match=r"lacks a permission .*permission denied for table"):
            reader.upsert([make_item(4)])
        reader.maintain()  # is the owner's work: passed over
    ask(server.address("postgres"), "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0 LOCALE 'C'")
    with pytest.raises(UserError, match="has the encoding LATIN1; make one with: createdb --encoding UTF8"):
        create_store(server.address("latin"), HEADER)


def test_damage_gets_a_sentence(database: str) -> None:
    create_store(database, HEADER)
    ask(database, "UPDATE lingvis_collections SET header = header || '{\"format\": 9}'")
    with pytest.raises(UserError, match="collection format 9, this version reads 1"):
        open_store(database)
    ask(database, "UPDATE lingvis_collections SET header = '{\"format\": 1}'")
    with pytest.raises(UserError, match=r"the header of .* is damaged"):
        open_store(database)
    store = create_store(database, HEADER)
    ask(database, "DROP TABLE lingvis_items_2")
    with pytest.raises(UserError, match=r"its table lingvis_items_2 is gone"):
        store.count()
    assert create_store(database, HEADER).count() == 0


@pytest.fixture
def indexed(database: str, monkeypatch: pytest.MonkeyPatch) -> tuple[PostgresStore, Any]:
    """3,000 rows in clusters with an index, and a source of more vectors."""
    generator = np.random.default_rng(5)
    centres = generator.normal(size=(40, DIM))

    def draw(count: int) -> np.ndarray[Any, np.dtype[np.float32]]:
        vectors = centres[generator.integers(40, size=count)] + 0.7 * generator.normal(size=(count, DIM))
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)

    # Without this the server would rightly rather sort so small a table than read its index.
    ask(
        database,
        psycopg.sql.SQL("ALTER DATABASE {} SET enable_sort = off").format(
            psycopg.sql.Identifier(database.rpartition("/")[2])
        ),
    )
    store = PostgresStore.create(parse(database), HEADER)
    entry = make_item(0).info
    with store.writing():
        store.upsert(
            [
                Item(
                    replace(
                        entry, id=f"{n:04x}", path=f"/m/{n % 100}/{n}", size=n, caption="x" if n % 2 else None
                    ),
                    vector,
                    b"",
                    vector if n % 2 else None,
                )
                for n, vector in enumerate(draw(3000))
            ]
        )
        store.maintain()
    assert hnsw_indexes(database) == []
    store = PostgresStore(parse(database), exact_values=2000 * DIM)
    store.maintain()
    return store, draw


def hnsw_indexes(address: str) -> list[str]:
    """The search indexes that are ready."""
    ready = "SELECT relname FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid WHERE indisvalid AND relname ~ 'hnsw$'"
    return sorted(name for (name,) in ask(address, ready))


def test_an_index_serves_until_the_new_one_is_there(
    indexed: tuple[PostgresStore, Any], database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, draw = indexed
    monkeypatch.setattr(postgres_hnsw, "NEIGHBOURS", 1000)  # more than may be
    with (
        psycopg.connect(database, autocommit=True) as connection,
        pytest.raises(psycopg.Error, match="1000 out"),
    ):
        postgres_hnsw.build(connection, "lingvis_items_1", "embedding", dim=DIM, rows=3000)  # type: ignore[arg-type]
    assert hnsw_indexes(database) == ["lingvis_items_1_embedding_hnsw"]
    assert len(store.search(draw(1), k=5, where=Filter())[0]) == 5


def test_a_search_is_one_question_that_follows_a_rebuild_and_an_index(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = create_store(database, HEADER)
    reader.upsert([make_item(1)])
    query = make_item(1).embedding[None]
    (hit,) = reader.search(query, k=3, where=Filter())[0]
    reads: list[int] = []
    read_state = states.read_state

    def counted(*arguments: Any) -> Any:
        reads.append(1)
        return read_state(*arguments)

    monkeypatch.setattr(states, "read_state", counted)
    assert reader.search(query, k=3, where=Filter())[0] == [hit]
    assert reader.info(hit.id) == hit.info
    assert not reads  # the state has come with the answer
    rebuilt = create_store(database, HEADER)  # drops the table that the reader asks
    rebuilt.upsert([make_item(2)])
    (other,) = reader.search(query, k=3, where=Filter())[0]
    assert other.info == make_item(2).info
    PostgresStore(parse(database), exact_values=0).maintain()
    assert reader.search(query, k=3, where=Filter())[0] == [other]
    assert "lingvis_items_2_embedding_hnsw" in reader._state.indexes  # type: ignore[attr-defined]
    create_store(database, HEADER.model_copy(update={"image_fingerprint": "another"}))
    with pytest.raises(UserError, match="was rebuilt with another model"):
        reader.search(query, k=3, where=Filter())


def scans(address: str) -> int:
    """How often the index was read."""
    ask(address, "SELECT pg_stat_force_next_flush()")
    (row,) = ask(address, "SELECT sum(idx_scan) FROM pg_stat_user_indexes WHERE indexrelname LIKE '%hnsw'")
    return int(row[0])


def test_the_index_finds_what_comparing_every_row_finds(
    indexed: tuple[PostgresStore, Any], database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, draw = indexed
    assert hnsw_indexes(database) == ["lingvis_items_1_embedding_hnsw"]  # 1,500 notes are too few
    queries = draw(10)
    filters = [Filter(), Filter(max_size=1500), Filter(folder="/m/7"), Filter(min_size=100, max_size=2990)]
    pages = [(10, 0), (10, 10), (200, 0), (300, 0), (20, 270)]
    asked = [(where, k, offset) for where in filters for k, offset in pages]
    before = scans(database)
    found = [store.search(queries, k=k, offset=offset, where=where) for where, k, offset in asked]
    del store._pool  # a session tells what it has counted when it ends
    assert scans(database) == before + len(queries) * len(asked)
    ask(database, "DROP INDEX lingvis_items_1_embedding_hnsw")
    exact = open_store(database)
    for (where, k, offset), hits in zip(asked, found, strict=True):
        wanted = exact.search(queries, k=k, offset=offset, where=where)
        shared = [len({h.id for h in a} & {h.id for h in b}) for a, b in zip(hits, wanted, strict=True)]
        assert sum(shared) >= 0.98 * sum(map(len, wanted)), (where, k, offset)
        assert [len(each) for each in hits] == [len(each) for each in wanted]
        for each in hits:
            assert [h.rank for h in each] == list(range(offset + 1, offset + 1 + len(each)))
            for part in (each[: 250 - offset], each[250 - offset :]) if offset < 250 else (each,):
                assert [h.score for h in part] == sorted((h.score for h in part), reverse=True)
        np.testing.assert_allclose(
            [h.score for h in hits[0][:1]],
            [h.score for h in wanted[0][:1]],
            atol=1e-6 if offset < 250 else 0.01,
        )


def test_a_narrow_filter_finds_all_though_the_index_gives_up(
    indexed: tuple[PostgresStore, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, draw = indexed
    monkeypatch.setattr(postgres_hnsw, "SCANNED", 1)
    for hits in store.search(draw(5), k=40, where=Filter(folder="/m/7")):
        assert sorted(hit.path for hit in hits) == sorted(f"/m/7/{n}" for n in range(7, 3000, 100))


def test_pages_from_the_index_do_not_overlap(indexed: tuple[PostgresStore, Any]) -> None:
    store, draw = indexed
    query = draw(1)
    twins = [
        replace(
            make_item(0),
            info=replace(make_item(0).info, id=f"t{n}", path=f"/t/{9 - n}"),
            embedding=query[0],
        )
        for n in range(9)
    ]
    store.upsert(twins)
    pages = [store.search(query, k=2, offset=offset, where=Filter())[0] for offset in range(0, 50, 2)]
    paths = [hit.path for page in pages for hit in page]
    assert paths[:9] == sorted(item.info.path for item in twins)
    assert len(paths) == len(set(paths)) == 50


@pytest.mark.parametrize("copies", [0, 700])
def test_pages_of_any_size_give_one_order(
    indexed: tuple[PostgresStore, Any], monkeypatch: pytest.MonkeyPatch, copies: int
) -> None:
    store, draw = indexed
    query = draw(1)
    item = make_item(0)
    store.upsert(  # more than there are candidates: the index gives some of them
        [
            replace(item, info=replace(item.info, id=f"t{n}", path=f"/t/{n}"), embedding=query[0])
            for n in range(copies)
        ]
    )
    if not copies:
        monkeypatch.setattr(postgres_search, "CANDIDATES", 252)
        monkeypatch.setattr(postgres_hnsw, "IN_VIEW", 60)  # so few that the index misses some of the best

    def read(size: int, end: int) -> list[tuple[int, str]]:
        pages = [
            store.search(query, k=size, offset=offset, where=Filter())[0] for offset in range(0, end, size)
        ]
        return [(hit.rank, hit.path) for page in pages for hit in page]

    by_48 = read(48, 960)
    assert len(by_48) == len(set(by_48)) == len({path for _, path in by_48}) == 960
    assert read(10, 400) == by_48[:400]
    assert read(960, 960) == by_48
    if copies:
        assert {path for _, path in by_48[:copies]} == {f"/t/{n}" for n in range(copies)}


def test_a_full_pool_is_waited_for_and_kept(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_connection, "CONNECTIONS", 2)
    monkeypatch.setattr(postgres_connection, "WAIT", 0.1)
    store = PostgresStore.create(parse(database), HEADER)
    pool = store._pool
    inner = pool._pool
    ours = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'lingvis'"
    begun = threading.Semaphore(0)

    def sleep(seconds: float) -> None:
        def action(connection: postgres_connection.Connection) -> None:
            begun.release()
            connection.execute("SELECT pg_sleep(%s)", [seconds])

        pool.read(action)

    with ThreadPoolExecutor(2) as threads:
        slow = [threads.submit(sleep, 0.8) for _ in range(2)]
        assert begun.acquire(timeout=10) and begun.acquire(timeout=10)
        assert store.count() == 0  # waits for one of them, longer than for a connection
        end = time.monotonic() + 10
        while (connections := ask(database, ours)) != [(2,)] and time.monotonic() < end:
            time.sleep(0.01)  # the server may not have ended the one that made the tables
        assert connections == [(2,)]
        for each in slow:
            each.result()
        assert pool._pool is inner
        monkeypatch.setattr(postgres_connection, "PATIENCE", 0.2)
        slow = [threads.submit(sleep, 1.0) for _ in range(2)]
        assert begun.acquire(timeout=10) and begun.acquire(timeout=10)
        with pytest.raises(UserError, match=r"was too busy for .*all 2 are in use\); try again"):
            store.count()
    assert store.count() == 0 and pool._pool is inner


def test_an_index_that_a_kill_left_unfinished_is_built_again(
    indexed: tuple[PostgresStore, Any], database: str
) -> None:
    store, draw = indexed
    valid = "SELECT indexrelid, indisvalid FROM pg_index WHERE indexrelid = 'lingvis_items_1_embedding_hnsw'::regclass"
    ask(
        database,
        "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'lingvis_items_1_embedding_hnsw'::regclass",
    )
    (left,) = ask(database, valid)
    assert not left[1]
    assert len(store.search(draw(1), k=10, where=Filter())[0]) == 10
    store.maintain()
    (built,) = ask(database, valid)
    assert built[1] and built[0] != left[0]
    store.maintain()
    assert ask(database, valid) == [built]


def test_the_index_is_built_when_the_load_is_over(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = create_store(database, HEADER, exact_values=10 * DIM)
    other = open_store(database, exact_values=10 * DIM)
    items = [make_item(number) for number in range(80)]
    with contextlib.suppress(KeyboardInterrupt), store.writing():
        store.upsert(items[:20])
        store.maintain()
        assert hnsw_indexes(database) == []  # later rows would be added to it one by one
        raise KeyboardInterrupt
    assert hnsw_indexes(database) == []
    with store.writing():
        store.upsert(items[20:40])
    assert hnsw_indexes(database) == []  # nobody has asked for it
    with other.writing():
        with store.writing():
            store.upsert(items[40:60])
            store.maintain()
        assert hnsw_indexes(database) == []  # the last writer has the care of it
        other.upsert(items[60:])
        other.maintain()
    assert hnsw_indexes(database) == ["lingvis_items_1_embedding_hnsw", "lingvis_items_1_note_embedding_hnsw"]
    assert store.count() == 80


def test_no_rebuild_while_the_index_is_built(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = create_store(database, HEADER, exact_values=0)
    store.upsert([make_item(1)])
    told: list[str] = []

    def build(*_: object, **__: object) -> None:
        for action in (
            lambda: create_store(database, HEADER),
            lambda: open_store(database, exact_values=0).maintain(),
        ):
            try:
                action()
                told.append("done")
            except UserError as error:
                told.append(str(error))

    monkeypatch.setattr(postgres_hnsw, "build", build)
    store.maintain()
    assert len(told) == 2 and "another process is writing" in told[0]
    assert told[1] == "done"  # and it did not build, for another is at it


def test_many_questions_at_once_are_answered_as_one_by_one(indexed: tuple[PostgresStore, Any]) -> None:
    store, draw = indexed
    queries = draw(12)
    for where, k, offset in (
        (Filter(), 10, 3),
        (Filter(folder="/m/7"), 40, 0),
        (Filter(), 5, 298),
        (Filter(max_size=0), 3, 1),
    ):
        together = store.search(queries, k=k, offset=offset, where=where)
        assert together == [
            store.search(query[None], k=k, offset=offset, where=where)[0] for query in queries
        ]
        assert len({hit.id for hits in together for hit in hits}) > 0 or offset == 1
    assert store.search(queries[:0], k=3, where=Filter()) == []


def test_a_server_without_pgvector_gets_a_sentence(database: str) -> None:
    name = psycopg.sql.Identifier(database.rpartition("/")[2])
    ask(database, psycopg.sql.SQL("ALTER DATABASE {} SET extension_control_path = '/nowhere'").format(name))
    with pytest.raises(
        UserError, match=r"the server of .* has no pgvector; install it there \(Debian: postgresql-NN"
    ):
        create_store(database, HEADER)
    assert not store_exists(database)
    ask(database, psycopg.sql.SQL("ALTER DATABASE {} RESET extension_control_path").format(name))
    assert create_store(database, HEADER).count() == 0


def test_who_comes_second_opens_what_the_first_is_filling(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = create_store(database, HEADER)
    with first.writing():
        first.upsert([make_item(1)])
        monkeypatch.setattr(PostgresStore, "exists", lambda _: False)  # as it was when the second one looked
        second = create_store(database, HEADER, replace=False)
        with second.writing():
            second.upsert([make_item(2)])
    assert first.count() == second.count() == 2
    assert ask(database, "SELECT count(*) FROM pg_tables WHERE tablename ~ '^lingvis_items'") == [(1,)]


def test_two_whole_commands_fill_one_collection(model: Path, tmp_path: Path, database: str) -> None:
    command = [sys.executable, "-c", "from lingvis.cli import main; main()", "index", database]
    running = []
    for number in range(2):
        make_pictures(tmp_path / str(number), 4, first=4 * number)
        words = [*command, str(tmp_path / str(number)), "--model", str(model), "--json"]
        running.append(subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
    for process in running:
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        assert json.loads(out)["added"] == 4
    paths = [row.path for row in open_store(database).files()]
    assert sorted(paths) == sorted(str(tmp_path / str(n // 4) / f"{n:03}.png") for n in range(8))


def test_the_command_line_takes_a_server(
    model: Path, photos: Path, database: str, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    def call(*words: str) -> str:
        main([*words])
        return capsys.readouterr().out

    address = f"{database}?collection=photos"
    (photos / "000.txt").write_text("a dog\0 on the beach")
    told = call("index", address, str(photos), "--model", str(model))
    assert "/photos" not in told and server.password.removesuffix("&") not in told
    assert told.endswith("collection=photos: 5 pictures; 5 added, 0 updated, 0 unchanged, 0 pruned\n")
    (photos / "001.png").unlink()
    report = json.loads(call("index", address, str(photos), "--prune", "--json"))
    assert (report["added"], report["updated"], report["unchanged"], report["pruned"]) == (0, 0, 4, 1)
    hits = json.loads(call("search", address, "--image", str(photos / "003.png"), "-k", "2", "--json"))
    assert [hit["rank"] for hit in hits] == [1, 2] and hits[0]["path"] == str(photos / "003.png")
    assert "4 added" in call("index", address, str(photos), "--rebuild")
    with pytest.raises(SystemExit) as ended:
        main(["search", "postgresql://u:hunter-2@127.0.0.1:1/x", "a"])
    told = capsys.readouterr().err
    assert ended.value.code == 2 and "cannot connect to postgresql://u@127.0.0.1:1/x" in told
    assert "Traceback" not in told and "hunter" not in told


def test_a_table_of_an_earlier_version_is_read_and_gets_the_new_columns(database: str) -> None:
    store = create_store(database, HEADER)
    with store.writing():
        store.upsert([make_item(number) for number in range(6)])
    ((table,),) = ask(database, "SELECT 'lingvis_items_' || table_number FROM lingvis_collections")
    ask(database, f"ALTER TABLE {table} DROP camera, DROP latitude, DROP longitude, DROP signature")
    old = open_store(database)
    everywhere = Filter(area=(-90, -180, 90, 180))
    assert [(info.id, info.camera) for info in old.browse(k=2, where=Filter())] == [
        ("0005", None),
        ("0004", None),
    ]
    assert old.items(["0001"])[0].info.latitude is None
    query = make_item(1).embedding[None]
    assert old.search(query, k=1, where=Filter())[0][0].id == "0001"
    assert old.search(query, k=1, where=everywhere) == [[]]
    assert (old.places(Filter(), step=1), old.browse(k=9, where=everywhere)) == ([], [])
    with old.writing():
        old.upsert([make_item(5), make_item(10)])
    assert list(old.browse(k=9, where=everywhere)) == [make_item(10).info, make_item(5).info]
    assert old.items(["0005"])[0].info == make_item(5).info

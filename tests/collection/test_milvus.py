"""The store on a real Milvus: addresses, one writer, servers that fail, the graph, thumbnails in a folder."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lingvis import Collection
from lingvis.cli import main
from lingvis.collection.stores.milvus import lock as milvus_lock
from lingvis.collection.stores.milvus import search as milvus_search
from lingvis.collection.stores.milvus.address import is_milvus, parse
from lingvis.collection.stores.milvus.connection import Connection
from lingvis.collection.stores.milvus.index import is_flat
from lingvis.collection.stores.milvus.state import HEADER as HEADER_PROPERTY
from lingvis.collection.stores.milvus.state import read_state
from lingvis.collection.stores.open import create_store, open_store, shown, store_exists
from lingvis.collection.stores.records import Filter
from lingvis.errors import UserError
from studies.search.milvus import MilvusServer, has_server

from ..milvus import SETTINGS, Server
from .conftest import make_pictures
from .rows import HEADER, make_item

WRITER = """
import sys, time
sys.path.insert(0, sys.argv[1])
from tests.collection.rows import make_item
from lingvis.collection.stores.open import open_store
store = open_store(sys.argv[2])
with store.writing():
    store.upsert([make_item(1)])
    print("written", flush=True)
    time.sleep(600)
"""
INDEXER = """
import sys
sys.path.insert(0, sys.argv[1])
from tests.collection.rows import make_item
from lingvis.collection.stores.milvus import lock
from lingvis.collection.stores.open import open_store
from lingvis.errors import UserError
lock.LEASE = 2.0
store = open_store(sys.argv[2])
try:
    with store.writing():
        known = {row.id for row in store.files()}
        for first in range(0, 800, 20):
            store.upsert([make_item(n) for n in range(first, first + 20) if f"{n:04x}" not in known])
            print(first, flush=True)
except UserError as error:
    print("sentence", error, flush=True)
"""


def connect(address: str) -> Connection:
    return Connection(parse(address))


def test_addresses() -> None:
    assert is_milvus("milvus://h/x") and not is_milvus("postgresql://h/x") and not is_milvus("milvus")
    simple = parse("milvus://db.example.org/photos")
    assert (simple.uri, simple.token, simple.collection) == ("http://db.example.org:19530", "", "photos")
    full = parse(
        "milvus://anna:s%40%2F@[::1]:7/p_1?database=art&tls=true&shards=4&replicas=2&timeout=5&thumbnails=/t"
    )
    assert (full.uri, full.token) == ("https://[::1]:7", "anna:s@/")
    assert (full.database, full.shards, full.replicas, full.timeout) == ("art", 4, 2, 5.0)
    assert full.thumbnails == "/t"
    assert shown("milvus://anna:secret@h/x?database=art") == "milvus://anna@h:19530/x?database=art"
    assert "secret" not in repr(parse("milvus://anna:secret@h/x"))


@pytest.mark.parametrize(
    ("rest", "sentence"),
    [
        ("h:port/x", "address of the collection is not valid"),
        ("u:a@b@h/x", "address of the collection is not valid"),
        ("h/", "invalid collection name ''"),
        ("h/a-b", "invalid collection name 'a-b'"),
        ("h/x?database=a.b", "invalid database name"),
        ("h/x?colour=red", r"unknown options \(colour\); after the question mark may follow: database"),
        ("h/x?tls=yes", "tls must be true or false"),
        ("h/x?shards=0", "shards must be a number from 1 to 16, got '0'"),
        ("h/x?timeout=nan", "timeout must be a number of seconds"),
        ("h/x?thumbnails=here", "thumbnails must be the absolute path of a folder"),
    ],
)
def test_addresses_that_are_not_allowed(rest: str, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        parse(f"milvus://{rest}")


def test_one_process_writes_at_a_time(milvus: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    address = milvus.address("lease")
    store = create_store(address, HEADER)
    root = str(Path(__file__).parents[2])
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, root, address], stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout is not None and writer.stdout.readline() == "written\n"
    refused = r"another process is writing to milvus://root@.*/lease; try again when .* in \d+ seconds"
    with pytest.raises(UserError, match=refused), store.writing():
        pass
    with pytest.raises(UserError, match=refused):
        create_store(address, HEADER)
    writer.send_signal(signal.SIGKILL)
    writer.communicate()
    assert store.count() == 1
    monkeypatch.setattr(milvus_lock, "LEASE", 1.0)
    time.sleep(1.2)
    with store.writing():  # the lease of the killed process has ended; its own is renewed
        time.sleep(1.5)
        store.upsert([make_item(2)])
        monkeypatch.setattr(milvus_lock, "LEASE", -1.0)  # another one that takes it for dead
        with open_store(address).writing(), pytest.raises(UserError, match="stood still for too long"):
            store.upsert([make_item(3)])
    assert store.count() == 2


def test_servers_that_cannot_be_used_get_a_sentence(milvus: Server) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        with pytest.raises(UserError, match=r"cannot connect to milvus://127.*refused.*; check the address"):
            open_store(f"milvus://127.0.0.1:{free.getsockname()[1]}/x?timeout=2")
        free.listen()
        with pytest.raises(UserError, match=r"does not answer \(no answer within 1 seconds\)"):
            open_store(f"milvus://127.0.0.1:{free.getsockname()[1]}/x?timeout=1")
    with pytest.raises(UserError, match=r"cannot connect to milvus://no.such.host.invalid:19530/x"):
        open_store("milvus://no.such.host.invalid/x?timeout=2")
    refused = r"does not accept the user or the password \(.*\); give both in the address"
    with pytest.raises(UserError, match=refused) as caught:
        open_store(milvus.address("x", password="mistaken"))
    assert "mistaken" not in str(caught.value)
    with pytest.raises(UserError, match=refused):
        open_store(f"milvus://127.0.0.1:{milvus.port}/x")
    with pytest.raises(UserError, match="has no database 'none'; create it, or name another one"):
        open_store(milvus.address("x", options="?database=none"))


def test_a_server_that_hangs_gets_a_sentence_and_goes_on(milvus: Server) -> None:
    store = create_store(milvus.address("hangs", options="?timeout=1"), HEADER)
    with milvus.stopped():
        began = time.monotonic()
        for action in (store.count, lambda: store.browse(k=1, where=Filter())):
            with pytest.raises(UserError, match=r"does not answer \(no answer within 1 seconds\)"):
                action()
        assert time.monotonic() - began < 10
    assert store.count() == 0


def test_names_headers_and_formats_of_others(milvus: Server) -> None:
    taken = milvus.address("taken")
    connect(taken).client.create_collection("lingvis_taken", dimension=4)
    sentence = r"the name lingvis_taken on the server .* choose another name"
    with pytest.raises(UserError, match=sentence):
        open_store(taken)
    with pytest.raises(UserError, match=sentence):
        create_store(taken, HEADER)
    address = milvus.address("header")
    create_store(address, HEADER)
    connection = connect(address)
    rows, change = read_state(connection).rows, connection.client.alter_collection_properties
    change(rows, {HEADER_PROPERTY: json.dumps({**HEADER.model_dump(), "format": 9})})
    with pytest.raises(UserError, match=r"has collection format 9, this version reads 1; upgrade lingvis"):
        open_store(address)
    change(rows, {HEADER_PROPERTY: "{}"})
    with pytest.raises(UserError, match=r"the header of .* is damaged; restore a backup, or"):
        open_store(address)


def test_a_graph_fills_pages_without_overlap(milvus: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(milvus_search, "STEPS", (32, 128, 16_384))
    address = milvus.address("graph")
    store = create_store(address, HEADER, exact_values=50_000)
    items = [make_item(number) for number in range(1200)]
    with store.writing():
        store.upsert(items[:700])
        store.maintain()
        assert is_flat(connect(address), read_state(connect(address)).rows)
        store.upsert(items[700:])
        store.maintain()
    assert not is_flat(connect(address), read_state(connect(address)).rows)
    query = items[7].embedding
    scores = np.stack([item.embedding for item in items]) @ query
    pages = [store.search(query[None], k=50, offset=start, where=Filter())[0] for start in range(0, 1200, 50)]
    found = [hit.id for page in pages for hit in page]
    assert len(found) == len(set(found)) == 1200 and found[0] == items[7].info.id
    best = {items[place].info.id for place in np.argsort(-scores)[:100]}
    assert len(best & set(found[:100])) >= 98
    half = store.search(query[None], k=2000, where=Filter(format="png"))[0]
    assert {hit.id for hit in half} == {item.info.id for item in items if item.info.format == "png"}


def test_more_places_than_milvus_has_get_a_sentence(milvus: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(milvus_search, "WINDOW", 30)
    store = create_store(milvus.address("window"), HEADER)
    store.upsert([make_item(number) for number in range(40)])
    query = make_item(1).embedding[None]
    assert len(store.search(query, k=30, where=Filter())[0]) == 30
    assert len(store.search(query, k=100, where=Filter(format="png"))[0]) == 20
    with pytest.raises(UserError, match="at most 30 places, got k and offset up to place 31; use a filter"):
        store.search(query, k=1, offset=30, where=Filter())


def test_thumbnails_in_a_folder(milvus: Server, tmp_path: Path) -> None:
    address = milvus.address("thumbs", options=f"?thumbnails={tmp_path}")
    store = create_store(address, HEADER)
    items = [replace(make_item(number), thumbnail=bytes([number]) * 9) for number in range(5)]
    store.upsert(items)
    plain = open_store(milvus.address("thumbs"))  # the collection knows its folder
    assert plain.thumbnail("0003") == items[3].thumbnail
    assert {item.thumbnail for item in plain.items(["0001", "0002"])} == {bytes([1]) * 9, bytes([2]) * 9}
    store.delete(["0001"])
    assert len(list(tmp_path.rglob("*.jpg"))) == 4 and plain.thumbnail("0001") is None
    create_store(address, HEADER)
    assert list(tmp_path.rglob("*.jpg")) == []
    closed = tmp_path / "file"
    closed.touch()
    elsewhere = open_store(milvus.address("thumbs", options=f"?thumbnails={closed}"))
    with pytest.raises(UserError, match=r"cannot write thumbnails to .*; check the folder"):
        elsewhere.upsert(items)


def test_commands_and_several_collections(
    milvus: Server, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two collections of one server know nothing of each other; captions, a re-index and pruning as in a folder."""
    addresses = [milvus.address(name) for name in ("holiday", "work")]
    for number, address in enumerate(addresses):
        make_pictures(tmp_path / str(number), 2 + number, first=10 * number)
        (tmp_path / str(number) / f"{10 * number:03}.txt").write_text("a red dog on the beach")
        main(["index", address, str(tmp_path / str(number)), "--model", str(model)])
    assert f"milvus://root@127.0.0.1:{milvus.port}/work: 3 pictures; 3 added" in capsys.readouterr().out
    holiday, work = (Collection.open(address) for address in addresses)
    assert (holiday.store.count(), work.store.count()) == (2, 3)
    hits = holiday.search("a red dog on the beach", k=5)
    assert {Path(hit.path).name for hit in hits} == {"000.png", "001.png"}
    assert holiday.store.statistics().captions == 1
    (tmp_path / "0" / "001.png").unlink()
    main(["index", addresses[0], str(tmp_path / "0"), "--prune"])
    assert (holiday.store.count(), work.store.count()) == (1, 3)


def test_shards_and_replicas(milvus: Server) -> None:
    with pytest.raises(
        UserError, match=r"cannot hold 2 replicas, each of which needs a query node.*add nodes"
    ):
        create_store(milvus.address("copies", options="?replicas=2"), HEADER)
    assert not store_exists(milvus.address("copies"))
    store = create_store(milvus.address("parts", options="?shards=3"), HEADER)
    items = [make_item(number) for number in range(60)]
    store.upsert(items)
    store.delete(["0001", "0004"])
    (hits,) = store.search(items[3].embedding[None], k=100, where=Filter())
    assert hits[0].id == "0003" and len(hits) == store.count() == len(list(store.files())) == 58


@pytest.mark.slow
def test_a_killed_server_loses_nothing_and_doubles_nothing(tmp_path: Path) -> None:
    if not has_server():
        pytest.skip("the package milvus, a server for Linux on x86-64, is not installed")
    root, server = str(Path(__file__).parents[2]), MilvusServer(tmp_path / "milvus", SETTINGS)

    def index(address: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", INDEXER, root, address]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    try:
        server.start()
        create_store(server.address("killed"), HEADER)
        acknowledged = 0
        for batches in (3, 9):  # until the kill, which hits a write on its way
            writer = index(server.address("killed", options="?timeout=5"))
            assert writer.stdout is not None
            said = [writer.stdout.readline() for _ in range(acknowledged // 20 + batches)]
            assert all(line.strip().isdecimal() for line in said), said
            os.kill(server.pid, signal.SIGKILL)
            *rest, last = writer.communicate(timeout=120)[0].splitlines()
            assert last.startswith("sentence "), last
            acknowledged = 20 * (len(said) + len(rest))
            server.stop()
            server.start()
            store = open_store(server.address("killed"))
            ids = [row.id for row in store.files()]
            assert len(ids) == len(set(ids)) == store.count()
            assert set(ids) >= {f"{n:04x}" for n in range(acknowledged)}
            time.sleep(2.5)  # the writer could not give its lock back
        writer = index(server.address("killed"))
        assert writer.communicate(timeout=120)[0].splitlines()[-1] == "780"
        store = open_store(server.address("killed"))
        assert sorted(row.id for row in store.files()) == [f"{n:04x}" for n in range(800)]
        items = {item.info.id: item for item in store.items([f"{n:04x}" for n in range(800)])}
        for n in range(800):
            expected = make_item(n)
            np.testing.assert_allclose(items[expected.info.id].embedding, expected.embedding, atol=1e-6)
            assert items[expected.info.id].info == expected.info
    finally:
        server.stop()

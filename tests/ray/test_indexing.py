"""Indexing on a real cluster of two nodes: the same rows, also when workers and a whole node are killed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from lingvis.collection.binding import describe
from lingvis.collection.stores.folder.header import is_collection
from lingvis.collection.stores.records import Item
from lingvis.collection.stores.sqlite.store import SqliteStore
from lingvis.collection.writer.found import ScannedFile
from lingvis.collection.writer.workers import EncodedPicture
from lingvis.errors import UserError
from lingvis.model.embedder import Embedder
from lingvis.ray.cluster import Cluster
from lingvis.ray.hashes import HashSet
from lingvis.ray.indexing import ClusterWorkers, ModelLoader

from ..collection.conftest import make_model, make_pictures
from ..collection.indexing import index_folders, make_indexer
from .conftest import workers_of


def items(collection: Path) -> dict[str, Item]:
    """By path; every path once."""
    store = SqliteStore(collection)
    found = store.items([row.id for row in store.files()])
    assert max(Counter(item.info.path for item in found).values(), default=1) == 1
    return {item.info.path: item for item in found}


def assert_same(first: Path, second: Path) -> None:
    one, other = items(first), items(second)
    assert one.keys() == other.keys()
    for path, item in one.items():
        assert item.info == other[path].info
        assert item.thumbnail == other[path].thumbnail
    for name in ("embedding", "caption_embedding"):
        pairs = [(getattr(item, name), getattr(other[path], name)) for path, item in one.items()]
        assert [a is None for a, _ in pairs] == [b is None for _, b in pairs]
        a, b = (np.array([pair[side] for pair in pairs if pair[side] is not None]) for side in (0, 1))
        np.testing.assert_allclose(a, b, atol=5e-4)
        if torch.get_num_threads() == 1:  # as on the workers
            np.testing.assert_array_equal(a, b)


def test_rows_and_reports_are_the_same(cluster: Cluster, model: Path, tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    make_pictures(photos, 11)
    shutil.copy(photos / "000.png", photos / "copy-of-0.png")
    os.utime(photos / "copy-of-0.png", (7, 7))  # its row is that of the first all the same
    (photos / "003.de.txt").write_text("ein roter Hund")
    (photos / "cut.png").write_bytes((photos / "001.png").read_bytes()[:60])
    (photos / "empty.jpg").touch()
    ours, theirs = tmp_path / "here.lv", tmp_path / "ray.lv"
    here = make_indexer(ours, model=model, batch_size=3, device="cpu")
    workers = partial(ClusterWorkers, cluster, device="cpu")
    spread = make_indexer(theirs, model=model, batch_size=3, device="cpu", spread=workers)
    first = here.run([photos])
    assert (first.added, len(first.broken)) == (12, 2)
    assert spread.run([photos]) == first
    assert_same(ours, theirs)
    # Touched, moved, changed, swapped, noted, new and gone.
    os.utime(photos / "002.png", (1, 1))
    (photos / "004.png").rename(photos / "moved.png")
    make_pictures(photos, 1, first=50)
    shutil.copy(photos / "050.png", photos / "005.png")
    (photos / "006.png").rename(photos / "x")
    (photos / "007.png").rename(photos / "006.png")
    (photos / "x").rename(photos / "007.png")
    os.utime(photos / "006.png", (5, 5))
    os.utime(photos / "007.png", (6, 6))
    (photos / "008.txt").write_text("the house")
    second = here.run([photos], prune=True)
    assert (second.added, second.updated, second.pruned) == (2, 5, 1)
    assert spread.run([photos], prune=True) == second
    assert_same(ours, theirs)
    assert spread.run([photos]).unchanged == 13


def test_a_killed_worker_and_a_lost_node_lose_and_double_nothing(
    cluster: Cluster, nodes: Any, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (second,) = nodes.worker_nodes
    paths = make_pictures(tmp_path / "photos", 40)
    killed: list[int] = []
    original, calls = SqliteStore.upsert, []

    def upsert(self: SqliteStore, rows: Sequence[Item]) -> None:
        original(self, rows)
        calls.append(len(rows))
        if len(calls) == 2:
            victim = workers_of(nodes.head_node)[0]
            os.kill(victim, signal.SIGKILL)
            killed.append(victim)
        if len(calls) == 6:
            nodes.remove_node(second, allow_graceful=False)

    monkeypatch.setattr(SqliteStore, "upsert", upsert)
    monkeypatch.setattr("lingvis.collection.writer.fill.STORED_ROWS", 2)
    collection = tmp_path / "photos.lv"
    report = index_folders(
        collection,
        [tmp_path / "photos"],
        model=model,
        batch_size=2,
        device="cpu",
        spread=partial(ClusterWorkers, cluster, device="cpu"),
    )
    assert killed and calls == [2] * 20
    assert report.added == report.pictures == 40 and not report.broken
    assert items(collection).keys() == {str(path) for path in paths}
    plain = tmp_path / "plain.lv"
    index_folders(plain, [tmp_path / "photos"], model=model, batch_size=2, device="cpu")
    assert_same(plain, collection)


def test_the_command_joins_a_cluster_and_stops_cleanly(nodes: Any, model: Path, tmp_path: Path) -> None:
    make_pictures(tmp_path / "photos", 600)
    collection = tmp_path / "photos.lv"
    command = [sys.executable, "-c", "from lingvis.cli import main; main()", "index", str(collection)]
    command += [str(tmp_path / "photos"), "--model", str(model), f"--ray={nodes.address}"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    stop = time.monotonic() + 180
    while process.poll() is None and time.monotonic() < stop:
        if is_collection(collection) and SqliteStore(collection).count():
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=90)
    assert process.returncode == 130, said
    others = [line for line in said.splitlines() if not line.startswith("index: ")]  # but the progress
    assert others == ["lingvis: stopped; run the same command again to continue where possible"]
    stored = len(items(collection))
    assert 0 < stored < 600
    while workers_of(nodes.head_node) and time.monotonic() < stop:
        time.sleep(0.1)
    assert not workers_of(nodes.head_node)


def test_a_worker_refuses_another_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "set_num_threads", lambda threads: None)  # of this process
    run = make_model(tmp_path / "run")
    loader = ModelLoader(describe(Embedder.load(run, device="cpu"), run))
    (photo,) = make_pictures(tmp_path, 1)
    found = ScannedFile(str(photo), photo.stat().st_size, photo.stat().st_mtime_ns)
    assert isinstance(loader(1, "cpu")([(found, False)], HashSet([]), 1, None).results[0], EncodedPicture)
    shutil.rmtree(run)
    with pytest.raises(UserError, match=r"no model at .*run on .*same path"):
        loader(1, "cpu")
    make_model(run, image_seed=1)
    with pytest.raises(UserError, match="differs from the one on this machine"):
        loader(1, "cpu")

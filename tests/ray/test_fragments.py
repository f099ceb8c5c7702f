"""Rows that workers on a real cluster write themselves: the same as with one writer, also when anything is killed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lingvis.collection.collection import Collection
from lingvis.collection.stores.contract import RowWriter
from lingvis.collection.stores.lance.store import LanceStore
from lingvis.collection.stores.records import Item
from lingvis.errors import UserError
from lingvis.ray.cluster import Cluster
from lingvis.ray.indexing import ClusterWorkers

from ..collection.conftest import make_pictures
from ..collection.indexing import index_folders
from .conftest import workers_of

pytest.importorskip("lance")


def items(collection: Path) -> dict[str, Item]:
    """By path; every path once."""
    store = LanceStore(collection)
    found = store.items([row.id for row in store.files()])
    assert max(Counter(item.info.path for item in found).values(), default=1) == 1
    return {item.info.path: item for item in found}


def assert_same(first: Path, second: Path) -> None:
    one, other = items(first), items(second)
    assert one.keys() == other.keys()
    for path, item in one.items():
        assert item.info == other[path].info
        assert item.thumbnail == other[path].thumbnail
        np.testing.assert_allclose(
            item.embedding, other[path].embedding, atol=1e-3
        )  # stored in half precision
        assert (item.caption_embedding is None) == (other[path].caption_embedding is None)


@pytest.fixture
def appended(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Numbers of rows that were added by name."""
    original, counts = LanceStore.append, list[int]()

    def append(self: LanceStore, names: Sequence[str], *, rows: int) -> None:
        original(self, names, rows=rows)
        counts.append(rows)

    monkeypatch.setattr(LanceStore, "append", append)
    return counts


def test_rows_and_reports_are_the_same(
    cluster: Cluster, model: Path, tmp_path: Path, appended: list[int]
) -> None:
    photos = tmp_path / "photos"
    make_pictures(photos, 11)
    shutil.copy(photos / "000.png", photos / "copy-of-0.png")
    os.utime(photos / "copy-of-0.png", (7, 7))
    (photos / "003.de.txt").write_text("ein roter Hund")
    (photos / "cut.png").write_bytes((photos / "001.png").read_bytes()[:60])
    (photos / "empty.jpg").touch()
    ours, theirs = tmp_path / "here.lv", tmp_path / "ray.lv"
    here = Collection(ours, model=model, device="cpu", engine="lance").indexer(batch_size=3)
    workers = partial(ClusterWorkers, cluster, device="cpu")
    opened = Collection(theirs, model=model, device="cpu", engine="lance")
    spread = opened.indexer(batch_size=3, spread=workers)
    first = here.run([photos])
    assert (first.added, len(first.broken)) == (12, 2)
    assert not appended
    assert spread.run([photos]) == first
    assert sum(appended) == 11  # all but the one with a caption
    assert_same(ours, theirs)
    # Touched, moved, changed, noted, new, a copy of a stored one, and gone.
    os.utime(photos / "002.png", (1, 1))
    (photos / "004.png").rename(photos / "moved.png")
    make_pictures(photos, 2, first=50)
    shutil.copy(photos / "050.png", photos / "005.png")
    shutil.copy(photos / "001.png", photos / "copy-of-1.png")
    (photos / "008.txt").write_text("the house")
    appended.clear()
    second = here.run([photos], prune=True)
    assert (second.added, second.updated, second.pruned) == (4, 3, 1)
    assert spread.run([photos], prune=True) == second
    assert sum(appended) == 2  # the new ones
    assert_same(ours, theirs)
    assert spread.run([photos]).unchanged == 15


def test_a_killed_worker_and_a_lost_node_lose_and_double_nothing(
    cluster: Cluster, nodes: Any, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (second,) = nodes.worker_nodes
    paths = make_pictures(tmp_path / "photos", 40)
    original, counts = LanceStore.append, list[int]()

    def append(self: LanceStore, names: Sequence[str], *, rows: int) -> None:
        original(self, names, rows=rows)
        counts.append(rows)
        if len(counts) == 2:
            os.kill(workers_of(nodes.head_node)[0], signal.SIGKILL)
        if len(counts) == 6:
            nodes.remove_node(second, allow_graceful=False)

    monkeypatch.setattr(LanceStore, "append", append)
    monkeypatch.setattr("lingvis.collection.writer.fill.STORED_ROWS", 2)
    collection = tmp_path / "photos.lv"
    opened = Collection(collection, model=model, device="cpu", engine="lance")
    workers = partial(ClusterWorkers, cluster, device="cpu")
    report = opened.add([tmp_path / "photos"], batch_size=2, spread=workers)
    assert counts == [2] * 20
    assert report.added == report.pictures == 40 and not report.broken
    assert items(collection).keys() == {str(path) for path in paths}


def dies_once(writer: RowWriter, mark: Path) -> RowWriter:
    """Writes rows, but its worker is killed before it can reply, once. Made here, so that it travels whole."""

    def write(items: Sequence[Item]) -> list[str]:
        names = writer(items)
        if not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return names

    return write


def unreachable() -> RowWriter:
    """The writer on a machine that does not reach the collection."""

    def write(items: Sequence[Item]) -> list[str]:
        raise UserError("rows cannot be written here")

    return write


@pytest.mark.parametrize("kind", ["dies", "unreachable"])
def test_a_repeated_task_doubles_nothing_and_a_far_folder_is_filled_all_the_same(
    cluster: Cluster,
    model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    appended: list[int],
    kind: str,
) -> None:
    original, mark = LanceStore.row_writer, tmp_path / "mark"

    def row_writer(self: LanceStore) -> RowWriter:
        writer = original(self)
        assert writer is not None
        return dies_once(writer, mark) if kind == "dies" else unreachable()

    monkeypatch.setattr(LanceStore, "row_writer", row_writer)
    paths = make_pictures(tmp_path / "photos", 12)
    collection = tmp_path / "photos.lv"
    opened = Collection(collection, model=model, device="cpu", engine="lance")
    workers = partial(ClusterWorkers, cluster, device="cpu")
    report = opened.add([tmp_path / "photos"], batch_size=3, spread=workers)
    assert report.added == report.pictures == 12
    assert items(collection).keys() == {str(path) for path in paths}
    files = [*collection.glob("items-*.lance/data/*.lance")]
    if kind == "dies":
        assert mark.exists() and sum(appended) == 12
        assert len(files) == 5  # one of them nobody uses
    else:
        assert not appended


@pytest.mark.parametrize("place", ["add_fragments", "record"])
def test_a_killed_command_loses_only_what_was_not_added(
    cluster: Cluster, nodes: Any, model: Path, tmp_path: Path, place: str
) -> None:
    """It is killed before the files of workers are added, or after it and before this is recorded as flushed."""
    paths = make_pictures(tmp_path / "photos", 24)
    collection = tmp_path / "photos.lv"
    script = (
        "import os, sys\n"
        "from lingvis.collection.stores.lance import store\n"
        "from lingvis.collection.writer import fill, indexer\n"
        "fill.STORED_ROWS = 2\n"
        f"original, added = store.{place}, []\n"
        "append = store.LanceStore.append\n"
        "def counted(self, *args, **options):\n"
        "    added.append(1)\n"
        "    append(self, *args, **options)\n"
        "def killed(*args, **options):\n"
        "    if len(added) == 3:\n"
        "        os.kill(os.getpid(), 9)\n"
        "    return original(*args, **options)\n"
        "store.LanceStore.append = counted\n"
        f"store.{place} = killed\n"
        "indexer.BATCH = 2\n"
        "indexer.Indexer.__init__.__kwdefaults__['batch_size'] = 2\n"
        "from lingvis.cli import main; main()\n"
    )
    command = [sys.executable, "-c", script, "index", str(collection), str(tmp_path / "photos")]
    command += ["--model", str(model), "--engine", "lance", "--device", "cpu", f"--ray={nodes.address}"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert run.returncode == -signal.SIGKILL, run.stderr
    kept = items(collection)
    assert len(kept) == 4
    report = index_folders(
        collection,
        [tmp_path / "photos"],
        model=model,
        device="cpu",
        spread=partial(ClusterWorkers, cluster, device="cpu"),
    )
    assert (report.unchanged, report.added, report.pictures) == (4, 20, 24)
    assert items(collection).keys() == {str(path) for path in paths}
    assert kept.keys() <= items(collection).keys()

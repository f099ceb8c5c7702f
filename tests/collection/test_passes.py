"""Passes over folders: what a mistake, an interruption, another process or a missing disk may cost."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from time import sleep

import pytest

import lingvis
from lingvis.collection.stores.folder.lock import one_writer
from lingvis.collection.stores.open import open_store
from lingvis.collection.stores.sqlite.store import SqliteStore
from lingvis.collection.writer.indexer import EMPTY, Indexer, IndexReport, OtherModelError, watch_folders
from lingvis.collection.writer.scan import FolderScan, scan_folders
from lingvis.data.images import read_real_file
from lingvis.errors import UserError

from .conftest import make_model, make_pictures
from .indexing import index_folders, make_indexer


def names(collection: str) -> list[str]:
    return sorted(Path(row.path).name for row in SqliteStore(Path(collection)).files())


def test_a_mistake_in_the_folders_costs_nothing(model: Path, photos: Path, collection: str) -> None:
    with pytest.raises(UserError, match="there is no folder"):
        index_folders(collection, [photos / "typo"], model=model)
    assert not Path(collection).exists()
    index_folders(collection, [photos], model=model)
    for folders in ([photos / "typo"], []):
        with pytest.raises(UserError, match="folder"):
            index_folders(collection, folders, model=model, rebuild=True)
    assert len(names(collection)) == 5


def test_an_interrupted_rebuild_goes_on_without_rebuild(
    model: Path, photos: Path, collection: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index_folders(collection, [photos], model=model)
    other = make_model(tmp_path / "other", image_seed=1)
    store = SqliteStore.upsert
    batches: list[int] = []

    def stop_after_the_first(self: SqliteStore, items: Sequence[object]) -> None:
        if batches:
            raise KeyboardInterrupt
        batches.append(len(items))
        store(self, items)  # type: ignore[arg-type]

    monkeypatch.setattr(SqliteStore, "upsert", stop_after_the_first)
    monkeypatch.setattr("lingvis.collection.writer.fill.STORED_ROWS", 2)
    with pytest.raises(KeyboardInterrupt):
        index_folders(collection, [photos], model=other, rebuild=True, batch_size=2)
    monkeypatch.undo()
    assert len(names(collection)) == 2
    report = index_folders(collection, [photos])
    assert (report.added, report.unchanged) == (3, 2)
    opened = lingvis.Collection.open(collection)
    assert opened.store.header.model == str(other)
    assert opened.search(image=photos / "001.png", k=1)[0].score > 0.99


def test_pictures_that_others_store_meanwhile_are_not_pruned(
    model: Path, photos: Path, collection: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    index_folders(collection, [photos], model=model)
    (photos / "000.png").unlink()

    def late(folders: Sequence[Path], *, follow_links: bool) -> FolderScan:
        found = scan_folders(folders, follow_links=follow_links)
        monkeypatch.undo()
        make_pictures(photos, 1, first=60)
        index_folders(collection, [photos])
        return found

    monkeypatch.setattr("lingvis.collection.writer.indexer.scan_folders", late)
    assert index_folders(collection, [photos], prune=True).pruned == 1
    assert names(collection) == ["001.png", "002.png", "003.png", "004.png", "060.png"]


def test_an_empty_root_is_taken_for_a_disk_that_is_not_mounted(
    model: Path, photos: Path, collection: str
) -> None:
    make_pictures(photos.with_name("more"), 2, first=80)
    folders = [photos, photos.with_name("more")]
    index_folders(collection, folders, model=model)
    shutil.rmtree(photos)
    photos.mkdir()
    (folders[1] / "080.png").unlink()
    report = index_folders(collection, folders, prune=True)
    assert report.pruned == 1 and report.pictures == 6
    assert report.unreadable == {str(photos): EMPTY}
    assert not index_folders(collection, folders).unreadable  # nothing was to be dropped
    (photos / "any").touch()
    report = index_folders(collection, folders, prune=True)
    assert report.pruned == 5 and not report.unreadable
    assert names(collection) == ["081.png"]


def test_a_file_that_cannot_be_read_keeps_its_row_and_is_tried_again(
    model: Path, photos: Path, collection: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    index_folders(collection, [photos], model=model)
    make_pictures(photos, 1, first=90)
    os.utime(photos / "000.png", (5, 5))
    indexer = make_indexer(collection)

    def away(path: str, limit: int) -> bytes:
        if path.endswith(("000.png", "090.png")):
            raise OSError(errno.EIO, "Input/output error")
        return read_real_file(path, limit)

    monkeypatch.setattr("lingvis.collection.writer.pictures.read_real_file", away)
    for _ in range(2):
        report = indexer.run([photos], prune=True)
        assert report.unreadable == {
            str(photos / name): "Input/output error" for name in ("000.png", "090.png")
        }
        assert not report.broken and report.unchanged == 4
        assert len(names(collection)) == 5
    monkeypatch.undo()
    report = indexer.run([photos], prune=True)
    assert (report.added, report.updated, report.unchanged) == (1, 1, 4)


def watch(
    indexer: Indexer, folder: Path, steps: Sequence[Callable[[], object]], monkeypatch: pytest.MonkeyPatch
) -> list[IndexReport]:
    """What is told, one step being taken after each pass; Ctrl-C follows."""
    told: list[IndexReport] = []
    waiting = iter(steps)

    def rest(seconds: float) -> None:
        assert seconds >= 5
        if (step := next(waiting, None)) is None:
            raise KeyboardInterrupt
        step()

    monkeypatch.setattr("lingvis.collection.writer.indexer.time.sleep", rest)
    with pytest.raises(KeyboardInterrupt):
        watch_folders(indexer, [folder], prune=True, report=told.append)
    return told


def test_watching_outlasts_what_passes(
    model: Path,
    photos: Path,
    collection: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    away, lock = photos.with_name("away"), ExitStack()

    def somebody_else_writes() -> None:
        make_pictures(photos, 1, first=70)
        lock.enter_context(one_writer(Path(collection)))

    told = watch(
        make_indexer(collection, model=model),
        photos,
        [
            lambda: photos.rename(away),
            lambda: None,
            lambda: away.rename(photos),
            somebody_else_writes,
            lambda: (photos / "bad.png").write_bytes(b"?"),
            lock.close,
            lambda: None,
        ],
        monkeypatch,
    )
    assert [(report.added, report.pruned, len(report.broken)) for report in told] == [(5, 0, 0), (1, 0, 1)]
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("note: ")]
    assert lines == [
        f"note: there is no folder {photos}; name the folders that hold the pictures (still watching)",
        f"note: another process is writing to {collection}; wait until it has finished, or stop it (still watching)",
    ]


def test_watching_rests_ten_times_as_long_as_looking_takes(
    model: Path, photos: Path, collection: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rests: list[float] = []

    def slowly(folders: Sequence[Path], *, follow_links: bool) -> FolderScan:
        sleep(0.7)
        return scan_folders(folders, follow_links=follow_links)

    def rest(seconds: float) -> None:
        rests.append(seconds)
        raise KeyboardInterrupt

    indexer = make_indexer(collection, model=model)
    monkeypatch.setattr("lingvis.collection.writer.indexer.scan_folders", slowly)
    monkeypatch.setattr("lingvis.collection.writer.indexer.time.sleep", rest)
    with pytest.raises(KeyboardInterrupt):
        watch_folders(indexer, [photos], prune=False, report=lambda _: None)
    assert 7 <= rests[0] == pytest.approx(10 * indexer.seconds_to_scan)


def test_watching_needs_the_lock_only_for_changes(
    model: Path,
    photos: Path,
    collection: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with ExitStack() as lock:
        told = watch(
            make_indexer(collection, model=model),
            photos,
            [lambda: lock.enter_context(one_writer(Path(collection))), lambda: None],
            monkeypatch,
        )
    assert len(told) == 1 and "note: " not in capsys.readouterr().err


@pytest.mark.parametrize("side", ["image_seed", "text_seed"])
def test_watching_ends_when_somebody_else_changes_the_model(
    model: Path, photos: Path, collection: str, tmp_path: Path, side: str
) -> None:
    (photos / "000.txt").write_text("a red dog")
    indexer = make_indexer(collection, model=model)
    indexer.run([photos])
    other = make_model(
        tmp_path / "other", image_seed=int(side == "image_seed"), text_seed=int(side == "text_seed")
    )
    index_folders(collection, [photos], model=other, rebuild=side == "image_seed")
    header = open_store(collection).header
    make_pictures(photos, 1, first=70)
    with pytest.raises(UserError, match=r"another model"):
        indexer.run([photos])
    with pytest.raises(OtherModelError, match=rf"now has another model, {other}"):
        indexer.run([photos])
    assert open_store(collection).header == header and len(names(collection)) == 5


def test_mistakes_end_watching_at_once(model: Path, photos: Path, collection: str) -> None:
    with pytest.raises(UserError, match="there is no folder"):
        watch_folders(make_indexer(collection, model=model), [photos / "typo"], prune=False, report=print)


def test_the_path_of_the_model_changes_only_where_it_is_lost(
    model: Path, photos: Path, collection: str, tmp_path: Path
) -> None:
    first, second = (Path(shutil.copytree(model, tmp_path / name)) for name in ("first", "second"))
    index_folders(collection, [photos], model=first)
    index_folders(collection, [photos], model=second)
    assert open_store(collection).header.model == str(first)
    shutil.rmtree(first)
    index_folders(collection, [photos], model=second)
    assert open_store(collection).header.model == str(second)


def test_on_a_server_the_path_of_the_model_is_that_of_who_came_first(
    model: Path, photos: Path, database: str, tmp_path: Path
) -> None:
    first = Path(shutil.copytree(model, tmp_path / "first"))
    index_folders(database, [photos], model=first)
    first.rename(tmp_path / "elsewhere")  # as another machine sees it
    make_pictures(photos, 1, first=70)
    assert index_folders(database, [photos], model=model).added == 1
    assert open_store(database).header.model == str(first)

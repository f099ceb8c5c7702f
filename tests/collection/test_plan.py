"""Planning a pass: arrays and a temporary file say the same as dictionaries of objects, in a tenth of the memory."""

from __future__ import annotations

import hashlib
import time
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lingvis.collection.stores.records import Item, StoredFile
from lingvis.collection.writer import contents as contents_module
from lingvis.collection.writer import fill
from lingvis.collection.writer.contents import NewContents, StoredContents
from lingvis.collection.writer.found import ScannedFile
from lingvis.collection.writer.items import new_item, path_key, picture_id
from lingvis.collection.writer.pictures import DuplicateContent, PictureFacts
from lingvis.collection.writer.plan import make_plan
from lingvis.collection.writer.scan import FolderScan, scan_folders
from lingvis.collection.writer.spool import FileSpool
from lingvis.collection.writer.stored import StoredRows, caption_key
from lingvis.collection.writer.workers import EncodedPicture, Outcome
from lingvis.features.decoding.exif import CameraFacts
from studies.speed.writing import planner_bytes


class Captions:
    """The caption of a file is its first caption's path."""

    def find(self, file: ScannedFile) -> tuple[str | None, str | None]:
        return next(iter(file.captions), None), None


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def stored_row(
    path: str, second: float | None = None, caption: str | None = None, **values: Any
) -> StoredFile:
    row = StoredFile(picture_id(path, second), path, sha(path), 5, 7, caption)
    return replace(row, **values)


def make_rows() -> list[StoredFile]:
    """Pictures with and without captions, videos, a half replaced one, copies, and rows of a strange program."""
    rows = [stored_row(f"/p/{n}.jpg", caption=f"c{n}" if n % 3 else None) for n in range(300)]
    rows += [stored_row("/p/v.mp4", second) for second in (3.5, None, 9.25)]
    rows += [stored_row("/p/half.mp4", second, size=size) for second, size in ((0.0, 5), (2.0, 6))]
    rows += [stored_row("/p/headless.mp4", second) for second in (1.0, 2.0)]
    rows += [stored_row(f"/copy/{n}.jpg", hash=sha("/p/5.jpg")) for n in range(4)]
    rows += [stored_row("/p/odd.jpg", id="odd", hash="no hash")]
    # Bytes that are zero at the end of a key or a hash, which numpy drops.
    zero = next(f"/z/{n}.jpg" for n in range(10**4) if path_key(f"/z/{n}.jpg")[-1] == 0)
    rows += [stored_row(zero, hash="ab" * 30 + "0000")]
    order = np.random.default_rng(0).permutation(len(rows))
    return [rows[place] for place in order]


def naive_unchanged(rows: list[StoredFile], file: ScannedFile) -> StoredFile | None:
    mine = [row for row in rows if row.path == file.path]
    if any((row.size, row.mtime_ns) != (file.size, file.mtime_ns) for row in mine):
        return None
    return next((row for row in mine if len(mine) == 1 or row.id == picture_id(file.path)), None)


def test_rows_are_compared_as_objects_would_be() -> None:
    rows = make_rows()
    stored = StoredRows(iter(rows))
    paths = sorted({row.path for row in rows} | {"/p/new.jpg", ""})
    files = [ScannedFile(path, size, time) for path in paths for size, time in ((5, 7), (5, 8), (6, 7))]
    for file, known in zip(files, stored.compare(files), strict=True):
        row = naive_unchanged(rows, file)
        assert (known is None) == (row is None), file
        if known is not None and row is not None:
            assert known.caption == caption_key(row.caption)
            assert known.hash == row.hash or row.hash == "no hash"
    for path in paths:
        mine = [row.id for row in rows if row.path == path]
        assert stored.ids(path) == mine and (path in stored) == bool(mine)
    assert list(StoredRows(iter(rows)).lost(rows)) == list(dict.fromkeys(row.path for row in rows))
    assert list(stored.lost(rows)) == []
    assert StoredRows([]).compare(files[:2]) == [None, None] and "" not in StoredRows([])


def test_contents_are_found_by_their_hashes() -> None:
    rows = make_rows()
    contents = StoredContents(StoredRows(rows))
    for row in rows:
        if row.hash != "no hash":
            assert row.hash in contents
            ids = contents.ids(row.hash)
            path = next(each.path for each in rows if each.id == ids[0])
            assert sorted(ids) == sorted(r.id for r in rows if r.path == path and r.hash == row.hash)
    assert sha("other") not in contents and "" not in contents
    assert {row.hash for row in rows} - {"no hash"} <= set(contents)
    assert len(list(contents)) == len(contents) == len(rows)
    assert sha("x") not in StoredContents(StoredRows([]))


def new(path: str, hash: str, second: float | None = None) -> Item:
    facts = PictureFacts(hash, 1, 1, "jpeg", CameraFacts(), b"", b"", second)
    return new_item(ScannedFile(path, 1, 1), EncodedPicture(facts, np.zeros(1, np.float32)))


def test_new_contents_replace_those_before() -> None:
    contents = StoredContents(StoredRows(make_rows()))
    contents.add([new("/n/a.jpg", sha("a")), new("/n/b.jpg", sha("/p/5.jpg"))])
    assert contents.ids(sha("a")) == [picture_id("/n/a.jpg")]
    assert contents.ids(sha("/p/5.jpg")) == [picture_id("/n/b.jpg")]
    moments = [new("/n/v.mp4", sha("v"), second) for second in (0.0, 4.0)]
    contents.add(moments)
    contents.add(moments)  # again
    assert contents.ids(sha("v")) == [item.info.id for item in moments]
    contents.add([new("/n/w.mp4", sha("v"), 0.0)])
    assert contents.ids(sha("v")) == [picture_id("/n/w.mp4")]


def test_many_new_contents(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents_module, "LOOSE", 7)
    rng, expected, found = np.random.default_rng(0), dict[bytes, bytes](), NewContents()
    for number in range(500):
        hash = bytes([*rng.integers(0, 3, 4), *[0] * 28])  # some come again, with zeros at the end
        expected[hash] = found_path = path_key(str(number))
        found.set(hash, found_path)
        assert found.get(hash) == found_path
    assert {hash: found.get(hash) for hash in expected} == expected
    assert set(found) == set(expected) and len(list(found)) == len(found)
    assert found.get(b"\1" * 32) is None
    assert len(found._runs) < 8


def test_a_spool_returns_files_as_often_as_one_likes() -> None:
    spool = FileSpool()
    assert list(spool) == []
    files = [ScannedFile(f"/ä/{'long' * n}\n.jpg", n, -n, ("\udcff.txt",) * (n % 3)) for n in range(3000)]
    for file in files:
        spool.append(file)
    assert list(spool) == files and len(spool) == 3000
    first, second = iter(spool), iter(spool)
    assert [next(first), next(second), next(second), next(first)] == [files[0], files[0], files[1], files[1]]


def test_a_plan_has_what_changed() -> None:
    rows = make_rows()
    scan = FolderScan(["/p", "/copy", "/z"])
    for path in sorted({row.path for row in rows}):
        if path not in ("/p/7.jpg", "/p/v.mp4"):
            caption = next(row.caption for row in rows if row.path == path)
            scan.direct.append(ScannedFile(path, 5, 7 + (path == "/p/9.jpg"), (caption,) if caption else ()))
    scan.direct.append(ScannedFile("/p/new.jpg", 1, 1))
    scan.linked["/p/3.jpg"] = ScannedFile("/p/3.jpg", 5, 7, ("beside the link",))
    scan.linked["/p/4.jpg"] = ScannedFile("/p/4.jpg", 5, 7, ("the file has one itself",))
    scan.linked["/far/away"] = unusable = ScannedFile("/far/away", 5, 7)
    scan.listed.add("/p")

    def again() -> Iterator[StoredFile]:
        yield from [*rows, stored_row("/p/stored meanwhile.jpg")]

    plan = make_plan(scan, StoredRows(rows), Captions(), unusable={}, prune=again)  # type: ignore[arg-type]
    expected = ["/p/9.jpg", "/p/half.mp4", "/p/headless.mp4", "/p/new.jpg", "/far/away"]
    assert [file.path for file in plan.to_read] == expected
    assert [(file.path, hash) for file, hash in plan.recaptioned] == [("/p/3.jpg", sha("/p/3.jpg"))]
    assert sorted(plan.gone) == ["/p/7.jpg", "/p/v.mp4"]
    assert plan.unchanged == len({row.path for row in rows}) - 6
    skipping = {unusable.path: unusable}
    plan = make_plan(scan, StoredRows(rows), Captions(), unusable=skipping, prune=None)  # type: ignore[arg-type]
    assert [file.path for file in plan.to_read] == expected[:-1] and not plan.gone


def test_a_plan_needs_little_memory_per_picture() -> None:
    """Objects needed 872 bytes; sorting takes the most, once."""
    assert planner_bytes(20_000) < 250


def test_a_pass_over_new_pictures_needs_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents_module, "LOOSE", 2**10)
    tracemalloc.start()
    scan, contents = FolderScan([]), StoredContents(StoredRows([]))
    for number in range(20_000):
        scan.direct.append(
            ScannedFile(f"/shared/pictures/2024/05/holidays/IMG_{number:08}.jpg", number, number)
        )
    plan = make_plan(scan, StoredRows([]), Captions(), unusable={}, prune=None)  # type: ignore[arg-type]
    held = tracemalloc.get_traced_memory()[0] / len(plan.to_read)
    assert held < 5  # in temporary files
    for number in range(2**14):
        contents._new.set(hashlib.sha256(b"%d" % number).digest(), path_key(str(number)))
    assert tracemalloc.get_traced_memory()[0] / 2**14 < 60
    tracemalloc.stop()


def test_batches_that_come_quickly_are_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fill, "STORED_ROWS", 10)
    monkeypatch.setattr(fill, "STORED_SECONDS", 0.2)
    files = [(ScannedFile(str(number), 1, 1), DuplicateContent("")) for number in range(26)]
    taken: list[int] = []

    def batches() -> Iterator[fill.Batch]:
        for start in range(0, 26, 4):
            taken.append(start)
            if start == 20:
                time.sleep(0.3)
            yield files[start : start + 4]

    found: list[tuple[int, int]] = []
    joined_files: list[tuple[ScannedFile, Outcome]] = []
    for joined in fill.grouped(batches()):
        found.append((len(joined), len(taken)))  # nothing is asked for before a group is stored
        joined_files += joined
    assert joined_files == files
    assert found == [(12, 3), (12, 6), (2, 7)]
    assert not list(fill.grouped(iter(())))


def test_a_caption_beside_a_link_counts_if_there_is_no_other(tmp_path: Path) -> None:
    for name in ("a.jpg", "b.jpg", "b.txt", ".c.jpg", "z/x.jpg"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    for link, target in (
        ("y/k.jpg", "a.jpg"),
        ("y/l.jpg", "b.jpg"),
        ("y/m.jpg", ".c.jpg"),
        ("y/n.jpg", "z/x.jpg"),
    ):
        (tmp_path / link).parent.mkdir(exist_ok=True)
        (tmp_path / link).symlink_to(tmp_path / target)
        (tmp_path / link).with_suffix(".txt").touch()
    found = [
        (Path(file.path).name, [Path(text).name for text in file.captions])
        for file in scan_folders([tmp_path])
    ]
    assert sorted(found) == [
        (".c.jpg", ["m.txt"]),
        ("a.jpg", ["k.txt"]),
        ("b.jpg", ["b.txt"]),
        ("x.jpg", ["n.txt"]),
    ]

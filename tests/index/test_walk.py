"""Walking folders: every picture once, links and loops, hidden and unreadable places."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lingvis.errors import UserError
from lingvis.index.walk import walk


def touch(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"12345")
    return str(path)


def test_pictures_at_any_depth_come_once_with_their_notes(tmp_path: Path) -> None:
    expected = [
        touch(tmp_path / name) for name in ("a.jpg", "b/c.PNG", "b/d/e.Tiff", "b/d/f.gif", "out/x.webp")
    ]
    for name in ("a.txt", "a.de.txt", "b/a.txt", "b/doc.pdf", "noending", ".hidden/a.jpg", ".h.jpg"):
        touch(tmp_path / name)
    (tmp_path / "b" / "loop").symlink_to(tmp_path)
    (tmp_path / "b" / "twice.jpg").symlink_to(tmp_path / "a.jpg")
    (tmp_path / "b" / "gone.jpg").symlink_to(tmp_path / "nothing.jpg")
    (tmp_path / "via").symlink_to(tmp_path / "b")
    found = walk([tmp_path / "via", tmp_path, tmp_path / "b" / ".." / "b"])
    assert sorted(found.files) == sorted(expected)
    file = found.files[str(tmp_path / "a.jpg")]
    assert (file.size, file.mtime_ns) == (5, os.stat(tmp_path / "a.jpg").st_mtime_ns)
    assert [Path(note).name for note in file.notes] == ["a.de.txt", "a.txt"]
    assert not found.files[str(tmp_path / "b" / "c.PNG")].notes
    assert found.unreadable == {str(tmp_path / "nothing.jpg"): "No such file or directory"}


def test_folders_that_cannot_be_looked_into_are_told_and_not_taken_for_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    touch(tmp_path / "open" / "a.jpg")
    touch(tmp_path / "shut" / "b.jpg")
    scan = os.scandir

    def refuse(place: str) -> object:  # permissions do not stop every user
        if place.endswith("shut"):
            raise PermissionError(13, "Permission denied")
        return scan(place)

    monkeypatch.setattr("lingvis.index.walk.os.scandir", refuse)
    found = walk([tmp_path])
    assert found.unreadable == {str(tmp_path / "shut"): "Permission denied"}
    assert found.covers(str(tmp_path / "open" / "gone.jpg"))
    assert not found.covers(str(tmp_path / "shut" / "b.jpg"))
    assert not found.covers(f"{tmp_path}-other/b.jpg")


def test_names_that_are_not_unicode_are_told(tmp_path: Path) -> None:
    bad = os.fsencode(tmp_path) + b"/\xff.jpg"
    with open(bad, "wb"):
        pass
    found = walk([tmp_path])
    assert not found.files
    assert list(found.unreadable.values()) == ["its name is not valid UTF-8"]
    next(iter(found.unreadable)).encode()


def test_missing_folders_get_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"there is no folder .*nothing"):
        walk([tmp_path, tmp_path / "nothing"])
    with pytest.raises(UserError, match="no folder was given"):
        walk([])

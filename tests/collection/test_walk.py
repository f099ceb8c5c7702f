"""Walking folders: every picture once, links and loops, hidden and unreadable places."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from lingvis.collection.writer.found import ScannedFile
from lingvis.collection.writer.scan import CAPTION_LINK, FolderScan, is_gone, scan_folders
from lingvis.errors import UserError


def touch(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"12345")
    return str(path)


def by_path(found: FolderScan) -> dict[str, ScannedFile]:
    files = list(found)
    assert len({file.path for file in files}) == len(files)
    return {file.path: file for file in files}


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
    found = scan_folders([tmp_path / "via", tmp_path, tmp_path / "b" / ".." / "b"])
    assert sorted(by_path(found)) == sorted(expected)
    file = by_path(found)[str(tmp_path / "a.jpg")]
    assert (file.size, file.mtime_ns) == (5, os.stat(tmp_path / "a.jpg").st_mtime_ns)
    assert [Path(note).name for note in file.captions] == ["a.de.txt", "a.txt"]
    assert not by_path(found)[str(tmp_path / "b" / "c.PNG")].captions
    assert found.unreadable == {str(tmp_path / "b" / "gone.jpg"): "No such file or directory"}
    assert found.covers(str(tmp_path / "nothing.jpg"))


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

    monkeypatch.setattr("lingvis.collection.writer.scan.os.scandir", refuse)
    found = scan_folders([tmp_path])
    assert found.unreadable == {str(tmp_path / "shut"): "Permission denied"}
    assert found.covers(str(tmp_path / "open" / "gone.jpg"))
    assert not found.covers(str(tmp_path / "shut" / "b.jpg"))
    assert not found.covers(f"{tmp_path}-other/b.jpg")


def test_files_that_do_not_answer_are_told_and_not_taken_for_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = touch(tmp_path / "bad.jpg")
    good = touch(tmp_path / "good.jpg")
    look = {"stat": os.stat, "lstat": os.lstat}

    def stale(name: str) -> Callable[..., os.stat_result]:
        def fail(path: str, **options: bool) -> os.stat_result:
            if str(path) == bad:
                raise OSError(errno.ESTALE, "Stale file handle")
            return look[name](path, **options)

        return fail

    for name in look:
        monkeypatch.setattr(os, name, stale(name))
    found = scan_folders([tmp_path])
    assert list(by_path(found)) == [good]
    assert found.unreadable == {bad: "Stale file handle"}
    assert not found.covers(bad) and not is_gone(bad)


def test_gone_is_what_has_no_file_of_its_own_any_more(tmp_path: Path) -> None:
    file = touch(tmp_path / "a" / "x.jpg")
    (tmp_path / "link.jpg").symlink_to(file)
    (tmp_path / "via").symlink_to(tmp_path / "a")
    (tmp_path / "folder.jpg").mkdir()
    gone = {
        "a/x.jpg": False,
        "a/y.jpg": True,
        "a/x.jpg/z.jpg": True,
        "link.jpg": True,
        "via/x.jpg": True,
        "folder.jpg": True,
    }
    assert {name: is_gone(str(tmp_path / name)) for name in gone} == gone


def test_a_root_without_anything_covers_nothing(tmp_path: Path) -> None:
    touch(tmp_path / "full" / "deep" / "a.jpg")
    for name in ("disk", "full/none"):
        (tmp_path / name).mkdir()
    roots = [tmp_path / "full", tmp_path / "disk"]
    found = scan_folders(roots)
    assert found.empty == [str(tmp_path / "disk")]  # folders below the roots may be empty
    assert found.covers(str(tmp_path / "full" / "none" / "a.jpg"))
    assert not found.covers(str(tmp_path / "disk" / "a.jpg"))
    touch(tmp_path / "disk" / ".here")
    assert not scan_folders(roots).empty and scan_folders(roots).covers(str(tmp_path / "disk" / "a.jpg"))


def test_only_regular_files_are_pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = touch(tmp_path / "good.jpg")
    (tmp_path / "loop.jpg").symlink_to(tmp_path / "loop.jpg")
    (tmp_path / "round").symlink_to(tmp_path / "round")
    (tmp_path / "zero.jpg").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "pipe.jpg")
    with socket.socket(socket.AF_UNIX) as listening:
        monkeypatch.chdir(tmp_path)  # the path of a socket has to be short
        listening.bind("socket.jpg")
        found = scan_folders([tmp_path], follow_links=True)
    assert list(by_path(found)) == [good]
    assert found.unreadable == {
        str(tmp_path / "loop.jpg"): "Too many levels of symbolic links",
        str(tmp_path / "round"): "Too many levels of symbolic links",
        "/dev/zero": "it is not a regular file",
        str(tmp_path / "pipe.jpg"): "it is not a regular file",
        str(tmp_path / "socket.jpg"): "it is not a regular file",
    }


def test_links_out_of_the_folders_are_followed_only_on_demand(tmp_path: Path) -> None:
    own, inside = touch(tmp_path / "photos" / "a.jpg"), touch(tmp_path / "second" / "b.jpg")
    secret, private = touch(tmp_path / "home" / "secret.jpg"), touch(tmp_path / "home" / "private" / "c.png")
    links = {
        "in.jpg": tmp_path / "second" / "b.jpg",  # in the other folder that is given
        "out.jpg": tmp_path / "home" / "secret.jpg",
        "folder": tmp_path / "home" / "private",
        "above": tmp_path,
        "chain.jpg": tmp_path / "photos" / "out.jpg",
        "gone.jpg": tmp_path / "home" / "nothing.jpg",
        "text.pdf": tmp_path / "home" / "secret.jpg",  # not a picture by its name: nothing to report
        "photos-2.jpg": tmp_path / "photos-2" / "d.jpg",  # a folder whose name only starts like a given one
    }
    touch(tmp_path / "photos-2" / "d.jpg")
    for name, target in links.items():
        (tmp_path / "photos" / name).symlink_to(target)
    (tmp_path / "given").symlink_to(tmp_path / "photos")  # a link that the user names is no surprise
    found = scan_folders([tmp_path / "given", tmp_path / "second"])
    assert sorted(by_path(found)) == [own, inside]
    assert [Path(link).name for link in found.skipped_links] == [
        "above",
        "chain.jpg",
        "folder",
        "gone.jpg",
        "out.jpg",
        "photos-2.jpg",
    ]
    assert not found.unreadable
    followed = scan_folders([tmp_path / "given"], follow_links=True)
    assert {own, inside, secret, private} <= set(by_path(followed))
    assert not followed.skipped_links


def test_captions_that_are_links_are_left_out_and_told(tmp_path: Path) -> None:
    picture, caption = touch(tmp_path / "a.jpg"), touch(tmp_path / "a.de.txt")
    touch(tmp_path / "words.txt")
    (tmp_path / "a.txt").symlink_to(tmp_path / "words.txt")  # not even within the folder
    (tmp_path / "other.txt").symlink_to(tmp_path / "words.txt")  # belongs to no picture
    for follow_links in (False, True):
        found = scan_folders([tmp_path], follow_links=follow_links)
        assert by_path(found)[picture].captions == (caption,)
        assert found.unreadable == {str(tmp_path / "a.txt"): CAPTION_LINK}


def test_names_that_are_not_unicode_are_told(tmp_path: Path) -> None:
    bad = os.fsencode(tmp_path) + b"/\xff.jpg"
    with open(bad, "wb"):
        pass
    found = scan_folders([tmp_path])
    assert not by_path(found)
    assert list(found.unreadable.values()) == ["its name is not valid UTF-8"]
    next(iter(found.unreadable)).encode()


def test_missing_folders_get_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"there is no folder .*nothing"):
        scan_folders([tmp_path, tmp_path / "nothing"])
    with pytest.raises(UserError, match="no folder was given"):
        scan_folders([])

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from lingvis.errors import UserError
from lingvis.files import (
    BEHIND_LINK,
    atomic_file,
    atomic_folder,
    make_private_folder,
    open_real_file,
    read_secret,
    replace_folder,
    write_json,
    write_text,
)


def others(path: Path) -> list[str]:
    """What lies beside a target."""
    return sorted(entry.name for entry in path.parent.iterdir() if entry != path)


def test_a_file_appears_whole_with_usual_rights(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "a.json"
    before = os.umask(0o027)
    try:
        write_json(path, {"ä": [1, 2]})
    finally:
        os.umask(before)
    assert json.loads(path.read_text(encoding="utf-8")) == {"ä": [1, 2]}
    assert "ä" in path.read_text(encoding="utf-8")
    assert path.stat().st_mode & 0o777 == 0o640
    assert others(path) == []


@pytest.mark.parametrize("existed", [True, False])
def test_an_exception_leaves_the_old_file(tmp_path: Path, existed: bool) -> None:
    path = tmp_path / "a.txt"
    if existed:
        write_text(path, "old")
    with pytest.raises(RuntimeError, match="stop"), atomic_file(path) as temporary:  # noqa: PT012
        temporary.write_text("half")
        raise RuntimeError("stop")
    assert path.exists() == existed
    assert not existed or path.read_text() == "old"
    assert others(path) == []


def test_the_temporary_file_keeps_the_suffix_and_the_disk(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    with atomic_file(path) as temporary:
        assert temporary.suffix == ".png"
        assert temporary.parent == path.parent
        temporary.write_bytes(b"1")
    assert path.read_bytes() == b"1"


def test_a_folder_replaces_the_old_one_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "set"
    for number, name in enumerate(["old", "new"]):
        with atomic_folder(path) as folder:
            (folder / "deep").mkdir()
            (folder / "deep" / name).write_text(str(number))
    assert [file.name for file in (path / "deep").iterdir()] == ["new"]
    assert path.stat().st_mode & 0o700 == 0o700
    assert others(path) == []


@pytest.mark.parametrize("existed", [True, False])
def test_an_exception_leaves_the_old_folder(tmp_path: Path, existed: bool) -> None:
    path = tmp_path / "set"
    if existed:
        with atomic_folder(path) as folder:
            (folder / "old").write_text("old")
    with pytest.raises(RuntimeError, match="stop"), atomic_folder(path) as folder:  # noqa: PT012
        (folder / "half").write_text("half")
        raise RuntimeError("stop")
    assert path.exists() == existed
    assert not existed or [file.name for file in path.iterdir()] == ["old"]
    assert others(path) == []


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_kill_in_the_middle_leaves_the_old_content_and_the_next_write_works(
    tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "target"
    program = textwrap.dedent(
        """
        import sys
        from pathlib import Path
        from lingvis.files import atomic_file, atomic_folder

        kind, path, text, stay = sys.argv[1:]
        with (atomic_file if kind == "file" else atomic_folder)(Path(path)) as temporary:
            (temporary if kind == "file" else temporary / "content").write_text(text)
            if stay == "stay":
                print("written", flush=True)
                sys.stdin.read()
        """
    )

    def start(text: str, stay: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", program, kind, str(path), text, stay],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def content() -> str:
        return (path if kind == "file" else path / "content").read_text()

    with start("old", "go") as first:
        assert first.wait() == 0
    with start("half", "stay") as second:
        assert second.stdout is not None
        assert second.stdout.readline() == "written\n"
        second.send_signal(signal.SIGKILL)
        assert second.wait() == -signal.SIGKILL
    assert content() == "old"
    assert len(others(path)) == 1
    with start("new", "go") as third:
        assert third.wait() == 0
    assert content() == "new"
    assert others(path) == []


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_only_what_a_kill_left_is_removed(tmp_path: Path, kind: str) -> None:
    write = atomic_file if kind == "file" else atomic_folder
    path = tmp_path / "target"
    kept = [".target.lock", ".target.mine", ".target.partial", ".targets.tmp-12345678"]
    for name in kept:
        (tmp_path / name).mkdir()
    (tmp_path / ".target.tmp-12345678").mkdir()
    (tmp_path / ".target.tmp-87654321").write_text("half")
    with write(path) as first:
        assert others(path) == sorted([*kept, first.name])
        # Two writers at once: neither takes the other's work for left over, and the last one stays.
        with write(path) as second:
            assert second != first
            (second if kind == "file" else second / "content").write_text("second")
        (first if kind == "file" else first / "content").write_text("first")
    assert (path if kind == "file" else path / "content").read_text() == "first"
    assert others(path) == kept


def test_killed_at_any_step_a_folder_is_the_old_or_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "set"
    program = textwrap.dedent(
        """
        import itertools, os, signal, sys
        from pathlib import Path
        from lingvis.files import atomic_folder

        STEPS = {"os.rename", "ctypes.dlopen", "ctypes.dlsym", "os.mkdir", "os.chmod", "shutil.rmtree", "os.rmdir"}

        def write(path, text):
            with atomic_folder(path) as folder:
                (folder / "a").write_text(text)
                (folder / "b").write_text(text)

        def die_at(last):
            steps = itertools.count(1)
            def hook(event, arguments):
                if event in STEPS and next(steps) == last:
                    os.kill(os.getpid(), signal.SIGKILL)
            sys.addaudithook(hook)

        path = Path(sys.argv[1])
        write(path, "0")
        for last in itertools.count(1):
            child = os.fork()
            if child == 0:
                die_at(last)
                write(path, str(last))
                os._exit(0)
            killed = os.waitpid(child, 0)[1] == signal.SIGKILL
            print(last, *((path / name).read_text() if path.exists() else "lost" for name in "ab"))
            if not killed:
                break
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True
    )
    lines = [line.split() for line in done.stdout.splitlines()]
    assert len(lines) > 3
    content = "0"
    for last, first, second in lines:
        assert first == second
        assert first in (content, last)
        content = first
    assert content == lines[-1][0]
    assert others(path) == []


@pytest.mark.parametrize("swaps", [True, False])
def test_a_folder_is_replaced_where_names_can_be_swapped_and_where_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, swaps: bool
) -> None:
    if not swaps:
        monkeypatch.setattr("lingvis.files._exchange", lambda one, other: False)
    source, target = tmp_path / "source", tmp_path / "target"
    for folder in (source, target):
        folder.mkdir()
        (folder / folder.name).write_text("content")
    replace_folder(source, target)
    assert [file.name for file in target.iterdir()] == ["source"]
    assert others(target) == []
    with pytest.raises(FileNotFoundError):
        replace_folder(source, target)  # gone: the target is put back
    assert [file.name for file in target.iterdir()] == ["source"]
    assert others(target) == []


@pytest.mark.parametrize("existed", [True, False])
def test_writes_go_through_symbolic_links(tmp_path: Path, existed: bool) -> None:
    real = tmp_path / "real"
    if existed:
        (real / "set").mkdir(parents=True)
        (real / "set" / "old").write_text("old")
        (real / "a.txt").write_text("old")
    for name in ("a.txt", "set"):
        (tmp_path / name).symlink_to(Path("real") / name)
    write_text(tmp_path / "a.txt", "new")
    with atomic_folder(tmp_path / "set") as folder:
        (folder / "new").write_text("new")
    assert os.readlink(tmp_path / "a.txt") == "real/a.txt"
    assert os.readlink(tmp_path / "set") == "real/set"
    assert (real / "a.txt").read_text() == "new"
    assert [file.name for file in (real / "set").iterdir()] == ["new"]
    assert sorted(os.listdir(tmp_path)) == ["a.txt", "real", "set"]
    assert sorted(os.listdir(real)) == ["a.txt", "set"]


def test_what_is_of_another_kind_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("mine")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    (tmp_path / "loop").symlink_to("loop")
    before = {entry.name: entry.lstat().st_ino for entry in tmp_path.iterdir()}
    for name in ("folder", "pipe", "link", "loop"):
        with pytest.raises(UserError, match=f"{name} exists and is not a regular file; name another"):
            write_text(tmp_path / name, "text")
    for name in ("file", "pipe", "link", "loop"):
        with (
            pytest.raises(UserError, match=f"{name} exists and is not a folder; name another"),
            atomic_folder(tmp_path / name),
        ):
            pass
    assert {entry.name: entry.lstat().st_ino for entry in tmp_path.iterdir()} == before
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("system", ["Linux", "other"])
def test_no_part_of_the_path_of_a_real_file_is_a_link(
    tmp_path: Path, system: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if system == "other":  # without the paths of open files in /proc
        monkeypatch.setattr("lingvis.files._is_at", lambda handle, path: False)
    tmp_path = tmp_path.resolve()
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "x").write_bytes(b"12345")
    (tmp_path / "a" / "x").symlink_to("b/x")
    (tmp_path / "c").symlink_to("a")
    os.mkfifo(tmp_path / "pipe")
    before = len(os.listdir("/proc/self/fd"))
    with open_real_file(tmp_path / "a" / "b" / "x") as file:
        assert file.read() == b"12345"
    for linked in ("a/x", "c/b/x"):
        with pytest.raises(OSError, match=BEHIND_LINK):
            open_real_file(tmp_path / linked)
    for odd, reason in {"pipe": "it is not a regular file", "a": "it is a folder"}.items():
        with pytest.raises(OSError, match=reason):
            open_real_file(tmp_path / odd)
    for missing, error in {"a/y": FileNotFoundError, "a/b/x/z": NotADirectoryError}.items():
        with pytest.raises(error) as caught:
            open_real_file(str(tmp_path / missing))
        assert caught.value.filename == str(tmp_path / missing)
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_folder_that_is_searchable_but_not_readable_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir(mode=0o700)
    (tmp_path / "a" / "x").write_bytes(b"1")
    (tmp_path / "a").chmod(0o300)
    try:
        with open_real_file(tmp_path.resolve() / "a" / ".." / "a" / "x") as file:  # goes step by step
            assert file.read() == b"1"
    finally:
        (tmp_path / "a").chmod(0o700)


def test_a_private_folder_is_closed_to_others_and_an_old_one_keeps_its_mode(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        make_private_folder(tmp_path / "deep" / "new")
    finally:
        os.umask(before)
    modes = [(tmp_path / name).stat().st_mode & 0o777 for name in ("deep", "deep/new")]
    assert modes == [0o755, 0o700]
    (tmp_path / "old").mkdir()
    (tmp_path / "old").chmod(0o750)
    make_private_folder(tmp_path / "old")
    assert (tmp_path / "old").stat().st_mode & 0o777 == 0o750


def test_a_secret_is_read_only_from_a_private_file(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("  word \n")
    for mode in (0o644, 0o640, 0o602):
        file.chmod(mode)
        with pytest.raises(UserError, match=f"mode {mode:o}.*chmod 600"):
            read_secret(file)
    for mode in (0o600, 0o400):
        file.chmod(mode)
        assert read_secret(file) == "word"
    assert len(read_secret(Path("/dev/zero"))) == 64 * 1024  # no end, but bounded

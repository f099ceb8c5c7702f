from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from lingvis.files import atomic_file, atomic_folder, write_json, write_text


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
    with start("new", "go") as third:
        assert third.wait() == 0
    assert content() == "new"

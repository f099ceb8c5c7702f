"""Hostile files: bombs, pipes, deep nesting."""

from __future__ import annotations

import gzip
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from lingvis import untrusted
from lingvis.data.dataset import Dataset
from lingvis.errors import UserError
from lingvis.lock import exclusive, one_writer
from lingvis.untrusted import byte_lines, parse_json, read_json, read_unpacked

MEMORY = 3 << 30  # address space of a process that reads a bomb; torch alone reserves more than 1 GB


def bomb(file: Path, line: bytes, megabytes: int) -> None:
    """A gzip file of equal lines."""
    block = line * (2**20 // len(line))
    with gzip.open(file, "wb", compresslevel=1) as out:
        for _ in range(megabytes):
            out.write(block)


def test_json_is_bounded_in_depth_and_kind(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text("[" * 99 + "]" * 99 + "\n")
    assert read_json(file) == parse_json("[" * 99 + "]" * 99)
    assert parse_json('["' + "[" * 500 + '"]') == ["[" * 500]  # brackets in a string do not count
    for depth in (101, 900, 100_000):
        for text in ("[" * depth + "]" * depth, '{"a":' * depth + "1" + "}" * depth):
            with pytest.raises(ValueError, match="too many nested brackets, more than 100"):
                parse_json(text)
    for wrong in (b"\xff", b"", b"{"):
        file.write_bytes(wrong)
        with pytest.raises(ValueError):
            read_json(file)
    with file.open("wb") as out:
        out.truncate(untrusted.MOST_BYTES + 1)  # takes no room on the disk
    with pytest.raises(ValueError, match=r"a\.json has 1,073,741,825 bytes, more than 1,073,741,824"):
        read_json(file)


def test_pipes_and_folders_do_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(ValueError, match=r"pipe\.json: it is not a regular file"):
        read_json(tmp_path / "pipe.json")
    with pytest.raises(ValueError, match=r"folder\.json: it is a folder"):
        read_json(tmp_path / "folder.json")
    with pytest.raises(ValueError, match="not a regular file"):
        list(byte_lines(Path("/dev/zero")))


def test_packed_files_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(untrusted, "SMALL_BYTES", 1 << 20)
    file = tmp_path / "a.gz"
    with gzip.open(file, "wb") as out:
        out.write(b"one\n\ntwo")
    assert list(byte_lines(file)) == [b"one", b"", b"two"]
    assert read_unpacked(file) == b"one\n\ntwo"
    bomb(file, b"\n", 2)
    for read in (read_unpacked, lambda path: list(byte_lines(path))):
        with pytest.raises(ValueError, match="its content has more than"):
            read(file)
    monkeypatch.setattr(untrusted, "MOST_LINE_BYTES", 1000)
    (tmp_path / "long.txt").write_bytes(b"x" * 1001)
    with pytest.raises(ValueError, match="a line is longer than 1,000 bytes"):
        list(byte_lines(tmp_path / "long.txt"))


@pytest.mark.parametrize("line", [b"\n", b"x", b"{}\n"])
def test_a_bomb_of_captions_ends_with_a_sentence_in_little_memory(line: bytes, tmp_path: Path) -> None:
    """300 MB in some hundred KB: blank lines, one line, or 100 million mistakes."""
    (tmp_path / "images").mkdir()
    bomb(tmp_path / "captions.jsonl.gz", line, 300)
    code = f"from lingvis.cli import main; main(['data', 'show', {str(tmp_path)!r}])"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),
    )
    assert done.returncode == 2 and "Traceback" not in done.stderr, done.stderr
    assert done.stderr.startswith(f"lingvis: {tmp_path / 'captions.jsonl.gz'} ")


def test_a_dataset_with_a_bomb_of_nesting_names_the_line(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / "captions.jsonl").write_text('{"a": 1}\n' + "[" * 100_000 + "\n")
    with pytest.raises(UserError, match="line 2: bad JSON: too many nested brackets"):
        Dataset.open(tmp_path)


HOLD = """
import sys
from pathlib import Path
from lingvis.lock import one_writer
with one_writer(Path(sys.argv[1])):
    print("locked", flush=True)
    sys.stdin.read()
"""


def test_a_lock_excludes_other_processes_and_dies_with_its_own(tmp_path: Path) -> None:
    target = tmp_path / "out"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(target)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None and holder.stdout.readline() == "locked\n"
    with pytest.raises(UserError, match=f"another process is writing {target}; wait"), one_writer(target):
        pass
    holder.kill()
    holder.communicate()
    assert [file.name for file in tmp_path.iterdir()] == [".out.lock"]  # a kill cannot remove it
    with (
        one_writer(target),
        pytest.raises(UserError, match="busy"),
        exclusive(tmp_path / ".out.lock", "busy"),
    ):
        pass
    assert list(tmp_path.iterdir()) == []

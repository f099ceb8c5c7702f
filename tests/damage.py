"""Ways to damage a file, and a check that every command meets each of them with one sentence."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from lingvis.cli import main

SECONDS = 60  # a command that takes longer has hung
INTEGER = re.compile(rb"(?<![\w.\"#-])\d+(?![\w.\"])")
Damage = Callable[[Path], None]


def overwrite(change: Callable[[bytes], bytes]) -> Damage:
    return lambda file: void(file.write_bytes(change(file.read_bytes())))


def void(_: object) -> None:
    return


def to_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def to_pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def flip_bytes(content: bytes) -> bytes:
    """One bit of every 97th byte."""
    changed = bytearray(content)
    for place in range(0, len(changed), 97):
        changed[place] ^= 1 << place % 8
    return bytes(changed)


DAMAGE: dict[str, Damage] = {
    "empty": overwrite(lambda content: b""),
    "cut off": overwrite(lambda content: content[: len(content) // 2]),
    "random": overwrite(lambda content: random.Random(len(content)).randbytes(len(content))),
    "bits": overwrite(flip_bytes),
    "deep": overwrite(lambda content: b"[" * 100_000 + b"\n"),
    "deep and closed": overwrite(lambda content: b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"\n"),
    "list": overwrite(lambda content: b"[1, null]\n"),
    "object": overwrite(lambda content: b"{}\n"),
    "number": overwrite(lambda content: b"3\n"),
    "surrogate": overwrite(lambda content: b'{"a": "\\ud800"}\n'),
    "huge numbers": overwrite(lambda content: INTEGER.sub(b"9" * 30, content)),
    "large numbers": overwrite(lambda content: INTEGER.sub(b"999999", content)),
    "negative numbers": overwrite(lambda content: INTEGER.sub(b"-7", content)),
    "no numbers": overwrite(lambda content: INTEGER.sub(b"NaN", content)),
    "strings": overwrite(lambda content: INTEGER.sub(b'"x"', content)),
    "folder": to_folder,
    "pipe": to_pipe,
    "missing": Path.unlink,
    "unreadable": lambda file: file.chmod(0),
}
# Enough for files that are no text.
OF_BINARY = (
    "empty",
    "cut off",
    "random",
    "bits",
    "object",
    "huge numbers",
    "folder",
    "pipe",
    "missing",
    "unreadable",
)
# Enough for commands that take long.
FEW = (
    "empty",
    "cut off",
    "random",
    "deep",
    "list",
    "huge numbers",
    "no numbers",
    "folder",
    "pipe",
    "missing",
)
TEXT = (".json", ".jsonl", ".npy", ".toml", ".txt")


@contextmanager
def time_limit() -> Iterator[None]:
    """Raise in the main thread if it hangs."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"no end within {SECONDS} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def outcome(arguments: Sequence[str], capsys: pytest.CaptureFixture[str], *, must_work: bool) -> str:
    """Run a command; returns what is wrong with its end, or an empty string."""
    capsys.readouterr()
    code: object = 0
    try:
        with time_limit():
            main(arguments)
    except SystemExit as ended:
        code = ended.code
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return f"{type(error).__name__}: {str(error)[:300]} {traceback.format_exc().splitlines()[-8:]}"
    errors = capsys.readouterr().err
    if code == 0 and "Traceback" not in errors:
        return ""
    sentences = [line for line in errors.splitlines() if line.startswith("lingvis: ")]
    if must_work or code != 2 or len(sentences) != 1 or "Traceback" in errors:
        return f"code {code}: {errors[:500]}"
    return ""


def check_every_file(
    folder: Path,
    work: Path,
    commands: Callable[[Path], Sequence[Sequence[str]]],
    capsys: pytest.CaptureFixture[str],
    *,
    ignored: Sequence[str] = (),
    kinds: Sequence[str] = tuple(DAMAGE),
) -> int:
    """Damage each file of a copy of `folder` in each way and run the commands; returns how many ended with a sentence.

    commands: the copy -> the arguments of commands that open it. The first command must succeed on the whole folder.
    """
    wrong = []
    runs = 0
    files = sorted(file.relative_to(folder) for file in folder.rglob("*") if file.is_file())
    files = [file for file in files if not any(file.match(pattern) for pattern in ignored)]
    assert files
    copy = work / folder.name
    # Everything can be read by root.
    chosen = {name: DAMAGE[name] for name in kinds if name != "unreadable" or os.geteuid()}
    for kind, damage in {"whole": void, **chosen}.items():
        for file in files if kind != "whole" else files[:1]:
            if file.suffix not in TEXT and kind not in ("whole", *OF_BINARY):
                continue
            for arguments in commands(copy):
                shutil.rmtree(copy, ignore_errors=True)
                shutil.copytree(folder, copy)
                damage(copy / file)
                if problem := outcome(arguments, capsys, must_work=kind == "whole"):
                    wrong.append(f"{file} {kind}, {' '.join(arguments[:2])}: {problem}")
                assert not (kind == "whole" and wrong), wrong
                runs += 1
                if (copy / file).exists() and not (copy / file).is_dir():
                    (copy / file).chmod(0o600)
    assert not wrong, f"{len(wrong)} of {runs}:\n" + "\n".join(wrong)
    return runs

"""Records of measurements: one JSON object per line of a file, appended and never rewritten."""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import lingvis
from lingvis.errors import UserError
from lingvis.hardware import describe_hardware

RUNS = "runs.jsonl"  # in the folder of a study
Record = dict[str, Any]


def read(file: Path) -> list[Record]:
    """All records of a file, in the order of their names' first lines; a later line replaces one with its name.

    A last line without a newline is ignored: the process that wrote it was killed.
    """
    if not file.is_file():
        return []
    records: dict[str, Record] = {}
    *lines, _torn = file.read_text(encoding="utf-8").split("\n")
    for number, line in enumerate(lines, start=1):
        try:
            record = json.loads(line)
            records[record["name"]] = record
        except (ValueError, KeyError, TypeError) as error:
            raise UserError(
                f"{file}, line {number}, is no record ({error!r}); delete this line to measure again"
            ) from error
    return list(records.values())


def find(file: Path, name: str) -> Record | None:
    """The record with a name, None if the file has none."""
    return next((record for record in read(file) if record["name"] == name), None)


def append(file: Path, record: Mapping[str, Any]) -> None:
    """Add one line, safe beside other processes; a process that is killed loses at most its own line."""
    file.parent.mkdir(parents=True, exist_ok=True)
    line = json.dumps(record, ensure_ascii=False, allow_nan=False).encode() + b"\n"
    with file.open("a+b") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        handle.seek(0)
        stored = handle.read()
        handle.truncate(stored.rfind(b"\n") + 1)  # without the torn line of a killed process
        handle.write(line)
        handle.flush()
        os.fsync(handle.fileno())


def check_writable(out: Path) -> None:
    """Raise if `out` cannot be written to, before time is spent on a result that could not be stored."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            pass
    except OSError as error:
        raise UserError(f"cannot write to {out} ({error.strerror}); choose another out folder") from error


def agrees(record: Mapping[str, Any], conditions: Mapping[str, Any]) -> bool:
    """Whether a record was measured under these conditions."""
    return {key: record.get(key) for key in conditions} == dict(conditions)


def origin() -> Record:
    """The version and the machine that a number comes from."""
    return {"lingvis": lingvis.__version__, "hardware": describe_hardware()}

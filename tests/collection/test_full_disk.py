"""A disk that is full while folders are watched: a small file system of our own, which slowly gets room."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import make_pictures

PICTURES = 30
# Runs in namespaces of its own, so that it may mount: a disk of 3 MB, filled to the last byte, from which somebody takes
# away 16 KB again and again, while `watch` tries to store pictures there.
SCRIPT = """
import json, subprocess, sys, threading, time
from pathlib import Path
disk, photos, model = map(Path, sys.argv[1:])
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(disk)], check=True)
import lingvis
from lingvis.collection.writer import indexer

ballast = disk / "ballast"
with ballast.open("wb", buffering=0) as out:
    try:
        while out.write(bytes(4096)) == 4096:
            pass
    except OSError as error:
        print(error.errno, flush=True)

noted, print_note = threading.Event(), indexer.note

def note(text):
    print_note(text)
    noted.set()

def shrink():
    noted.wait()
    while True:
        time.sleep(0.2)
        with ballast.open("r+b") as out:
            out.truncate(max(0, ballast.stat().st_size - 16384))

def report(outcome):
    rows = lingvis.Collection.open(disk / "c.lv", device="cpu").store
    print(json.dumps([outcome.added, outcome.broken, outcome.unreadable, rows.count()]), flush=True)
    sys.exit(0)

threading.Thread(target=shrink, daemon=True).start()
indexer.note, indexer.REST, indexer.REST_SHARE = note, 0.1, 0
lingvis.Collection(disk / "c.lv", model=model, device="cpu").watch([photos], report=report)
"""


def can_mount() -> bool:
    unshare = shutil.which("unshare")
    return (
        unshare is not None and subprocess.run([unshare, "-Urm", "true"], capture_output=True).returncode == 0
    )


@pytest.mark.skipif(not can_mount(), reason="no file system of our own may be mounted here")
def test_a_full_disk_is_reported_once_and_waited_out(tmp_path: Path, model: Path) -> None:
    make_pictures(tmp_path / "photos", PICTURES)
    (tmp_path / "disk").mkdir()
    command = ["unshare", "-Urm", sys.executable, "-c", SCRIPT]
    done = subprocess.run(
        [*command, str(tmp_path / "disk"), str(tmp_path / "photos"), str(model)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    full, report = done.stdout.splitlines()
    assert full == "28"  # ENOSPC: the disk was really full
    added, *rest = json.loads(report)
    assert rest == [{}, {}, PICTURES]
    assert added in (0, PICTURES)  # 0 if the disk was full only after the last picture
    assert done.stderr.splitlines() == [
        f"note: the disk of collection {tmp_path / 'disk' / 'c.lv'} is full; free some space (stored pictures are safe) "
        "(still watching)"
    ]

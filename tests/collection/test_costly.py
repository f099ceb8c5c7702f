"""Pictures that cost hours or gigabytes: indexing lists them and continues; thumbnails have pixels only."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from PIL import Image, ImageCms

from lingvis.collection.collection import Collection
from lingvis.collection.stores.sqlite.store import SqliteStore
from lingvis.features.decoding import process
from studies.siege.costly import large_webp, many_scans

from .conftest import make_pictures
from .indexing import index_folders

COMMAND = [sys.executable, "-c", "from lingvis.cli import main; main()"]
SLOW = many_scans(60, (4000, 4000))  # within the limits, and still seconds
DECODING = 60_000_000  # bytes of a decoder process that has begun with a slow picture


def decoders_of(parent: int) -> dict[int, int]:
    """The decoder processes of a process, and their memory."""
    found = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            status = dict(line.split(":\t", 1) for line in (folder / "status").read_text().splitlines())
            command = (folder / "cmdline").read_bytes()
        except OSError:  # it ended meanwhile
            continue
        if int(status["PPid"]) == parent and process.PROGRAM.encode() in command:
            found[int(folder.name)] = 1024 * int(status["VmRSS"].split()[0])
    return found


def wait_until(condition: Callable[[], object], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_costly_pictures_are_listed_and_the_others_are_indexed(
    model: Path, photos: Path, collection: str
) -> None:
    (photos / "scans.jpg").write_bytes(many_scans(5000))
    (photos / "large.webp").write_bytes(large_webp(8000))
    filled = Collection.create(collection, model)
    assert filled.model.preprocessing
    start = time.monotonic()
    report = filled.add([photos])
    assert time.monotonic() - start < 15
    assert report.added == 5
    assert {Path(path).name: reason.partition(";")[0] for path, reason in report.broken.items()} == {
        "scans.jpg": "it has more than 100 scans of 4,000,000 pixels, which take too long to decode",
        "large.webp": "decoding it needs 1,536 MB of memory",
    }
    assert decoders_of(os.getpid()) == {}


def test_a_killed_decoder_loses_nothing(model: Path, photos: Path, collection: str) -> None:
    (photos / "slow.jpg").write_bytes(SLOW)
    killed: list[int] = []

    def kill_one() -> None:
        wait_until(lambda: killed.extend(slow_decoders(os.getpid())) or killed)  # type: ignore[func-returns-value]
        os.kill(killed[0], signal.SIGKILL)

    killer = threading.Thread(target=kill_one)
    killer.start()
    report = index_folders(collection, [photos], model=model)
    killer.join()
    assert report.added == 6 and report.broken == {}


def slow_decoders(parent: int) -> list[int]:
    return [pid for pid, memory in decoders_of(parent).items() if memory > DECODING]


def test_ctrl_c_ends_decoders_at_once(model: Path, tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    make_pictures(photos, 2)
    for number in range(4):
        (photos / f"slow{number}.jpg").write_bytes(SLOW + bytes([number]))
    command = [
        *COMMAND,
        "index",
        str(tmp_path / "a.lv"),
        str(photos),
        "--model",
        str(model),
        "--device",
        "cpu",
    ]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    ) as parent:
        wait_until(lambda: slow_decoders(parent.pid))
        decoders = decoders_of(parent.pid)
        start = time.monotonic()
        os.killpg(parent.pid, signal.SIGINT)  # as a terminal does
        output, _ = parent.communicate(timeout=20)
        assert time.monotonic() - start < 10
    assert "Traceback" not in output
    assert not any(Path(f"/proc/{pid}").exists() for pid in decoders)


def test_thumbnails_have_pixels_only(model: Path, tmp_path: Path, collection: str) -> None:
    photos = tmp_path / "photos"
    photos.mkdir()
    exif = Image.Exif()
    exif[0x010E] = "SECRET of the camera"
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    metadata: dict[str, Any] = {"exif": exif, "icc_profile": profile, "dpi": (300, 300)}
    noise = Image.effect_noise((400, 300), 50).convert("RGB")
    noise.save(photos / "a.jpg", comment=b"SECRET of the editor", **metadata)
    noise.rotate(90).save(photos / "b.webp", xmp=b"SECRET of the studio", **metadata)
    noise.convert("P").save(photos / "c.gif", comment=b"SECRET of the scanner")
    assert index_folders(collection, [photos], model=model).added == 3
    store = SqliteStore(Path(collection))
    for row in store.files():
        thumbnail = store.thumbnail(row.id)
        assert thumbnail is not None and b"SECRET" not in thumbnail and b"sRGB" not in thumbnail
        with Image.open(io.BytesIO(thumbnail)) as image:
            assert set(image.info) <= {"jfif", "jfif_version", "jfif_unit", "jfif_density"}, row.path
            assert max(image.size) == 320

"""Decoder processes: the same pixels as in this process, limits on time and memory, and no process left behind."""

from __future__ import annotations

import contextlib
import io
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from lingvis.data.picture_limits import DECODED_BYTES
from lingvis.features.decoding.content import DecodeRequest, JpegRequest, ViewRequest, decode_content
from lingvis.features.decoding.exif import CameraFacts
from lingvis.features.decoding.messages import LENGTHS, Channel, MessageError, read_content
from lingvis.features.decoding.pool import DecoderPool
from lingvis.features.decoding.process import MEMORY, DecoderProcess
from lingvis.features.pictures import BrokenPicture, CostlyPicture, UnknownFormat
from lingvis.features.preprocessing import Preprocessing
from studies.siege.costly import deep_png, large_webp, many_scans

SQUARE = Preprocessing(size=32, mean=(0.5,) * 3, std=(0.5,) * 3)
WHOLE = DecodeRequest(views=ViewRequest(SQUARE), jpeg=JpegRequest(side=320, quality=80))
SLOW = many_scans(100, (4000, 4000))  # within the limits, and still seconds


@pytest.fixture(scope="module")
def pool() -> Iterator[DecoderPool]:
    with DecoderPool() as decoders:
        yield decoders


def picture(kind: str = "JPEG", size: tuple[int, int] = (90, 60), **options: Any) -> bytes:
    out = io.BytesIO()
    noise = np.random.default_rng(0).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    Image.fromarray(noise).save(out, kind, **options)
    return out.getvalue()


def processes(pool: DecoderPool) -> list[DecoderProcess]:
    return [*pool._idle, *pool._busy]


def status_of(pid: int, field: str) -> int:
    """A line of /proc/PID/status in bytes."""
    found = re.search(rf"{field}:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found is not None
    return 1024 * int(found[1])


def gone(pid: int) -> bool:
    try:
        return ") Z " in Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True


def wait_until(condition: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF"])
def test_the_same_picture_as_in_this_process(pool: DecoderPool, kind: str) -> None:
    exif = Image.Exif()
    exif[0x0132] = "2024:05:01 18:30:00"
    exif[0x0110] = "NIKON D90"
    if kind == "JPEG":  # Pillow writes positions into no TIFF
        exif[0x8825] = {1: "S", 2: (33.0, 51.0, 54.0), 3: "E", 4: (151.0, 12.0, 36.0)}
    data = picture(kind, exif=exif)
    boxes = [(1.0, 2.0, 30.0, 40.0), (5.5, 5.5, 1000.0, 50.0)]
    for request in (
        WHOLE,
        DecodeRequest(views=ViewRequest(SQUARE, boxes, crops=True)),
        DecodeRequest(views=ViewRequest(SQUARE, boxes)),
        DecodeRequest(longer_side=50),
        DecodeRequest(jpeg=JpegRequest(side=20, quality=90)),
        DecodeRequest(),
    ):
        there, here = pool.decode(data, request), decode_content(data, request)
        if kind == "JPEG":
            expected = CameraFacts(datetime(2024, 5, 1, 18, 30), "NIKON D90", -33.865, 151.21)
            assert here.facts == expected
        for name in ("width", "height", "format", "facts", "jpeg", "signature"):
            assert getattr(there, name) == getattr(here, name), name
        np.testing.assert_array_equal(there.pixels, here.pixels)
        assert (there.views is None) == (here.views is None) == (request.views is None)
        if there.views is not None and here.views is not None:
            for name in ("pixels", "boxes", "fractions"):
                np.testing.assert_array_equal(getattr(there.views, name), getattr(here.views, name))
                assert getattr(there.views, name).dtype == getattr(here.views, name).dtype
            assert there.views.preprocessing == here.views.preprocessing == SQUARE
    assert len(processes(pool)) == 1


def test_reasons_are_the_same_as_in_this_process(pool: DecoderPool) -> None:
    cases = {
        picture()[:2000]: BrokenPicture,
        b"not a picture": UnknownFormat,
        many_scans(5000): CostlyPicture,
        large_webp(8000): CostlyPicture,
    }
    for data, kind in cases.items():
        with pytest.raises(BrokenPicture) as here:
            decode_content(data, WHOLE)
        start = time.monotonic()
        with pytest.raises(BrokenPicture) as there:
            pool.decode(data, WHOLE)
        assert time.monotonic() - start < 2
        assert type(there.value) is type(here.value) is kind
        assert str(there.value) == str(here.value)
    with pytest.raises(CostlyPicture, match="at most 5,399 are decoded"):
        pool.decode(picture(), DecodeRequest(pixels=5399))


def test_a_process_is_light_and_quick_to_start() -> None:
    times = []
    for _ in range(3):
        start = time.monotonic()
        process = DecoderProcess(file_bytes=10**7)
        times.append(time.monotonic() - start)
        maps = Path(f"/proc/{process.pid}/maps").read_text()
        memory = status_of(process.pid, "VmHWM")
        process.close()
    assert "torch" not in maps and "pydantic" not in maps
    assert memory < 60_000_000
    assert min(times) < 1.5  # 0.2 on an idle machine


def test_modules_in_the_working_folder_are_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("numpy", "json", "lingvis"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'started')!r}, 'w')")
    monkeypatch.chdir(tmp_path)
    with DecoderPool() as pool:
        assert pool.decode(picture(), WHOLE).width == 90
    assert not (tmp_path / "started").exists()


def test_memory_of_both_processes_is_bounded(pool: DecoderPool) -> None:
    for data in (large_webp(8000), deep_png(4000)):
        before = status_of(os.getpid(), "VmRSS")
        with contextlib.suppress(CostlyPicture):
            pool.decode(data, WHOLE)
        (child,) = processes(pool)
        assert status_of(child.pid, "VmHWM") < 300_000_000
        assert status_of(os.getpid(), "VmRSS") - before < 20_000_000


def test_the_system_enforces_the_limits_too(pool: DecoderPool) -> None:
    pool.decode(picture(), WHOLE)
    (child,) = processes(pool)
    limits = Path(f"/proc/{child.pid}/limits").read_text()
    soft = {line[:26].strip(): line[26:].split()[0] for line in limits.splitlines()[1:]}
    assert (soft["Max file size"], soft["Max core file size"], soft["Max open files"]) == ("0", "0", "32")
    memory = int(soft["Max address space"]) - 2**30 - DECODED_BYTES - MEMORY
    assert 0 < memory < 2**30
    assert 20 < int(soft["Max cpu time"]) < 3600
    assert os.getpriority(os.PRIO_PROCESS, child.pid) == min(19, os.getpriority(os.PRIO_PROCESS, 0) + 10)


def test_a_slow_picture_is_given_up(pool: DecoderPool) -> None:
    with DecoderPool(seconds=0.5) as impatient:
        assert impatient.decode(picture(), WHOLE).width == 90
        (first,) = processes(impatient)
        start = time.monotonic()
        with pytest.raises(CostlyPicture, match=r"decoding took longer than 0\.5 seconds; make it smaller"):
            impatient.decode(SLOW, WHOLE)
        assert time.monotonic() - start < 2
        wait_until(lambda: gone(first.pid))
        assert impatient.decode(picture(), WHOLE).width == 90
        (second,) = processes(impatient)
        assert second.pid != first.pid


def test_a_picture_that_is_not_read_is_given_up() -> None:
    """A stopped process reads nothing, so that sending blocks."""
    with DecoderPool(seconds=0.5) as impatient:
        impatient.decode(picture(), WHOLE)
        (child,) = processes(impatient)
        os.kill(child.pid, signal.SIGSTOP)
        with pytest.raises(CostlyPicture, match="took longer"):
            impatient.decode(picture("BMP", (2000, 2000)), WHOLE)
        wait_until(lambda: gone(child.pid))


def test_after_a_kill_another_process_tries_once_more() -> None:
    with DecoderPool(seconds=120) as pool:
        pool.decode(picture(), WHOLE)
        for kills, usable in ((1, True), (2, False)):
            outcome: list[object] = []
            thread = threading.Thread(target=lambda out=outcome: out.append(attempt(pool)))
            thread.start()
            for _ in range(kills):
                wait_until(lambda: any(busy(child) for child in list(pool._busy)))
                (child,) = list(pool._busy)
                os.kill(child.pid, signal.SIGKILL)
                wait_until(lambda child=child: child not in pool._busy)  # type: ignore[misc]
            thread.join(120)
            if usable:
                assert outcome == [4000]
            else:
                assert "ended twice" in str(outcome[0])
        assert pool.decode(picture(), WHOLE).width == 90


def test_processes_that_ended_between_pictures_are_replaced() -> None:
    with DecoderPool() as pool:
        threads = [
            threading.Thread(target=pool.decode, args=(picture("BMP", (900, 900)), WHOLE)) for _ in range(3)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for process in processes(pool):
            os.kill(process.pid, signal.SIGKILL)
            wait_until(lambda pid=process.pid: gone(pid))  # type: ignore[misc]
        assert pool.decode(picture(), WHOLE).width == 90


def attempt(pool: DecoderPool) -> object:
    try:
        return pool.decode(SLOW, WHOLE).width
    except BrokenPicture as broken:
        return broken


def busy(child: DecoderProcess) -> bool:
    """Whether it has begun to decode the slow picture: its memory grows by the coefficients."""
    return status_of(child.pid, "VmRSS") > 60_000_000


def test_each_thread_has_a_process_and_none_outlives_the_pool() -> None:
    pool = DecoderPool()
    threads = [threading.Thread(target=attempt, args=(pool,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    wait_until(lambda: len(pool._busy) == 3)
    pids = [process.pid for process in processes(pool)]
    start = time.monotonic()
    pool.close()  # while they decode
    for thread in threads:
        thread.join()
    assert time.monotonic() - start < 5
    assert all(gone(pid) for pid in pids)
    with pytest.raises(BrokenPicture, match="stopped"):
        pool.decode(picture(), WHOLE)
    left = DecoderPool()
    left.decode(picture(), WHOLE)
    (child,) = processes(left)
    del left
    wait_until(lambda: gone(child.pid))


PARENT = """
import sys, threading
from lingvis.features.decoding.pool import DecoderPool
from tests.features.test_decoding import SLOW, WHOLE, attempt, picture, processes
pool = DecoderPool()
threading.Thread(target=attempt, args=(pool,), daemon=True).start()  # busy
while not pool._busy:
    pass
pool.decode(picture(), WHOLE)  # idle
print(*[process.pid for process in processes(pool)], flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGINT, None])
def test_processes_end_with_their_parent(ending: signal.Signals | None) -> None:
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", PARENT]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=root
    ) as parent:
        assert parent.stdin is not None and parent.stdout is not None
        pids = [int(pid) for pid in parent.stdout.readline().split()]
        assert len(pids) == 2
        if ending is None:
            parent.stdin.close()
        else:
            parent.send_signal(ending)
        parent.wait(20)
    wait_until(lambda: all(gone(pid) for pid in pids))


def test_wrong_replies_are_no_pictures() -> None:
    here, there = socket.socketpair()
    with here, there:
        for lengths in ((2**40, 0), (2, 2**40)):
            there.sendall(LENGTHS.pack(*lengths) + b"{}")
            with pytest.raises(MessageError):
                Channel(here).receive(limit=100, deadline=time.monotonic() + 5)
            here.setblocking(False)
            here.recv(100)
    good = {
        "width": 1,
        "height": 1,
        "format": "jpeg",
        "taken": None,
        "camera": None,
        "position": None,
        "shape": None,
    }
    good["signature"] = "00" * 108
    whole = bytearray(32 * 32 * 3 + 4 * 4 + 4 * 8)
    assert read_content(WHOLE, good, whole).jpeg == b""
    for wrong in (
        {"width": "1"},
        {"height": -1},
        {"format": "svg"},
        {"format": None},
        {"taken": 5},
        {"taken": "x"},
        {"position": [91, 0]},
        {"position": [0, float("nan")]},
        {"position": [1]},
        {"signature": "00"},
        {"signature": None},
    ):
        with pytest.raises(MessageError):
            read_content(WHOLE, good | wrong, whole)
    with pytest.raises(MessageError):
        read_content(WHOLE, good, whole[:-1])
    for shape in ([1, 2], [60, 1, 3], [1, 1, 4], [0, 1, 3], "abc", [10**9, 10**9, 3]):
        with pytest.raises(MessageError):
            read_content(DecodeRequest(longer_side=50), good | {"shape": shape}, bytearray(10))
    with pytest.raises(BrokenPicture) as error:
        read_content(
            WHOLE, {"broken": "UserError", "reason": "a\nlingvis: forged\x1b[31m" + "x" * 5000}, whole
        )
    assert type(error.value) is BrokenPicture
    assert str(error.value).isprintable() and len(str(error.value)) <= 300


def test_a_decoder_does_not_get_the_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINGVIS_TOKEN", "correct-horse-battery")
    process = DecoderProcess(file_bytes=10**6)
    variables = Path(f"/proc/{process.pid}/environ").read_bytes()
    process.close()
    assert b"OMP_NUM_THREADS=1" in variables and b"correct-horse" not in variables

"""Uploads that cost hours or gigabytes: rejected at once, or decoded apart from searches."""

from __future__ import annotations

import re
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from studies.siege.costly import deep_png, large_webp, many_scans

from .conftest import Client, serving


def peak_of(pid: int) -> int:
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found is not None
    return 1024 * int(found[1])


def test_costly_uploads_are_rejected_at_once_and_take_no_memory(home: Path, tmp_path: Path) -> None:
    with serving(str(home / "photos.lv"), log=tmp_path / "log") as (port, pid):
        client = Client(port, {})
        assert client.upload(deep_png(10)).status == 200  # starts a decoder
        before = peak_of(pid)
        for data, reason in (
            (many_scans(5000), "more than 100 scans"),
            (large_webp(8000), "1,536 MB of memory"),
        ):
            start = time.monotonic()
            answer = client.upload(data)
            assert time.monotonic() - start < 5  # decoding would take a minute
            assert answer.status == 413 and reason in answer.error
        assert client.upload(deep_png(4000)).status == 200
        assert peak_of(pid) - before < 100_000_000


def test_searches_beside_slow_uploads_stay_quick(client: Client) -> None:
    slow = many_scans(100, (5000, 5000))
    assert client.search("a dog").status == 200
    with ThreadPoolExecutor(2) as pool:
        uploads = [pool.submit(client.upload, slow) for _ in range(2)]
        time.sleep(0.5)
        seconds: list[float] = []
        while not any(upload.done() for upload in uploads):
            start = time.monotonic()
            assert client.search(f"a dog {len(seconds)}").status == 200
            seconds.append(time.monotonic() - start)
        assert len(seconds) > 5
        assert max(seconds) < 2
        # Given up after ten seconds if the machine is busy.
        assert {upload.result().status for upload in uploads} <= {200, 413}


def test_an_upload_does_not_wait_for_all_slow_ones_of_another_client(client: Client) -> None:
    slow, attacker = many_scans(100, (4500, 4500)), replace(client, address="127.0.0.2")
    with ThreadPoolExecutor(4) as pool:
        uploads = [pool.submit(attacker.upload, slow) for _ in range(4)]
        time.sleep(0.5)
        assert client.upload(deep_png(10)).status == 200
        assert not all(upload.done() for upload in uploads)


@pytest.mark.parametrize("size", [0, 1, 100])
def test_a_damaged_upload_ends_no_decoder(client: Client, size: int) -> None:
    whole = deep_png(100)
    assert client.upload(whole[:size]).status in (415, 422)
    assert client.upload(whole).status == 200

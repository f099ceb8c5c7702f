"""Freed blocks stay with the process during `kept_memory`, and only then."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from lingvis import hardware
from lingvis.hardware import kept_memory

needs_glibc = pytest.mark.skipif(hardware._glibc() is None, reason="another C library than glibc")
PROGRAM = """
import resource
import torch
from lingvis.hardware import kept_memory

PAGES = 2**26 // resource.getpagesize()  # of a block above the 32 MB that glibc would keep

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    torch.ones(2**24)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1])

outside = min(faults() for _ in range(4))
with kept_memory():
    for _ in range(12):  # until a block fits between others
        faults()
    inside, held = max(faults() for _ in range(4)), resident()
    with kept_memory():
        pass
    nested = max(faults() for _ in range(4))
given_back = held - resident()
after = faults()  # later ones may fit into what the heap keeps at its end
print(outside / PAGES, inside / PAGES, nested / PAGES, given_back / PAGES, after / PAGES)
"""


@needs_glibc
def test_blocks_are_kept_inside_and_returned_after() -> None:
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    outside, inside, nested, given_back, after = map(float, ran.stdout.split())
    assert outside > 0.9 and after > 0.9  # each block is cleared anew
    assert inside < 0.1 and nested < 0.1
    assert given_back > 0.9


WORKER = """
from lingvis.hardware import keep_memory

with kept_memory():
    pass
keep_memory()
for _ in range(12):
    faults()
with kept_memory():
    pass
print(max(faults() for _ in range(4)) / PAGES)
"""


@needs_glibc
def test_a_worker_keeps_its_memory_to_the_end() -> None:
    program = PROGRAM[: PROGRAM.index("outside =")] + WORKER
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert float(ran.stdout) < 0.1


def test_threads_share_it() -> None:
    inside, over = threading.Event(), threading.Event()

    def work() -> None:
        with kept_memory():
            inside.set()
            over.wait(10)

    before = hardware._users
    thread = threading.Thread(target=work)
    thread.start()
    inside.wait(10)
    with kept_memory():
        expected = before + (2 if hardware._glibc() is not None else 0)
        assert hardware._users == expected
    over.set()
    thread.join()
    assert hardware._users == before


def test_another_c_library_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardware, "_glibc", lambda: None)
    before = hardware._users
    with kept_memory():
        assert hardware._users == before

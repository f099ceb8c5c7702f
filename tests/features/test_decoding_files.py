"""Several files per message: the same pixels as one by one, and a costly or hostile file spoils no other."""

from __future__ import annotations

import mmap
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lingvis.errors import UserError
from lingvis.features.decoding.content import DecodeRequest, PictureContent, ViewRequest
from lingvis.features.decoding.files import Here
from lingvis.features.decoding.messages import MessageError
from lingvis.features.decoding.pool import DecoderPool
from lingvis.features.decoding.shared import NoSharedMemoryError, Wanted, fit_block, new_block, read_replies
from lingvis.features.encode import FeatureSet
from lingvis.features.manifest import FeatureOrigin
from lingvis.features.partial import PartialStore
from lingvis.features.pictures import BrokenPicture, CostlyPicture
from lingvis.features.prefetch import prefetch, prefetch_groups
from lingvis.features.recorder import Recorder
from lingvis.features.store import FeatureStore
from tests.features.test_decoding import SLOW, SQUARE, gone, picture, processes, wait_until
from tests.features.test_extract import file_limit

VIEW = DecodeRequest(views=ViewRequest(SQUARE))


@pytest.fixture(scope="module")
def pool() -> Iterator[DecoderPool]:
    with DecoderPool() as decoders:
        yield decoders


@pytest.fixture
def wanted(tmp_path: Path) -> list[Wanted]:
    """Whole pictures, boxes, crops, a broken, an empty, a missing file, a folder, and a name that is not UTF-8."""
    boxes = [(1.0, 2.0, 30.0, 40.0), (5.5, 5.5, 1000.0, 50.0)]
    found: list[Wanted] = []
    contents = [picture(), picture("PNG", (31, 70)), picture()[:2000], b"", picture("WEBP"), b"not a picture"]
    for number, data in enumerate(contents):
        path = tmp_path / os.fsdecode(b"%d\xff.jpg" % number)
        path.write_bytes(data)
        found.append((path, VIEW))
        if number < 2:
            found.append((str(path), DecodeRequest(views=ViewRequest(SQUARE, boxes, crops=True))))
            found.append((path, DecodeRequest(views=ViewRequest(SQUARE, boxes))))
    found += [(tmp_path / "missing.jpg", VIEW), (tmp_path, VIEW), (found[0][0], VIEW)]
    return found


def assert_same(one: PictureContent | BrokenPicture, other: PictureContent | BrokenPicture) -> None:
    if isinstance(one, BrokenPicture) or isinstance(other, BrokenPicture):
        assert (type(one), str(one)) == (type(other), str(other))
        return
    assert (one.width, one.height, one.format) == (other.width, other.height, other.format)
    assert one.views is not None and other.views is not None
    for name in ("pixels", "boxes", "fractions"):
        np.testing.assert_array_equal(getattr(one.views, name), getattr(other.views, name))


def test_files_together_are_the_same_as_one_by_one(pool: DecoderPool, wanted: list[Wanted]) -> None:
    here = Here().decode_files(wanted)
    assert sum(isinstance(result, BrokenPicture) for result in here) == 5
    for count in (1, 3, len(wanted)):  # the memory grows, then serves smaller messages
        there = [
            result
            for at in range(0, len(wanted), count)
            for result in pool.decode_files(wanted[at : at + count])
        ]
        for one, other in zip(there, here, strict=True):
            assert_same(one, other)
    (child,) = processes(pool)
    assert pool.decode_files([]) == []
    assert child.alive


def test_results_outlive_the_next_message(pool: DecoderPool, wanted: list[Wanted]) -> None:
    first, second = pool.decode_files(wanted[:1])[0], pool.decode_files(wanted[3:4])[0]
    assert_same(first, Here().decode_files(wanted[:1])[0])
    assert isinstance(first, PictureContent) and isinstance(second, PictureContent)
    assert first.views is not None and second.views is not None
    assert (first.views.pixels != second.views.pixels).any()


def test_a_slow_file_alone_is_given_up(wanted: list[Wanted], tmp_path: Path) -> None:
    (tmp_path / "slow.jpg").write_bytes(SLOW)
    mixed: list[Wanted] = [wanted[0], (tmp_path / "slow.jpg", VIEW), wanted[3]]
    with DecoderPool(seconds=0.5) as impatient:
        results = impatient.decode_files(mixed)
    assert isinstance(results[1], CostlyPicture) and "longer than 0.5 seconds" in str(results[1])
    for at in (0, 2):
        assert_same(results[at], Here().decode_files([mixed[at]])[0])


def test_files_of_a_killed_process_are_decoded_again(wanted: list[Wanted]) -> None:
    with DecoderPool() as pool:
        pool.decode_files(wanted[:1])
        (child,) = processes(pool)
        os.kill(child.pid, signal.SIGSTOP)
        results: list[PictureContent | BrokenPicture] = []
        thread = threading.Thread(target=lambda: results.extend(pool.decode_files(wanted)))
        thread.start()
        wait_until(lambda: bool(pool._busy))
        os.kill(child.pid, signal.SIGKILL)
        thread.join(60)
        wait_until(lambda: gone(child.pid))
    for one, other in zip(results, Here().decode_files(wanted), strict=True):
        assert_same(one, other)


def test_without_shared_memory_files_are_decoded_one_by_one(wanted: list[Wanted]) -> None:
    with file_limit(1000), DecoderPool() as pool:
        with pytest.raises(NoSharedMemoryError, match="too large"):
            new_block(5000)
        for one, other in zip(pool.decode_files(wanted), Here().decode_files(wanted), strict=True):
            assert_same(one, other)


def test_a_decoder_cannot_change_the_size_of_the_memory() -> None:
    handle, memory = new_block(5000)
    for size in (0, 10000):
        with pytest.raises(PermissionError):
            os.ftruncate(handle, size)
    memory[4999] = 1
    os.close(handle)


def test_impossible_replies(wanted: list[Wanted]) -> None:
    block, files = mmap.mmap(-1, 2**16), wanted[:1]
    good: dict[str, Any] = dict.fromkeys(("taken", "camera", "position", "signature", "shape"))
    good |= {"width": 1, "height": 1, "format": "jpeg"}
    assert len(read_replies(files, {"replies": [good]}, block)) == 1
    for wrong in (None, 5, [], [good] * 2, [5]):
        with pytest.raises(MessageError):
            read_replies(files, {"replies": wrong}, block)
    with pytest.raises(MessageError):
        read_replies(files, {"replies": [good | {"width": -1}]}, block)


def test_many_crops_and_other_inputs_take_the_other_way(wanted: list[Wanted]) -> None:
    many = DecodeRequest(views=ViewRequest(SQUARE, [(0.0, 0.0, 5.0, 5.0)] * 11_000, crops=True))
    assert fit_block(wanted) and not fit_block([(wanted[0][0], many)])
    assert not fit_block([(picture(), VIEW)]) and not fit_block([])


def test_groups_are_the_same_as_single_values() -> None:
    values, seen = list(range(23)), list[int]()

    def double(group: list[int]) -> list[int]:
        seen.append(len(group))
        return [2 * value for value in group]

    expected = [[2 * value for value in values[at : at + 10]] for at in (0, 10, 20)]
    assert list(prefetch_groups(double, values, batch_size=10, threads=2, group=4)) == expected  # type: ignore[arg-type]
    assert sorted(seen) == sorted([4, 4, 2, 4, 4, 2, 3])
    told: list[int] = []
    in_turns = prefetch_groups(double, values, batch_size=10, threads=2, soon=told.append)  # type: ignore[arg-type]
    assert next(in_turns) == expected[0]
    wait_until(lambda: sorted(told) == values[10:20])
    assert list(in_turns) == expected[1:] and sorted(told) == values[10:]
    alone = prefetch(lambda value: 2 * value, values, batch_size=10, threads=2)
    assert [[result for _, result in batch] for batch in alone] == expected


def make_store(target: Path, pictures: int) -> PartialStore:
    origin = FeatureOrigin(backbone="x", kind="grid", pictures="x")
    return PartialStore(target, origin=origin, preprocessing=SQUARE, dim=4, pictures=pictures)


@pytest.mark.parametrize("sizes", [[2, 2, 2], [2, 3, 1], [2, 2, 3]])
def test_checksums_are_right_whether_the_sizes_were_foreseen_or_not(tmp_path: Path, sizes: list[int]) -> None:
    partial = make_store(tmp_path / "store", 3)
    for number, size in enumerate(sizes):
        partial.record([FeatureSet(np.full((size, 4), number, np.float16))], [])
    known = [file.checksum for file in partial._files]
    partial.finish(["a", "b", "c"])
    assert (known != [None]) == (sum(sizes) == 6)
    store = FeatureStore.open(tmp_path / "store")
    store.verify()
    assert store.values[:, 0].tolist() == np.repeat([0, 1, 2], sizes).tolist()


def test_nothing_is_recorded_after_a_failure(tmp_path: Path) -> None:
    partial = make_store(tmp_path / "store", 9)
    good, bad = FeatureSet(np.ones((1, 4), np.float16)), FeatureSet(np.ones((1, 5), np.float16))

    def record(sets: list[FeatureSet], problem: UserError | None = None) -> None:
        with Recorder(partial) as recorder:
            for values in sets:
                recorder.record([values], [])
            if problem is not None:
                raise problem

    with pytest.raises(ValueError, match="expected rows of 4"):
        record([good, bad, good, good])
    assert partial.done == 1
    with pytest.raises(UserError, match="broken"):
        record([good], UserError("broken"))
    assert partial.done == 2  # finished work is kept
    partial.close()

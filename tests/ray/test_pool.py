"""Tasks on a real cluster: order, lost workers, tasks that kill, workers that never start."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from lingvis.errors import UserError
from lingvis.features.pictures import BrokenPicture
from lingvis.ray import crew
from lingvis.ray import pool as pool_module
from lingvis.ray.cluster import Cluster
from lingvis.ray.files import WorkerReply, each_batch, reply
from lingvis.ray.pool import WorkerPool

# Functions for workers are made inside of functions, so that they travel whole: workers cannot import tests.


def test_results_come_in_order_and_lost_ones_are_made_again(cluster: Cluster, tmp_path: Path) -> None:
    def make(threads: int, device: str) -> Callable[[int, int], tuple[int, int]]:
        def work(task: int, factor: int) -> tuple[int, int]:
            time.sleep(0.02 * (task % 3))
            if task in (4, 11):
                mark = tmp_path / str(task)
                if not mark.exists():
                    mark.touch()
                    os._exit(1)
            return task * factor, os.getpid()

        return work

    pool: WorkerPool[int] = WorkerPool(cluster, make)
    results = list(pool.map(range(20), 10))
    assert [value for value, _ in results] == [10 * task for task in range(20)]
    assert len({process for _, process in results}) > 1
    assert {path.name for path in tmp_path.iterdir()} == {"4", "11"}
    again = list(pool.map(range(5), 2))
    assert [value for value, _ in again] == [0, 2, 4, 6, 8]
    assert {process for _, process in again} & {process for _, process in results}  # workers are kept
    assert list(pool.map([], 1)) == []


def test_few_tasks_are_under_way_at_once(cluster: Cluster) -> None:
    def make(threads: int, device: str) -> Callable[[int], int]:
        return lambda task: task

    taken: list[int] = []

    def tasks() -> object:
        for number in range(1000):
            taken.append(number)
            yield number

    results = WorkerPool[int](cluster, make).map(tasks())  # type: ignore[arg-type]
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    time.sleep(0.5)
    assert len(taken) <= 3 + crew.WINDOW_PER_WORKER * 3
    results.close()  # type: ignore[attr-defined]


def test_files_that_kill_workers_are_named(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "TRIES", 2)

    def make(threads: int, device: str) -> Callable[[list[str]], WorkerReply[str]]:
        def work(files: list[str]) -> WorkerReply[str]:
            if "bad" in files:
                time.sleep(
                    0.5
                )  # the reply to the task before is on its way by then, as where files are read first
                os._exit(1)
            return reply(files, files)

        return work

    done: list[list[str]] = []
    pool: WorkerPool[list[str]] = WorkerPool(cluster, make)
    with pytest.raises(UserError, match="died repeatedly at the 2 pictures from c to bad"):
        done.extend(batch for batch, _ in each_batch(pool, ["a", "b", "c", "bad"], batch_size=2, path=str))
    assert done == [["a", "b"]]


def test_pictures_that_other_machines_do_not_have_are_told(cluster: Cluster, tmp_path: Path) -> None:
    (tmp_path / "here.png").touch()

    def make(threads: int, device: str) -> Callable[[list[str]], WorkerReply[BrokenPicture]]:
        def work(files: list[str]) -> WorkerReply[BrokenPicture]:
            there = tmp_path / "here.png"
            there.rename(
                tmp_path / "aside"
            )  # this machine is the same: for a while it does not have the file
            made = reply(files, [BrokenPicture("there is no such file")] * len(files))
            (tmp_path / "aside").rename(there)
            return made

        return work

    pool: WorkerPool[list[str]] = WorkerPool(cluster, make)
    gone, here = str(tmp_path / "gone.png"), str(tmp_path / "here.png")
    ((_, results),) = each_batch(pool, [gone], batch_size=2, path=str)
    assert [str(each) for each in results] == ["there is no such file"]  # gone here, too
    with pytest.raises(UserError, match=r"here\.png cannot be read on .*same path"):
        list(each_batch(pool, [gone, here], batch_size=2, path=str))


def test_waiting_for_workers_begins_with_the_first_task(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    ahead = 0.0
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + ahead, sleep=time.sleep)
    monkeypatch.setattr(crew, "time", clock)

    def make(threads: int, device: str) -> Callable[[int], int]:
        return lambda task: 2 * task

    pool: WorkerPool[int] = WorkerPool(cluster, make)
    ahead += 2 * crew.SECONDS_TO_START  # a big collection takes long until its first file is read
    assert list(pool.map([1, 2])) == [2, 4]
    broken_off = pool.map(range(100))
    assert next(broken_off) == 0
    broken_off.close()  # type: ignore[attr-defined]
    ahead += 2 * crew.SECONDS_TO_START
    assert list(pool.map([3])) == [6]


def test_workers_that_never_get_ready_are_told(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    def sleeping(threads: int, device: str) -> Callable[[int], int]:
        time.sleep(60)
        raise AssertionError

    monkeypatch.setattr(crew, "SECONDS_TO_START", 2.5)
    start = time.monotonic()
    with pytest.raises(UserError, match="no worker became ready on the Ray cluster within 2 s"):
        list(WorkerPool[int](cluster, sleeping).map([1]))
    assert time.monotonic() - start > 2.5


def test_workers_that_cannot_start_are_told(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crew, "SECONDS_BETWEEN_LOOKS", 0.2)

    def dying(threads: int, device: str) -> Callable[[int], int]:
        os._exit(1)

    def refusing(threads: int, device: str) -> Callable[[int], int]:
        raise UserError(f"nothing works with {threads} thread on {device}; try elsewhere")

    with pytest.raises(UserError, match="cannot be started"):
        list(WorkerPool[int](cluster, dying).map([1]))
    with pytest.raises(UserError, match=r"^nothing works with 1 thread on cpu; try elsewhere$"):
        list(WorkerPool[int](cluster, refusing).map([1]))

"""A Ray cluster: on this machine, or one that runs already."""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import re
import socket
import subprocess
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from lingvis.errors import UserError
from lingvis.hardware import core_count

ADDRESS = re.compile(r"(?:ray://)?(?P<host>[\w.-]+|\[[\da-fA-F:.]+\]):(?P<port>\d{1,5})")
QUIET = {"log_to_driver": False, "logging_level": logging.ERROR}
SECONDS_TO_ANSWER = 10.0
SECONDS_TO_CONNECT = 45.0
REHEARSAL = "import sys, ray; ray.init(address=sys.argv[1], log_to_driver=False, logging_level='ERROR')"


@dataclass(frozen=True, slots=True)
class Placement:
    """How many workers a cluster has room for, and the cores and GPUs of each."""

    workers: int
    cpus: int
    gpus: int

    @property
    def device(self) -> str:
        """What a worker computes on."""
        return "cuda" if self.gpus else "cpu"


class Cluster:
    """`with Cluster() as cluster` starts one on this machine, `Cluster("auto")` and `Cluster("host:6379")` join one.

    Where this process is connected already, that cluster is used and stays up. cpus: cores of this machine that a
    cluster on it may use, all by default.
    """

    def __init__(self, address: str | None = None, *, cpus: int | None = None) -> None:
        self.address, self._cpus = address, cpus
        self._owned = False

    def __enter__(self) -> Cluster:
        ray = load_ray()
        if not ray.is_initialized():
            if self.address is None:
                _start(ray, self._cpus or core_count())
            else:
                _join(ray, self.address)
            self._owned = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._owned:
            load_ray().shutdown()

    def placement(self, device: str | None) -> Placement:
        """One worker for each GPU where there are any, else one for each core; device: None, cpu or cuda."""
        if device not in (None, "cpu", "cuda"):
            raise UserError(f"device {device!r} is not allowed on a cluster; use cpu or cuda")
        nodes = [node["Resources"] for node in load_ray().nodes() if node["Alive"]]
        with_gpu = [node for node in nodes if node.get("GPU", 0) >= 1]
        if device != "cpu" and with_gpu:
            # The fewest cores a GPU has anywhere: all workers ask for the same.
            cores = min(int(node.get("CPU", 1) // node["GPU"]) for node in with_gpu)
            return Placement(sum(int(node["GPU"]) for node in with_gpu), max(1, cores), 1)
        if device == "cuda":
            raise UserError("no machine of the cluster has a GPU; leave --device out, or start Ray with GPUs")
        return Placement(sum(int(node.get("CPU", 0)) for node in nodes), 1, 0)


@contextlib.contextmanager
def connected(given: Sequence[str] | None) -> Iterator[Cluster | None]:
    """The cluster of a `--ray` flag: None without the flag, one on this machine where it has no address."""
    if given is None:
        yield None
    else:
        if len(given) > 1:
            raise UserError("--ray was given twice; work runs on one cluster, so name one address")
        with Cluster(given[0] if given else None) as cluster:
            yield cluster


def load_ray() -> Any:
    """The package, imported when first needed; it is told first to report nothing to anybody."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # It would print the log of a machine that is lost to standard output, in the midst of our JSON.
    os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", "^")
    try:
        return importlib.import_module("ray")
    except ImportError as error:
        raise UserError("--ray needs Ray; run: pip install 'lingvis[ray]'") from error


def _start(ray: Any, cpus: int) -> None:
    with warnings.catch_warnings():
        # LanceDB warns of every fork; Ray's processes become other programs at once.
        warnings.simplefilter("ignore", RuntimeWarning)
        ray.init(address="local", num_cpus=cpus, include_dashboard=False, **QUIET)


def _join(ray: Any, address: str) -> None:
    if address != "auto":
        _knock(address)
    _rehearse(address)
    ray.init(address=address, **QUIET)


def _knock(address: str) -> None:
    """Refuse what is no address, or where nothing listens."""
    found = ADDRESS.fullmatch(address)
    if found is None:
        raise UserError(
            f"{address!r} is no address of a Ray cluster; write --ray alone for this machine, --ray=auto, "
            "--ray=HOST:PORT or --ray=ray://HOST:PORT"
        )
    try:
        place = found["host"].strip("[]"), int(found["port"])
        socket.create_connection(place, timeout=SECONDS_TO_ANSWER).close()
    except (OSError, OverflowError) as error:
        raise UserError(
            f"no Ray cluster answers at {address} ({error}); start one with `ray start --head`, or leave the address "
            "out to use this machine"
        ) from error


def _rehearse(address: str) -> None:
    """Connect in another process first: with something else at the address Ray would hang for minutes."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", REHEARSAL, address],
            capture_output=True,
            text=True,
            timeout=SECONDS_TO_CONNECT,
        )
    except subprocess.TimeoutExpired as error:
        reason = f"no answer within {SECONDS_TO_CONNECT:.0f} s"
        raise UserError(_silent(address, reason)) from error
    if done.returncode:
        raise UserError(_silent(address, done.stderr.strip().splitlines()[-1].rstrip(".")))


def _silent(address: str, reason: str) -> str:
    return (
        f"cannot join the Ray cluster at {address} ({reason}); look with `ray status` whether it runs there"
    )

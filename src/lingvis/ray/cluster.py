"""A Ray cluster: a new one on this machine, or a running one."""

from __future__ import annotations

import importlib
import logging
import os
import re
import socket
import subprocess
import sys
import warnings
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
    """The number of workers that fit a cluster, and the cores and GPUs of each."""

    workers: int
    cpus: int
    gpus: int

    @property
    def device(self) -> str:
        """The device of a worker."""
        return "cuda" if self.gpus else "cpu"


class Cluster:
    """`with Cluster() as cluster` starts a cluster here, `Cluster("auto")` and `Cluster("host:6379")` join one.

    If this process is already connected to a cluster, it is used and stays up. cpus: cores for a cluster on this
    machine, all by default.
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
        """Return one worker per GPU if there are any, otherwise one per core; device: None, cpu or cuda."""
        if device not in (None, "cpu", "cuda"):
            raise UserError(f"device {device!r} is not allowed on a cluster; use cpu or cuda")
        nodes = [node["Resources"] for node in load_ray().nodes() if node["Alive"]]
        with_gpu = [node for node in nodes if node.get("GPU", 0) >= 1]
        if device != "cpu" and with_gpu:
            # The fewest cores per GPU of any machine: all workers request the same.
            cores = min(int(node.get("CPU", 1) // node["GPU"]) for node in with_gpu)
            return Placement(sum(int(node["GPU"]) for node in with_gpu), max(1, cores), 1)
        if device == "cuda":
            raise UserError(
                "no machine of the cluster has a GPU; use device cpu or none, or start Ray with GPUs"
            )
        return Placement(sum(int(node.get("CPU", 0)) for node in nodes), 1, 0)


def load_ray() -> Any:
    """Import Ray at first use, with usage reports switched off."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # Otherwise Ray prints the log of a lost machine to standard output, into our JSON.
    os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", "^")
    try:
        return importlib.import_module("ray")
    except ImportError as error:
        raise UserError("a cluster needs Ray; run: pip install 'lingvis[ray]'") from error


def _start(ray: Any, cpus: int) -> None:
    with warnings.catch_warnings():
        # LanceDB warns about every fork, but Ray's processes exec other programs at once.
        warnings.simplefilter("ignore", RuntimeWarning)
        ray.init(address="local", num_cpus=cpus, include_dashboard=False, **QUIET)


def _join(ray: Any, address: str) -> None:
    if address != "auto":
        _knock(address)
    _rehearse(address)
    ray.init(address=address, **QUIET)


def _knock(address: str) -> None:
    """Raise UserError if the address is invalid or nothing listens there."""
    match = ADDRESS.fullmatch(address)
    if match is None:
        raise UserError(
            f"{address!r} is not the address of a Ray cluster; use auto, HOST:PORT or ray://HOST:PORT, or no address for "
            "one on this machine"
        )
    try:
        place = match["host"].strip("[]"), int(match["port"])
        socket.create_connection(place, timeout=SECONDS_TO_ANSWER).close()
    except (OSError, OverflowError) as error:
        raise UserError(
            f"no Ray cluster answers at {address} ({error}); start one with `ray start --head`, or leave the address "
            "out to use this machine"
        ) from error


def _rehearse(address: str) -> None:
    """Connect in another process first: Ray would hang for minutes if something else listens at the address."""
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
    return f"cannot join the Ray cluster at {address} ({reason}); check with `ray status` whether it is running there"

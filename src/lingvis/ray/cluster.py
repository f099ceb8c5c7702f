"""A Ray cluster: a new one on this machine, or a running one."""

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
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from lingvis.errors import UserError
from lingvis.hardware import core_count
from lingvis.ray.token import DISABLED, LOCAL, MODE, TOKEN, has_token, new_token

ADDRESS = re.compile(r"(?:ray://)?(?P<host>[\w.-]+|\[[\da-fA-F:.]+\]):(?P<port>\d{1,5})")
QUIET = {"log_to_driver": False, "logging_level": logging.ERROR}
SECONDS_TO_ANSWER = 10.0
SECONDS_TO_CONNECT = 45.0
REHEARSAL = "import sys, ray; ray.init(address=sys.argv[1], log_to_driver=False, logging_level='ERROR')"
FIRST_SAFE_RAY = (2, 52)  # older ones have no token authentication
FEW_TRIES = {"RAY_NUM_REDIS_GET_RETRIES": "3"}  # one per second, instead of 20


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

    A cluster that is started here listens on the loopback interface only and has a token of its own; a cluster
    that is joined must require a token, unless the variable RAY_AUTH_MODE is `disabled`. If this process is already
    connected to a cluster, it is used and stays up. cpus: cores for a cluster on this machine, all by default.
    """

    def __init__(self, address: str | None = None, *, cpus: int | None = None) -> None:
        self.address, self._cpus = address, cpus
        self._owned = contextlib.ExitStack()

    def __enter__(self) -> Cluster:
        ray = load_ray()
        if not ray.is_initialized():
            with contextlib.ExitStack() as stack:
                if self.address is None:
                    stack.enter_context(_environment(ray, LOCAL | new_token()))
                    _start(ray, self._cpus or core_count())
                else:
                    if self.address != "auto":
                        _knock(self.address)
                    stack.enter_context(_environment(ray, _checked_mode(self.address)))
                    _join(ray, self.address)
                stack.callback(ray.shutdown)
                self._owned = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._owned.close()

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
        ray = importlib.import_module("ray")
    except ImportError as error:
        raise UserError("a cluster needs Ray; run: pip install 'lingvis[ray]'") from error
    check_version(ray.__version__)
    return ray


def check_version(version: str) -> None:
    """Raise for a Ray without token authentication."""
    if tuple(map(int, re.findall(r"\d+", version)[:2])) < FIRST_SAFE_RAY:
        least = ".".join(map(str, FIRST_SAFE_RAY))
        raise UserError(
            f"Ray {version} has no token authentication, so anybody who reaches its ports can run code; install "
            f"{least} or later: pip install 'ray[client]>={least}'"
        )


@contextlib.contextmanager
def _environment(ray: Any, variables: Mapping[str, str]) -> Iterator[None]:
    """Set variables for Ray in this process and its children, and restore them at the end."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    _reload_settings(ray)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        _reload_settings(ray)


def _reload_settings(ray: Any) -> None:
    """Make Ray read its variables again: it reads them when it is imported."""
    constants: Any = importlib.import_module("ray._private.ray_constants")
    name = constants.ENABLE_RAY_CLUSTERS_ENV_VAR
    constants.ENABLE_RAY_CLUSTER = constants.env_bool(name, sys.platform not in ("darwin", "win32"))
    ray._raylet.Config.initialize("")
    ray._raylet.AuthenticationTokenLoader.instance().reset_cache()


def _checked_mode(address: str) -> dict[str, str]:
    """Return variables with which a cluster is joined by a token; raises if there is none."""
    if os.environ.get(MODE) == DISABLED:
        return {}
    if not has_token():
        raise UserError(
            f"joining the Ray cluster at {address} needs its token; put it into ~/.ray/auth_token or the variable "
            "RAY_AUTH_TOKEN on every machine (make one with: ray get-auth-token --generate), and start Ray with "
            f"{MODE}=token"
        )
    return {MODE: TOKEN}


def _start(ray: Any, cpus: int) -> None:
    with warnings.catch_warnings():
        # LanceDB warns about every fork, but Ray's processes exec other programs at once.
        warnings.simplefilter("ignore", RuntimeWarning)
        ray.init(address="local", num_cpus=cpus, include_dashboard=False, **QUIET)


def _join(ray: Any, address: str) -> None:
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
    """Connect in another process first: Ray would hang for minutes if something else listens at the address.

    A second process tries it without a token, which must fail.
    """
    demands = os.environ.get(MODE) == TOKEN
    connection = _connection(address, {})
    without = _connection(address, {MODE: DISABLED, **FEW_TRIES}) if demands else None
    try:
        _, errors = connection.communicate(timeout=SECONDS_TO_CONNECT)
        if connection.returncode:
            raise UserError(_silent(address, errors.strip().splitlines()[-1].rstrip(".")))
        if without is not None and without.wait(SECONDS_TO_CONNECT) == 0:
            raise UserError(
                f"the Ray cluster at {address} requires no token, so anybody who reaches its ports can run code; start it "
                f"with {MODE}=token (see docs/guide/ray.md), or set {MODE}=disabled to accept this"
            )
    except subprocess.TimeoutExpired as error:
        reason = f"no answer within {SECONDS_TO_CONNECT:.0f} s"
        raise UserError(_silent(address, reason)) from error
    finally:
        for process in (connection, without):
            if process is not None:
                process.kill()
                process.communicate()


def _connection(address: str, variables: Mapping[str, str]) -> subprocess.Popen[str]:
    """Start a process that joins the cluster at the address and ends."""
    return subprocess.Popen(
        [sys.executable, "-c", REHEARSAL, address],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **variables},
    )


def _silent(address: str, reason: str) -> str:
    return (
        f"cannot join the Ray cluster at {address} ({reason}); check with `ray status` whether it is running there, "
        "and that both sides have the same token"
    )

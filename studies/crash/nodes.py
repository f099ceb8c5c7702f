"""Two nodes of Ray on this machine, of which workers and nodes can be killed."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from lingvis.ray.cluster import load_ray
from lingvis.ray.token import new_token

SHORT = "/tmp"  # the sockets of Ray need a short path
WORKER = b"ray::Worker"
SECONDS_TO_LOOK = 0.05


class TwoNodes:
    """A head and a second node of one core each; address: for `lingvis index --ray=ADDRESS`."""

    def __init__(self, started: Any) -> None:
        self._started = started
        self.address: str = started.address
        self.repair()

    def repair(self) -> None:
        """Start a second node if there is none."""
        if not self._started.worker_nodes:
            with warnings.catch_warnings():
                # LanceDB warns about every fork, but Ray's processes exec other programs at once.
                warnings.simplefilter("ignore", RuntimeWarning)
                self._started.add_node(num_cpus=1)

    def workers(self) -> list[int]:
        """Processes of workers that index, those of the second node last."""
        return [process for node in self._started.list_all_nodes() for process in _workers_of(node)]

    def kill(self, victim: str, running: Callable[[], bool]) -> bool:
        """Kill a worker or the second node as soon as a worker is there; returns whether this was before the end.

        running: whether the command still runs.
        """
        while not (found := self.workers()):
            if not running():
                return False
            time.sleep(SECONDS_TO_LOOK)
        if victim == "node":
            (second,) = self._started.worker_nodes
            found = _workers_of(second)
            self._started.remove_node(second, allow_graceful=False)
        for process in found if victim == "node" else found[-1:]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        return running()


@contextlib.contextmanager
def two_nodes() -> Iterator[TwoNodes]:
    """The nodes, with a token, in a folder of their own; both end with the context."""
    folder = Path(tempfile.mkdtemp(prefix="lv", dir=SHORT))
    (folder / "ray").mkdir()
    try:
        os.environ.update(
            {"RAY_TMPDIR": str(folder), **new_token()}
        )  # before Ray is imported; also for children
        load_ray()
        from ray.cluster_utils import Cluster as Nodes

        head = {"num_cpus": 1, "temp_dir": str(folder / "ray"), "include_dashboard": False}
        started: Any = Nodes(initialize_head=True, head_node_args=head)
        try:
            yield TwoNodes(started)
        finally:
            started.shutdown()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _workers_of(node: Any) -> list[int]:
    raylet = node.all_processes["raylet"][0].process.pid
    found = []
    with contextlib.suppress(FileNotFoundError):  # it ends just now
        for child in Path(f"/proc/{raylet}/task/{raylet}/children").read_text().split():
            if WORKER in Path(f"/proc/{child}/cmdline").read_bytes():
                found.append(int(child))
    return found

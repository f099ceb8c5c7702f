"""A cluster of two Ray nodes on this machine, and what runs on it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lingvis.model.onnx.export import export
from lingvis.ray.cluster import Cluster, load_ray

from ..collection.conftest import make_model

LONGEST_PARENT = 24  # characters; a socket may have 107, and Ray adds about 75


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An exported one: workers start without torch."""
    run = make_model(tmp_path_factory.mktemp("models") / "first")
    export(run)
    return run


@pytest.fixture(scope="session", autouse=True)
def ray_folder() -> Iterator[Path]:
    """Ray's own folder for all that these tests start, in place of `ray` in the system's temporary directory.

    Sockets lie in it, whose paths have to be short.
    """
    usual = tempfile.gettempdir()
    folder = Path(tempfile.mkdtemp(prefix="lv", dir=usual if len(usual) <= LONGEST_PARENT else "/tmp"))
    (folder / "ray").mkdir()  # a cluster of several nodes writes its address there and does not make it
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("RAY_TMPDIR", str(folder))
        environment.setenv("RAY_AUTH_MODE", "token")
        environment.setenv("RAY_AUTH_TOKEN", "0123456789abcdef" * 4)
        yield folder / "ray"
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def nodes(ray_folder: Path) -> Iterator[Any]:
    """A head with 2 cores, to which `cluster` adds a node with 1.

    Ports are free ones and files lie apart, so that several clusters may run at once.
    """
    load_ray()
    from ray.cluster_utils import Cluster as Nodes

    head = {"num_cpus": 2, "temp_dir": str(ray_folder), "include_dashboard": False}
    started: Any = Nodes(initialize_head=True, head_node_args=head)
    try:
        yield started
    finally:
        started.shutdown()


@pytest.fixture
def cluster(nodes: Any) -> Iterator[Cluster]:
    """This process connected to the nodes; a test may have killed the second one."""
    if not nodes.worker_nodes:
        nodes.add_node(num_cpus=1)
    ray = load_ray()
    ray.init(address=nodes.address, log_to_driver=False, logging_level="ERROR")
    try:
        with Cluster() as connected:
            yield connected
        assert ray.is_initialized()  # what was not connected by `Cluster` stays so
    finally:
        ray.shutdown()


def workers_of(node: Any) -> list[int]:
    """Processes of a node in which a worker of ours lives."""
    raylet = node.all_processes["raylet"][0].process.pid
    children = Path(f"/proc/{raylet}/task/{raylet}/children").read_text().split()
    found = []
    for child in children:
        command = Path(f"/proc/{child}/cmdline")
        if command.exists() and b"ray::Worker" in command.read_bytes():
            found.append(int(child))
    return found

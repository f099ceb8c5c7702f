"""A real Milvus server in a temporary folder, for tests."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest

from studies.search.milvus import MilvusServer, has_server

# The server looks after new collections and the clock more often than a real one, so that tests wait less; and it has no
# interim index, which finds fewer rows until the graph is built.
SETTINGS = {
    "queryNode.segcore.interimIndex.enableIndex": "false",
    "queryCoord.checkIndexInterval": "100",
    "proxy.timeTickInterval": "20",
    "queryCoord.checkChannelInterval": "50",
    "queryCoord.checkInterval": "50",
    "queryCoord.checkSegmentInterval": "50",
    "queryCoord.collectionObserverInterval": "50",
    "queryCoord.distPullInterval": "50",
}


# Tests of all stores that run on Milvus only if this variable is set: each makes a collection, which takes it 2 s.
ALL = "LINGVIS_TEST_ALL_OF_MILVUS"
LEFT_OUT = (
    "test_search_is_that_of_a_naive_loop[milvus-pictures-index]",
    "test_search_is_that_of_a_naive_loop[milvus-captions-index]",
    "test_an_empty_collection_finds_nothing[milvus]",
    "test_another_model_of_the_same_image_side_is_remembered[milvus]",
    "test_a_search_within_an_album[milvus]",
    "test_indexing_does_not_block_albums[milvus]",
    "test_bounds[milvus]",
)


def address_for(request: pytest.FixtureRequest, name: str) -> str:
    """The address of a collection for a test of all stores; skips those that take long and add little."""
    if request.node.name in LEFT_OUT and ALL not in os.environ:
        pytest.skip(f"left out on Milvus to save time; set {ALL}=1 to run it")
    return str(request.getfixturevalue("milvus").address(name))


class Server(MilvusServer):
    """One that may hang, and leaves nothing."""

    def __init__(self) -> None:
        super().__init__(Path(tempfile.mkdtemp(prefix="milvus-")), SETTINGS, temporary=True)

    @contextlib.contextmanager
    def stopped(self) -> Iterator[None]:
        """The process stands still, as on a machine that has hung up."""
        process = psutil.Process(self.pid)
        process.suspend()
        try:
            yield
        finally:
            process.resume()


@contextlib.contextmanager
def running() -> Iterator[Server]:
    """Start a server; skips the test where it cannot run."""
    if not has_server():
        pytest.skip("the package milvus, a server for Linux on x86-64, is not installed")
    server = Server()
    try:
        server.start()
        yield server
    finally:
        server.stop()

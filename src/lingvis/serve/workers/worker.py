"""One of several processes that answer requests at a common socket."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing import parent_process
from multiprocessing.connection import Connection

from lingvis.collection.collection import Collection
from lingvis.errors import UserError
from lingvis.serve.logs import log_to_stderr
from lingvis.serve.settings import ServerSettings

METRICS = "PROMETHEUS_MULTIPROC_DIR"  # makes prometheus_client count in files, which add up


@dataclass(frozen=True, kw_only=True)
class Task:
    """The work of a worker; settings.shared: the folder of all workers."""

    collections: Sequence[Collection]
    settings: ServerSettings
    listener: socket.socket
    log_level: str
    log_as_json: bool


def work(task: Task, pipe: Connection) -> None:
    """Load everything, report it by None or by the sentence of an error, and answer after the reply."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.environ[METRICS] = str(task.settings.shared)  # before prometheus_client is imported
    log_to_stderr(task.log_level, as_json=task.log_as_json)
    from lingvis.serve.app import ready_app
    from lingvis.serve.listening import WebServer

    try:
        app = ready_app(task.collections, task.settings)
    except UserError as error:
        pipe.send(str(error))
        return
    pipe.send(None)
    pipe.recv()
    WebServer(app).run(sockets=[task.listener])


def _end_with_parent() -> None:
    """Stop as on SIGTERM when the process that started this one is gone, even by kill -9."""
    parent = parent_process()
    assert parent is not None
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)

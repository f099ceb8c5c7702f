"""Starts our own Milvus server, on free loopback ports, with its data in one folder."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path

PACKAGE = "milvus"
USER, PASSWORD = "root", "Milvus"  # those of a new server
START_SECONDS = 120.0
# Starts the server of the package, prints its ports and its process, and waits for the end of our process: when the pipe
# to it closes, even by a kill, the server is killed, and a temporary folder is removed.
GUARD = """
import json, os, shutil, signal, socket, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
from milvus import MilvusServer, MilvusServerConfig
folder, temporary = json.loads(sys.argv[1])
server = MilvusServer(MilvusServerConfig(), wait_for_started=False)
server.set_base_dir(folder)
server.config.set("authorization_enabled", True)
names = [name for name in server.config.configurable_items if name.endswith("_port")]
held = [socket.create_server(("127.0.0.1", 0)) for _ in [*names, "health", "peers"]]
*ports, server.webservice_port, peers = (each.getsockname()[1] for each in held)
for each in held:
    each.close()
server.config.update(**dict(zip(names, ports)))
client = dict(zip(names, ports))["etcd_port"]
os.environ["ETCD_CONFIG_PATH"] = os.path.join(folder, "etcd.yaml")
with open(os.environ["ETCD_CONFIG_PATH"], "w") as file:
    for name, port in (("listen", client), ("advertise", client)):
        print(f"{name}-client-urls: http://localhost:{port}", file=file)
    for name in ("listen", "initial-advertise"):
        print(f"{name}-peer-urls: http://localhost:{peers}", file=file)
    print(f"initial-cluster: default=http://localhost:{peers}", file=file)
try:
    server.start()
    print(json.dumps([server.listen_port, server.webservice_port, server.server_proc.pid]), flush=True)
    sys.stdin.read()
finally:
    server.stop()
    if temporary:
        shutil.rmtree(folder, ignore_errors=True)
"""


def has_server() -> bool:
    """Whether the package with the server and its client are installed."""
    return sys.platform == "linux" and all(importlib.util.find_spec(name) for name in (PACKAGE, "pymilvus"))


class MilvusServer:
    """The binaries of the package milvus; settings: those of milvus.yaml, such as proxy.timeTickInterval.

    Users must give a password. temporary: the folder is removed with the server.
    """

    def __init__(self, folder: Path, settings: Mapping[str, str], *, temporary: bool = False) -> None:
        self.folder, self._settings, self._temporary = folder.resolve(), dict(settings), temporary
        self._guard: subprocess.Popen[str] | None = None
        self.port = self.pid = 0

    def start(self) -> None:
        """Start, and wait until it answers."""
        arguments = json.dumps([str(self.folder), self._temporary])
        variables = {name.upper().replace(".", "_"): value for name, value in self._settings.items()}
        self._guard = subprocess.Popen(
            [sys.executable, "-c", GUARD, arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **variables},
            start_new_session=True,
        )
        assert self._guard.stdout is not None
        line = self._guard.stdout.readline()
        if not line:
            raise RuntimeError("the Milvus server did not start")
        self.port, health, self.pid = json.loads(line)
        end = time.monotonic() + START_SECONDS
        while not _is_healthy(health):
            if time.monotonic() > end or not Path(f"/proc/{self.pid}").exists():
                self.stop()
                raise RuntimeError("the Milvus server did not start")
            time.sleep(0.1)

    def stop(self) -> None:
        """End the server and its guard."""
        if self._guard is not None:
            self._guard.communicate()
            self._guard = None

    def address(
        self, collection: str, *, user: str = USER, password: str = PASSWORD, options: str = ""
    ) -> str:
        """The address of a collection on this server."""
        return f"milvus://{user}:{password}@127.0.0.1:{self.port}/{collection}{options}"


def _is_healthy(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5) as answer:
            return b"OK" in answer.read()
    except (urllib.error.URLError, OSError):
        return False

"""A small real collection, and `lingvis serve` processes over it."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import socket
import subprocess
import sys
import threading
import uuid
from collections.abc import Coroutine, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from resource import RLIMIT_NOFILE, setrlimit
from typing import Any, TypeVar
from urllib.parse import urlencode

import pytest
from PIL import Image

from lingvis.collection.collection import Collection
from lingvis.model.onnx.export import export
from lingvis.serve.app import create_app
from lingvis.serve.listening import WebServer
from lingvis.serve.settings import ServerSettings

from ..collection.conftest import make_model, make_pictures
from ..collection.indexing import index_folders

T = TypeVar("T")
COMMAND = [sys.executable, "-c", "from lingvis.cli import main; main()"]
SENTENCE_END = 400  # an error is a sentence, not a dump


@dataclass(frozen=True)
class Answer:
    """status, headers with small letters, body."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> str:
        """The one sentence of a refusal; nothing of the inside may be in it."""
        assert self.status >= 400, self.status
        assert list(self.json) == ["error"], self.body
        sentence: str = self.json["error"]
        assert sentence and len(sentence) < SENTENCE_END and "\n" not in sentence
        assert "Traceback" not in sentence and "pydantic" not in sentence
        return sentence


@dataclass(frozen=True)
class Client:
    """Real requests to a server on loopback."""

    port: int
    headers: Mapping[str, str]
    address: str = "127.0.0.1"  # on Linux, all of 127.0.0.0/8 is this machine

    def ask(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        connection = http.client.HTTPConnection(
            "127.0.0.1", self.port, timeout=30, source_address=(self.address, 0)
        )
        try:
            connection.request(method, path, body, {**self.headers, **(headers or {})})
            answer = connection.getresponse()
            named = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, named, answer.read())
        finally:
            connection.close()

    def connect(self, data: bytes = b"") -> socket.socket:
        """A connection for bytes that no library would send."""
        connection = socket.create_connection(
            ("127.0.0.1", self.port), timeout=20, source_address=(self.address, 0)
        )
        connection.sendall(data)
        return connection

    def get(self, path: str, headers: Mapping[str, str] | None = None, **parameters: Any) -> Answer:
        return self.ask("GET", f"{path}?{urlencode(parameters, doseq=True)}", headers=headers)

    def search(self, q: str | list[str], **parameters: Any) -> Answer:
        return self.get("/api/search", q=q, **parameters)

    def upload(self, image: bytes | None, fields: Mapping[str, Any] | None = None, **headers: str) -> Answer:
        body, kind = form(image, fields or {})
        return self.ask("POST", "/api/search", body, {"Content-Type": kind, **headers})


def form(image: bytes | None, fields: Mapping[str, Any], name: str = "a.jpg") -> tuple[bytes, str]:
    """A multipart body and its type."""
    mark = uuid.uuid4().hex
    lines = []
    for field, value in fields.items():
        for each in value if isinstance(value, list) else [value]:
            lines.append(
                f'--{mark}\r\nContent-Disposition: form-data; name="{field}"\r\n\r\n{each}\r\n'.encode()
            )
    if image is not None:
        head = f'--{mark}\r\nContent-Disposition: form-data; name="image"; filename="{name}"\r\n\r\n'
        lines.append(head.encode() + image + b"\r\n")
    return b"".join([*lines, f"--{mark}--\r\n".encode()]), f"multipart/form-data; boundary={mark}"


@contextmanager
def serving(
    *arguments: str, env: Mapping[str, str] | None = None, log: Path, files: int | None = None
) -> Iterator[tuple[int, int]]:
    """A `lingvis serve` process on a free port: its port and its process id; files: how many it may open."""
    command = [*COMMAND, "serve", *arguments, "--port", "0", "--device", "cpu"]
    with (
        log.open("w") as errors,
        subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", **(env or {})},
            preexec_fn=None if files is None else lambda: setrlimit(RLIMIT_NOFILE, (files, files)),
        ) as process,
    ):
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert " is at http://" in line, log.read_text()
            yield int(line.rpartition(":")[2].partition("/")[0]), process.pid
        finally:
            process.terminate()
            process.wait(20)


def finished(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine; in another thread, because browser tests have an event loop in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()


@contextmanager
def in_thread(collection: Collection | list[Collection], settings: ServerSettings) -> Iterator[Client]:
    """The same server in this process, where a test may set what it allows."""
    server = WebServer(create_app(collection, settings))
    listener = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield Client(listener.getsockname()[1], {})
    finally:
        server.should_exit = True
        thread.join(20)


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """photos: PNG pictures, two with captions, a TIFF and a JPEG; model, exported as that which ships; photos.lv."""
    home = tmp_path_factory.mktemp("served").resolve()
    export(make_model(home / "model"))
    photos = home / "photos"
    make_pictures(photos / "noise", 6)
    (photos / "noise" / "000.en.txt").write_text("a red dog on the beach")
    (photos / "noise" / "001.de.txt").write_text("das Haus")
    make_pictures(photos, 1, first=90, suffix="tiff")
    make_pictures(photos, 1, first=91, suffix="jpg")
    Image.new("RGB", (1, 1), "red").save(photos / "dot.png")
    index_folders(home / "photos.lv", [photos], model=home / "model", device="cpu")
    return home


@pytest.fixture(scope="session")
def client(home: Path) -> Iterator[Client]:
    """A server without a token."""
    with serving(str(home / "photos.lv"), log=home / "open.log") as (port, _):
        yield Client(port, {})

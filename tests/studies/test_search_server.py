"""The PostgreSQL server of measurements: durable, closed to others, and without root rights even if root starts it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import psycopg
import pytest

from lingvis.errors import UserError
from studies.postgres_server import PostgresServer
from studies.search.postgres import running_server


def test_a_server_is_durable_and_has_no_root_rights() -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "engine" / "server"
        folder.parent.mkdir(mode=0o700)
        for start in range(2):
            with running_server(folder) as (address, process):
                status = Path(f"/proc/{process}/status").read_text().splitlines()
                found = dict(line.split(":", 1) for line in status)
                if os.geteuid() == 0:
                    assert "0" not in found["Uid"].split() + found["Gid"].split() + found["Groups"].split()
                with psycopg.connect(address, autocommit=True) as connection:
                    if start == 0:
                        connection.execute("CREATE TABLE kept (value int)")
                    (kept,) = connection.execute("SELECT count(*) FROM kept").fetchone() or (None,)
                    (fsync,) = connection.execute("SELECT current_setting('fsync')").fetchone() or (None,)
                assert (kept, fsync) == (0, "on")
                assert (folder / "password").stat().st_mode & 0o077 == 0 == folder.stat().st_mode & 0o077
                secret = (folder / "password").read_text()
                assert len(secret) > 16 and secret not in address  # the last character is quoted
                with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
                    psycopg.connect(address.replace(secret[:4], "0000"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs the server as another user")
def test_root_opens_no_folder_above_its_own() -> None:
    with tempfile.TemporaryDirectory() as place:
        with pytest.raises(
            UserError, match=rf"nobody, who may not pass through {place}; choose another folder"
        ):
            PostgresServer(Path(place) / "server", {})
        assert Path(place).stat().st_mode & 0o777 == 0o700

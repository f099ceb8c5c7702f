"""Printed addresses can be opened, and a browser opens only for a person at a screen."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from lingvis.serve.operation.addresses import addresses


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0", "localhost"])
def test_addresses_can_be_connected_to(host: str) -> None:
    with socket.create_server((host, 0)) as listener:
        for address in addresses(host, listener, "/photos"):
            name, _, port = address.removeprefix("http://").partition("/")[0].rpartition(":")
            assert address.endswith("/photos/") and name != "0.0.0.0"
            socket.create_connection((name.strip("[]"), int(port)), timeout=10).close()


def test_the_unspecified_address_of_ipv6() -> None:
    try:
        listener = socket.create_server(("::", 0), family=socket.AF_INET6)
    except OSError:
        pytest.skip("this machine has no IPv6")
    with listener:
        assert addresses("::", listener)[-1] == f"http://[::1]:{listener.getsockname()[1]}/"


BROWSER = """
import os, pty, sys
from lingvis.serve.operation.addresses import open_page
os.environ.pop("DISPLAY", None), os.environ.pop("WAYLAND_DISPLAY", None)
if "screen" in sys.argv:
    os.environ["DISPLAY"] = ":9"
if "terminal" in sys.argv:
    os.dup2(pty.openpty()[1], 1)
open_page("http://127.0.0.1:1/")
import threading
for thread in threading.enumerate():
    if thread is not threading.main_thread():
        thread.join()
"""


@pytest.mark.parametrize("place", [["screen", "terminal"], ["screen"], ["terminal"], []])
def test_a_browser_needs_a_screen_and_a_terminal(place: list[str], tmp_path: Path) -> None:
    browser = tmp_path / "browser"
    browser.write_text(f"#!/bin/sh\necho $1 >> {tmp_path}/opened\n")
    browser.chmod(0o755)
    subprocess.run(
        [sys.executable, "-c", BROWSER, *place], env={"BROWSER": f"{browser} %s", "PATH": "/bin"}, check=True
    )
    opened = tmp_path / "opened"
    assert (opened.read_text() if opened.exists() else "") == (
        "http://127.0.0.1:1/\n" if len(place) == 2 else ""
    )

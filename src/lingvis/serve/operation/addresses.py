"""Addresses of a server that can be opened, and the page in the browser of its user."""

from __future__ import annotations

import ipaddress
import os
import socket
import sys
import threading
import webbrowser

# Addresses for documentation, in no network: they choose the interface of the default route, and nothing is sent.
ELSEWHERE = {socket.AF_INET: "192.0.2.1", socket.AF_INET6: "2001:db8::1"}


def addresses(host: str, listener: socket.socket, root_path: str = "") -> list[str]:
    """Return the addresses of a listening server, the best first; 0.0.0.0 and :: stand for those of this machine."""
    bound, port = listener.getsockname()[:2]
    hosts = _own_hosts(listener.family) if ipaddress.ip_address(bound).is_unspecified else [host]
    shown = [f"[{name}]" if ":" in name else name for name in hosts]
    return [f"http://{name}:{port}{root_path}/" for name in shown]


def _own_hosts(family: socket.AddressFamily) -> list[str]:
    """Return the address that other machines can reach, if there is one, and the loopback address."""
    families = (socket.AF_INET, socket.AF_INET6) if family == socket.AF_INET6 else (socket.AF_INET,)
    outer = [name for kind in families if (name := _outer_address(kind)) is not None]
    return [*outer, "127.0.0.1" if family == socket.AF_INET else "::1"]


def _outer_address(family: socket.AddressFamily) -> str | None:
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((ELSEWHERE[family], 9))
        except OSError:  # no network
            return None
        name: str = probe.getsockname()[0]
    return None if ipaddress.ip_address(name).is_loopback else name


def open_page(address: str) -> None:
    """Open the page in a browser, if a person at a screen started this process."""
    if sys.stdout.isatty() and _has_screen():
        # In a thread: some browsers return only when they are closed.
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()


def _has_screen() -> bool:
    return sys.platform in ("darwin", "win32") or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )

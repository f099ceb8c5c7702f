"""A server process: reserve the address, load the model, then open the port."""

from __future__ import annotations

import errno
import ipaddress
import logging
import socket
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace

from PIL import Image

from lingvis.collection.collection import Collection
from lingvis.errors import UserError
from lingvis.hardware import core_count
from lingvis.printing import print_line
from lingvis.serve.logs import log_to_stderr
from lingvis.serve.operation.addresses import addresses, open_page
from lingvis.serve.operation.root_path import check_root_path
from lingvis.serve.settings import ServerSettings
from lingvis.serve.several.names import named, path_of
from lingvis.serve.tokens import check_token

log = logging.getLogger("lingvis.serve")
LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})


def serve(
    collection: Collection | Sequence[Collection],
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    token: str | None = None,
    no_auth: bool = False,
    read_only: bool = False,
    root_path: str = "",
    access_log: bool = False,
    log_queries: bool = False,
    log_format: str = "text",
    log_level: str = "warning",
    open_browser: bool = False,
) -> None:
    """Serve a collection, or several, until Ctrl-C; a host that others can reach needs a token, or `no_auth`.

    read_only: albums cannot be changed; always so for a host that others can reach without a token; root_path: of the
    page behind a proxy; access_log: one line per request on stderr, with its query if `log_queries`;
    log_format: text or json; log_level: debug, info, warning or error; open_browser: open the page if there is a screen.
    """
    if token is not None and no_auth:
        raise UserError("token and no_auth exclude each other; leave one of them out")
    if token is not None:
        check_token(token)
    listener = _bind(host, port)
    with listener:
        address = ipaddress.ip_address(listener.getsockname()[0])
        if not address.is_loopback and token is None and not no_auth:
            raise UserError(
                f"host {host} can be reached by others, so the server needs a token; give one (on the command line "
                "with --token-file FILE, or in LINGVIS_TOKEN), or allow everybody with no_auth"
            )
        shown = f"[{host}]" if ":" in host else host
        hosts = LOOPBACK | {shown.lower()} if address.is_loopback else None
        settings = ServerSettings(
            token=token,
            hosts=hosts,
            root_path=check_root_path(root_path),
            access_log=access_log,
            log_queries=log_queries,
            writable=not read_only and (address.is_loopback or token is not None),
        )
        log_to_stderr(log_level, as_json=log_format == "json")
        _run(named(collection), settings, listener, host, open_browser=open_browser and address.is_loopback)


def _run(
    collections: Mapping[str, Collection],
    settings: ServerSettings,
    listener: socket.socket,
    host: str,
    *,
    open_browser: bool,
) -> None:
    try:
        from lingvis.serve.app import create_app
        from lingvis.serve.listening import QUEUE, WebServer, room_for_connections
    except ImportError as error:
        raise UserError(f"serving needs {error.name}; run: pip install 'lingvis[serve]'") from error

    warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # pixels are counted before decoding
    settings = replace(settings, connections=room_for_connections(settings.connections))
    app = create_app(list(collections.values()), settings)
    app.state.server.warm()
    if torch := sys.modules.get("torch"):  # loaded by a model without graphs
        torch.set_num_threads(max(1, core_count() // settings.searching))
    try:
        listener.listen(QUEUE)
    except OSError as error:
        raise _taken(host, listener.getsockname()[1]) from error
    # From now on, clients that connect wait in the system's queue until the loop runs.
    places = addresses(host, listener, settings.root_path)
    for number, (name, collection) in enumerate(collections.items()):
        shown = [f"{place.rstrip('/')}{path_of(name)}" for place in places] if number else places
        print_line(f"{collection.address} is at {' and '.join(shown)} (Ctrl-C ends it)")
        log.info("serving %s at %s", collection.address, shown[0])
    if open_browser:
        open_page(places[0])
    try:
        WebServer(app).run(sockets=[listener])
    except KeyboardInterrupt:
        print_line("stopped", stderr=True)


def _bind(host: str, port: int) -> socket.socket:
    if not 0 <= port <= 65535:
        raise UserError(f"port must be from 1 to 65535, or 0 for any free one, got {port}")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host or "?", port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError) as error:
        raise UserError(f"unknown host {host!r}; use 127.0.0.1, or an address of this machine") from error
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except PermissionError as error:
        listener.close()
        raise UserError(f"port {port} may not be opened by this user; choose one above 1023") from error
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise _taken(host, port) from error
        raise UserError(f"host {host} is not an address of this machine ({error.strerror})") from error
    return listener


def _taken(host: str, port: int) -> UserError:
    return UserError(f"port {port} of {host} is in use; choose another port")

"""A server process: reserve the address, load the model, then open the port."""

from __future__ import annotations

import errno
import ipaddress
import logging
import socket
import sys
from collections.abc import Callable, Mapping, Sequence

from lingvis.collection.collection import Collection
from lingvis.errors import UserError
from lingvis.printing import print_line
from lingvis.serve.logs import log_to_stderr
from lingvis.serve.operation.addresses import addresses, open_page
from lingvis.serve.operation.root_path import check_root_path
from lingvis.serve.settings import ServerSettings
from lingvis.serve.several.names import named, path_of
from lingvis.serve.tokens import check_token
from lingvis.serve.workers.supervisor import supervise
from lingvis.serve.workers.worker import Task

log = logging.getLogger("lingvis.serve")
MOST_WORKERS = 64
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
    workers: int = 1,
) -> None:
    """Serve a collection, or several, until Ctrl-C; a host that others can reach needs a token, or `no_auth`.

    read_only: albums cannot be changed; always so for a host that others can reach without a token; root_path: of the
    page behind a proxy; access_log: one line per request on stderr, with its query if `log_queries`;
    log_format: text or json; log_level: debug, info, warning or error; open_browser: open the page if there is a screen;
    workers: processes that answer. A script that asks for several needs `if __name__ == "__main__"`, as with
    multiprocessing.
    """
    _check_workers(workers)
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
        served = named(collection)

        def announce() -> None:
            """Open the port. From now on, clients that connect wait in the system's queue until they are answered."""
            from lingvis.serve.listening import QUEUE

            try:
                listener.listen(QUEUE)
            except OSError as error:
                raise _taken(host, listener.getsockname()[1]) from error
            places = addresses(host, listener, settings.root_path)
            _print_addresses(served, places)
            if open_browser and address.is_loopback:
                open_page(places[0])

        try:
            if workers == 1:
                _answer(list(served.values()), settings, listener, announce)
            else:
                task = Task(
                    collections=list(served.values()),
                    settings=settings.of_worker(workers),
                    listener=listener,
                    log_level=log_level,
                    log_as_json=log_format == "json",
                )
                supervise(task, workers, announce)
        except ImportError as error:
            raise UserError(f"serving needs {error.name}; run: pip install 'lingvis[serve]'") from error
        except KeyboardInterrupt:
            print_line("stopped", stderr=True)


def _answer(
    collections: Sequence[Collection],
    settings: ServerSettings,
    listener: socket.socket,
    announce: Callable[[], None],
) -> None:
    """Answer in this process."""
    from lingvis.serve.app import ready_app
    from lingvis.serve.listening import WebServer

    app = ready_app(collections, settings)
    announce()
    WebServer(app).run(sockets=[listener])


def _print_addresses(collections: Mapping[str, Collection], places: Sequence[str]) -> None:
    for number, (name, collection) in enumerate(collections.items()):
        shown = [f"{place.rstrip('/')}{path_of(name)}" for place in places] if number else places
        print_line(f"{collection.address} is at {' and '.join(shown)} (Ctrl-C ends it)")
        log.info("serving %s at %s", collection.address, shown[0])


def _check_workers(workers: int) -> None:
    if not 1 <= workers <= MOST_WORKERS:
        raise UserError(
            f"workers must be from 1 to {MOST_WORKERS}, got {workers}; one per core is the most that helps"
        )
    if workers > 1 and sys.platform == "win32":
        raise UserError("several workers need Linux or macOS; leave workers out")


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

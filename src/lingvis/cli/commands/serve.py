"""`lingvis serve`."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from typing import Literal

from lingvis.cli.options import Device, FolderOrCollection, SearchModel, Switch
from lingvis.errors import UserError


def serve(
    *collections: FolderOrCollection,
    collection: str | None = None,
    host: str | None = None,
    port: int | None = None,
    root_path: str | None = None,
    token: str | None = None,
    token_file: Path | None = None,
    no_auth: Switch = False,
    read_only: Switch = False,
    no_open: Switch = False,
    workers: int | None = None,
    access_log: Switch = False,
    log_queries: Switch = False,
    log_format: Literal["text", "json"] | None = None,
    log_level: Literal["debug", "info", "warning", "error"] | None = None,
    model: SearchModel = None,
    device: Device = None,
    settings: Path | None = None,
) -> None:
    """Serve a search page and an HTTP API for folders of pictures or collections, until Ctrl-C.

    A folder of pictures is indexed first, by lingvis-base, and brought up to date at every start. Every option can also
    be a key of the settings file or an environment variable: LINGVIS_PORT, LINGVIS_COLLECTIONS. Flags win over
    variables, and these over the file.

    Parameters
    ----------
    collection: str
        The collection that a folder of pictures is indexed in; by default one in your data folder.
    host: str
        Address to listen on, by default 127.0.0.1; an address that others can reach needs a token or --no-auth.
    port: int
        Port to listen on, by default 8000; 0 for any free port.
    root_path: str
        The path of the page behind a proxy, such as /photos.
    token: str
        The secret that clients must send; other users of this machine can see it here, so prefer a file.
    token_file: Path
        A private file (chmod 600) with the token; without one, the environment variable LINGVIS_TOKEN is used.
    no_auth: bool
        Let everybody who can reach the host search, without a token.
    read_only: bool
        Let nobody change albums over HTTP; always so with --no-auth at an address that others can reach.
    no_open: bool
        Do not open the page in the browser.
    workers: int
        Number of processes that answer, by default 1; one per core is the most that helps.
    access_log: bool
        Log one line per request to stderr: time, client, method, path, status, bytes, milliseconds.
    log_queries: bool
        Also log what people search for.
    log_format: str
        The form of the log: text (the default) or json.
    log_level: str
        Log from this level on: debug, info, warning (the default) or error.
    settings: Path
        A TOML file with these options; by default the one that LINGVIS_SETTINGS names.
    """
    flags = dict(locals())
    del flags["settings"]
    from lingvis.serve.operation.options import read_options

    options = read_options(flags, os.environ, settings)
    if not options.collections:
        raise UserError("there is nothing to serve; name a folder of pictures, or a collection")
    if options.collection is not None and len(options.collections) > 1:
        raise UserError("collection names the place of one folder's pictures; serve that folder alone")

    from lingvis.collection.collection import Collection
    from lingvis.serve.operation.folders import kept_indexed
    from lingvis.serve.run import serve as run

    secret = options.secret()
    with ExitStack() as stack:
        addresses = [
            stack.enter_context(
                kept_indexed(place, collection=options.collection, model=options.model, device=options.device)
            )
            for place in options.collections
        ]
        opened = [
            Collection.open(address, model=options.model, device=options.device) for address in addresses
        ]
        run(
            opened,
            host=options.host,
            port=options.port,
            token=secret,
            no_auth=options.no_auth,
            read_only=options.read_only,
            root_path=options.root_path,
            access_log=options.access_log,
            log_queries=options.log_queries,
            log_format=options.log_format,
            log_level=options.log_level,
            open_browser=not options.no_open,
            workers=options.workers,
        )

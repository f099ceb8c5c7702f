"""`lingvis serve`."""

from __future__ import annotations

import os
from pathlib import Path

from lingvis.cli.options import CollectionPlace, Device, SearchModel, Switch
from lingvis.errors import UserError
from lingvis.files import read_secret


def serve(
    collection: CollectionPlace,
    /,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    token: str | None = None,
    token_file: Path | None = None,
    no_auth: Switch = False,
    model: SearchModel = None,
    device: Device = None,
) -> None:
    """Serve a search page and an HTTP API for a collection, until Ctrl-C.

    Parameters
    ----------
    host: str
        Address to listen on; an address that others can reach needs a token or --no-auth.
    port: int
        Port to listen on; 0 for any free port.
    token: str
        The secret that clients must send; other users of this machine can see it here, so prefer a file.
    token_file: Path
        A private file (chmod 600) with the token; without one, the environment variable LINGVIS_TOKEN is used.
    no_auth: bool
        Let everybody who can reach the host search, without a token.
    """
    from lingvis.collection.collection import Collection
    from lingvis.serve.run import serve as run

    secret = _token(token, token_file, no_auth=no_auth)
    opened = Collection.open(collection, model=model, device=device)
    run(opened, host=host, port=port, token=secret, no_auth=no_auth)


def _token(token: str | None, file: Path | None, *, no_auth: bool) -> str | None:
    if token is not None and file is not None:
        raise UserError("--token and --token-file exclude each other; leave one of them out")
    if file is not None:
        return read_secret(file)
    if token is None and not no_auth:
        return os.environ.get("LINGVIS_TOKEN") or None
    return token

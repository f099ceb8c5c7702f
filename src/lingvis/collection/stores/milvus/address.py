"""The address of a collection on a Milvus server: milvus://USER:PASSWORD@HOST:PORT/NAME?database=NAME."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote, urlsplit

from lingvis.errors import UserError, choices

SCHEME = "milvus://"
PORT = 19530
SECONDS = 30.0
OPTIONS = ("database", "shards", "replicas", "thumbnails", "timeout", "tls")
MOST = 16  # shards or replicas


@dataclass(frozen=True, slots=True)
class Address:
    """A server and a collection on it.

    shown: for messages, without the password; thumbnails: a folder for them, None to keep them in the rows; shards,
    replicas: of a collection that is made; timeout: seconds that the server may be silent.
    """

    uri: str
    token: str = field(repr=False)
    collection: str
    shown: str
    database: str = "default"
    thumbnails: str | None = None
    shards: int = 1
    replicas: int = 1
    timeout: float = SECONDS


def is_milvus(address: str) -> bool:
    """Return whether an address names a Milvus server."""
    return address.startswith(SCHEME)


def parse(address: str) -> Address:
    """Parse an address; errors do not quote it, because it may hold a password."""
    try:
        parts = urlsplit(address)
        if "@" in parts.path + parts.query or parts.fragment or parts.netloc.count("@") > 1:
            raise ValueError("a character of the password is not escaped as %XX")
        port = parts.port or PORT
        host = parts.hostname or "localhost"
        options = dict(
            parse_qsl(parts.query, keep_blank_values=True, strict_parsing=True) if parts.query else []
        )
    except ValueError as error:
        raise UserError(
            "the address of the collection is not valid; write milvus://USER:PASSWORD@HOST:PORT/NAME, and characters such "
            "as @ : / ? # % in the password as %40 %3A %2F %3F %23 %25"
        ) from error
    unknown = set(options) - set(OPTIONS)
    if unknown:
        raise UserError(
            f"the address of the collection has unknown options ({', '.join(sorted(unknown))}); after the question mark "
            f"may follow: {choices(OPTIONS)}"
        )
    name, database = parts.path.strip("/"), options.get("database", "default")
    for what, given in (("collection", name), ("database", database)):
        if not re.fullmatch(r"[A-Za-z0-9_]{1,63}", given):
            raise UserError(
                f"invalid {what} name {given!r}; write milvus://HOST:PORT/NAME with a name of up to 63 letters, digits "
                "and the character _"
            )
    thumbnails = options.get("thumbnails")
    if thumbnails is not None and not os.path.isabs(thumbnails):
        raise UserError(f"thumbnails must be the absolute path of a folder, got {thumbnails!r}")
    user = f"{parts.username}@" if parts.username else ""
    bracketed = f"[{host}]" if ":" in host else host
    return Address(
        uri=f"{'https' if _flag(options) else 'http'}://{bracketed}:{port}",
        token=f"{unquote(parts.username)}:{unquote(parts.password or '')}" if parts.username else "",
        collection=name,
        shown=f"{SCHEME}{user}{bracketed}:{port}/{name}"
        + (f"?database={database}" if "database" in options else ""),
        database=database,
        thumbnails=thumbnails,
        shards=_number(options, "shards"),
        replicas=_number(options, "replicas"),
        timeout=_seconds(options.get("timeout", str(SECONDS))),
    )


def _flag(options: dict[str, str]) -> bool:
    given = options.get("tls", "false")
    if given not in ("true", "false"):
        raise UserError(f"tls must be true or false, got {given!r}")
    return given == "true"


def _number(options: dict[str, str], name: str) -> int:
    given = options.get(name, "1")
    if not given.isdecimal() or not 1 <= int(given) <= MOST:
        raise UserError(f"{name} must be a number from 1 to {MOST}, got {given!r}")
    return int(given)


def _seconds(given: str) -> float:
    try:
        seconds = float(given)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 3600:
        raise UserError(f"timeout must be a number of seconds up to 3600, got {given!r}")
    return seconds

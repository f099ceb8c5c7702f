"""The address of a collection on a server: postgresql://USER:PASSWORD@HOST:PORT/DATABASE?collection=NAME."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from lingvis.errors import UserError

SCHEMES = ("postgresql", "postgres")
COLLECTION = "pictures"


@dataclass(frozen=True, slots=True)
class Address:
    """A database and a collection in it; shown: for messages, without the password."""

    conninfo: str
    collection: str
    shown: str

    def __repr__(self) -> str:
        return f"Address({self.shown})"


def is_postgres(address: str) -> bool:
    """Return whether an address names a server and not a folder."""
    return address.partition("://")[0] in SCHEMES and "://" in address


def parse(address: str) -> Address:
    """Parse an address; errors do not quote it, because it may hold a password."""
    try:
        parts = urlsplit(address)
        if "@" in parts.path + parts.query or parts.fragment or parts.netloc.count("@") > 1:
            raise ValueError("a character of the password is not escaped as %XX")
        user, at, hosts = parts.netloc.rpartition("@")
        if not all(re.fullmatch(r"(\[[^]]*\]|[^:]*)(:\d*)?", host) for host in hosts.split(",")):
            raise ValueError("a port is not a number")
        options = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=True) if parts.query else []
    except ValueError as error:
        raise UserError(
            "the address of the collection is not valid; write postgresql://USER:PASSWORD@HOST:PORT/DATABASE?collection="
            "NAME, and characters such as @ : / ? # % in the password as %40 %3A %2F %3F %23 %25"
        ) from error
    name = dict(options).get("collection", COLLECTION)
    if not re.fullmatch(r"[\w.-]{1,63}", name):
        raise UserError(
            f"invalid collection name {name!r}; use up to 63 letters, digits and the characters . _ -"
        )
    rest = urlencode([(key, value) for key, value in options if key != "collection"], quote_via=quote)
    shown = f"postgresql://{user.partition(':')[0]}{at}{hosts}{parts.path}?collection={name}"
    return Address(f"postgresql://{parts.netloc}{parts.path}{'?' if rest else ''}{rest}", name, shown)

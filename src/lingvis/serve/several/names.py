"""Names of collections on the page and in paths."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from lingvis.collection.collection import Collection
from lingvis.collection.stores.servers import is_server, name_on_server
from lingvis.errors import UserError

PREFIX = "/c/"


def path_of(name: str) -> str:
    """Return the path of the page of a collection."""
    return f"{PREFIX}{quote(name, safe='')}/"


def named(collections: Collection | Sequence[Collection]) -> dict[str, Collection]:
    """Return collections by name: that of the folder without .lv, or that on the server; raises if two are equal."""
    names: dict[str, Collection] = {}
    for collection in [collections] if isinstance(collections, Collection) else collections:
        address = collection.address
        name = name_on_server(address) if is_server(address) else Path(address).resolve().name
        name = name.removesuffix(".lv") or name
        if name in names:
            raise UserError(
                f"{names[name].address} and {address} would both have the name {name!r} on the page; rename one of them, "
                "or serve them apart"
            )
        names[name] = collection
    return names

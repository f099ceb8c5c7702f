"""Where the collection of a folder of pictures is kept if nobody names a place for it."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

from lingvis.collection.stores.open import store_exists
from lingvis.collection.stores.servers import is_server
from lingvis.errors import UserError

NAME_CHARACTERS = 40


def is_picture_folder(address: str | Path) -> bool:
    """Return whether an address is a folder of pictures: a folder that is no collection."""
    return not is_server(str(address)) and os.path.isdir(address) and not store_exists(str(address))


def default_place(folder: str | Path) -> Path:
    """Return the collection of a folder of pictures, in the user's data folder; its name has a hash of the real path."""
    from platformdirs import user_data_path

    real = os.path.realpath(folder)
    name = re.sub(r"[^\w-]+", "-", os.path.basename(real)).strip("-")[:NAME_CHARACTERS] or "pictures"
    mark = hashlib.sha256(os.fsencode(real)).hexdigest()[:8]
    return user_data_path("lingvis", appauthor=False) / "collections" / f"{name}-{mark}.lv"


def indexed_place(address: str) -> str:
    """Return the address of a collection; for a folder of pictures, that of its default collection.

    Raises UserError if the folder is not indexed yet.
    """
    if not is_picture_folder(address):
        return address
    place = default_place(address)
    if not store_exists(str(place)):
        raise UserError(
            f"{address} holds no collection, and its pictures are not indexed yet; index them with: "
            f"lingvis index {address}, or with: lingvis serve {address}, which also opens the search page"
        )
    return str(place)

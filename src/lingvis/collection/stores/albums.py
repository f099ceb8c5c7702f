"""Albums of a collection: names with the content hashes of pictures, so that no re-index or new model loses them."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection as Group
from collections.abc import Sequence
from typing import Protocol

from lingvis.errors import UserError, choices

FAVOURITES = "favourites"  # the fixed name of an album that always exists
NAME_CHARACTERS = 100
ALBUMS, PICTURES = 1000, 100_000  # of a collection, of an album


class AlbumError(UserError):
    """A name, an album or a number of pictures that is not allowed."""


class AlbumStore(Protocol):
    """Keeps the albums of a collection; several processes may change them at once, and each change is atomic."""

    def counts(self) -> dict[str, int]:
        """Return the number of hashes per album, in the order in which the albums were made."""
        ...

    def hashes(self, name: str) -> list[str]:
        """Return the hashes of an album, in the order in which they were added; empty if there is no such album."""
        ...

    def containing(self, hash: str) -> list[str]:
        """Return the names of the albums with this hash."""
        ...

    def add(self, name: str, hashes: Sequence[str]) -> int:
        """Add hashes, and make the album if necessary; returns how many are new in it."""
        ...

    def remove(self, name: str, hashes: Sequence[str]) -> int:
        """Remove hashes; returns how many the album had."""
        ...

    def rename(self, name: str, new: str) -> None:
        """Rename an album."""
        ...

    def delete(self, name: str) -> None:
        """Delete an album; the pictures stay."""
        ...


def checked_name(name: str) -> str:
    """Return the name of an album in the form that is stored; raises AlbumError if it is not allowed."""
    clean = unicodedata.normalize("NFC", name).strip()
    if not clean or len(clean) > NAME_CHARACTERS or not clean.isprintable():
        raise AlbumError(
            f"an album needs a name of 1 to {NAME_CHARACTERS} printable characters on one line, got "
            f"{name[:NAME_CHARACTERS]!r}; choose another one"
        )
    return clean


def check_exists(name: str, names: Group[str]) -> None:
    """Raise unless an album exists; the favourites always do."""
    if name not in names and name != FAVOURITES:
        raise AlbumError(f"there is no album {name!r}; choose one of: {choices({FAVOURITES, *names})}")


def check_rename(name: str, new: str, names: Group[str]) -> None:
    """Raise unless an album may get a new name."""
    check_exists(name, names)
    if FAVOURITES in (name, new):
        raise AlbumError(f"the album {FAVOURITES} has a fixed name; choose another name, or another album")
    if new in names and new != name:
        raise AlbumError(f"there is an album {new!r} already; choose another name")


def check_size(name: str, pictures: int, albums: int) -> None:
    """Raise if an album would have too many pictures, or a collection too many albums."""
    if pictures > PICTURES:
        raise AlbumError(
            f"album {name!r} would have {pictures} pictures, the most is {PICTURES}; start another album"
        )
    if albums > ALBUMS:
        raise AlbumError(f"a collection has at most {ALBUMS} albums; delete one first")

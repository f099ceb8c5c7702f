"""The albums of a collection, in Python: `photos.albums.add("Rome", [hit.id for hit in hits])`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lingvis.collection.stores.albums import FAVOURITES, AlbumStore, checked_name
from lingvis.collection.stores.records import Filter, PictureInfo
from lingvis.collection.writer.items import picture_id
from lingvis.errors import UserError, check_list


@dataclass(frozen=True, slots=True)
class Album:
    """A name, and the number of contents in it; files that were deleted or edited since then still count."""

    name: str
    pictures: int


class Albums:
    """Names for groups of pictures, kept by the content of the files.

    Copies of a picture are in the same albums, and an edited picture is in none. infos, having: records of pictures by
    their ids, and by the hashes of their contents.
    """

    def __init__(
        self,
        collection: str,
        store: Callable[[], AlbumStore],
        infos: Callable[[Sequence[str]], list[PictureInfo]],
        having: Callable[[Sequence[str]], list[PictureInfo]],
    ) -> None:
        self._collection, self._store = collection, store
        self._infos, self._having = infos, having

    def all(self) -> list[Album]:
        """Return all albums, the favourites first, the others in the order in which they were made."""
        counts = self._store().counts()
        return [Album(name, count) for name, count in ({FAVOURITES: 0} | counts).items()]

    def hashes(self, name: str) -> list[str]:
        """Return the content hashes of an album, in the order in which they were added."""
        return self._store().hashes(checked_name(name))

    def pictures(self, name: str) -> list[PictureInfo]:
        """Return the pictures of an album, the last added first, copies of a picture by path."""
        place = {hash: number for number, hash in enumerate(self.hashes(name))}
        infos = [info for info in self._having(list(place)) if info.is_first]
        return sorted(infos, key=lambda info: (-place[info.hash], info.path))

    def of(self, picture: str | Path) -> list[str]:
        """Return the names of the albums of a picture, given by its id or path."""
        return self._store().containing(self._hashes([picture])[0])

    def add(self, name: str, pictures: Sequence[str | Path]) -> int:
        """Add pictures, given by ids or paths, and make the album if necessary; returns how many are new in it."""
        check_list("pictures", pictures, "ids or paths")
        return self._store().add(checked_name(name), self._hashes(pictures))

    def remove(self, name: str, pictures: Sequence[str | Path]) -> int:
        """Remove pictures, given by ids or paths; returns how many the album had. The pictures stay."""
        check_list("pictures", pictures, "ids or paths")
        return self._store().remove(checked_name(name), self._hashes(pictures))

    def rename(self, name: str, new: str) -> None:
        """Rename an album; the favourites keep their name."""
        self._store().rename(checked_name(name), checked_name(new))

    def delete(self, name: str) -> None:
        """Delete an album; its pictures stay."""
        self._store().delete(checked_name(name))

    def resolved(self, where: Filter) -> Filter:
        """Return a filter with the hashes of its album in place of the album's name."""
        if where.album is None:
            return where
        return replace(where, album=None, hashes=frozenset(self.hashes(where.album)))

    def _hashes(self, pictures: Sequence[str | Path]) -> list[str]:
        ids = {str(picture): picture_id(os.path.realpath(picture)) for picture in pictures}
        known = {info.id: info.hash for info in self._infos([*ids, *ids.values()])}
        unknown = [name for name, id in ids.items() if name not in known and id not in known]
        if unknown:
            raise UserError(
                f"collection {self._collection} has no picture {unknown[0]!r}; take its id from a search"
            )
        return list(dict.fromkeys(known.get(name) or known[id] for name, id in ids.items()))

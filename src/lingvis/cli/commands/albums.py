"""`lingvis albums ...`."""

from __future__ import annotations

from cyclopts import App

from lingvis.cli.options import FolderOrCollection, Json
from lingvis.printing import print_line

app = App(name="albums", help="Favourites and albums of a collection.")


@app.command(name="list")
def list_albums(collection: FolderOrCollection, /, *, json: Json = False) -> None:
    """List the albums with their numbers of pictures; `lingvis search ... --album NAME` searches in one."""
    from dataclasses import asdict

    from lingvis.cli.output import print_json
    from lingvis.collection.collection import Collection
    from lingvis.collection.places import indexed_place

    albums = Collection.open(indexed_place(collection)).albums.all()
    if json:
        print_json([asdict(album) for album in albums])
        return
    for album in albums:
        print_line(f"{album.pictures:6}  {album.name}")


@app.command
def add(collection: FolderOrCollection, album: str, /, *pictures: str) -> None:
    """Add pictures to an album, which is made if necessary; the album favourites is the one of the page's hearts.

    Parameters
    ----------
    album: str
        The name of the album.
    pictures: str
        Files or ids of pictures in the collection.
    """
    from lingvis.collection.collection import Collection
    from lingvis.collection.places import indexed_place

    print_line(f"{Collection.open(indexed_place(collection)).albums.add(album, pictures)} added to {album}")


@app.command
def remove(collection: FolderOrCollection, album: str, /, *pictures: str) -> None:
    """Remove pictures from an album; they stay in the collection.

    Parameters
    ----------
    album: str
        The name of the album.
    pictures: str
        Files or ids of pictures in the collection.
    """
    from lingvis.collection.collection import Collection
    from lingvis.collection.places import indexed_place

    print_line(
        f"{Collection.open(indexed_place(collection)).albums.remove(album, pictures)} removed from {album}"
    )


@app.command
def rename(collection: FolderOrCollection, album: str, name: str, /) -> None:
    """Rename an album.

    Parameters
    ----------
    album: str
        The name of the album.
    name: str
        The new name.
    """
    from lingvis.collection.collection import Collection
    from lingvis.collection.places import indexed_place

    Collection.open(indexed_place(collection)).albums.rename(album, name)


@app.command
def delete(collection: FolderOrCollection, album: str, /) -> None:
    """Delete an album; its pictures stay in the collection.

    Parameters
    ----------
    album: str
        The name of the album.
    """
    from lingvis.collection.collection import Collection
    from lingvis.collection.places import indexed_place

    Collection.open(indexed_place(collection)).albums.delete(album)

"""Requests of the API, answered by a collection; errors of its store become HTTP errors."""

from __future__ import annotations

import io
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TypeVar

from PIL import Image
from starlette.exceptions import HTTPException

from lingvis.collection.albums import Albums
from lingvis.collection.collection import Collection
from lingvis.collection.examples import ExampleQueries
from lingvis.collection.query.negatives import split_all
from lingvis.collection.rebuilds import LiveCollection, RebuiltError, UnavailableError
from lingvis.collection.stores.albums import AlbumError
from lingvis.collection.stores.records import (
    Filter,
    FolderCount,
    Hit,
    MonthCount,
    PictureInfo,
    PlaceCount,
    Statistics,
)
from lingvis.errors import UserError
from lingvis.features.pictures import DecodedPicture
from lingvis.features.preprocessing import Preprocessing
from lingvis.serve.answers import QueryAnswer
from lingvis.serve.pictures.thumbnails import Thumbnail, Thumbnails
from lingvis.serve.queries import Filters, SearchQuery

T = TypeVar("T")
log = logging.getLogger("lingvis.serve")
FRESH = 1.0  # seconds for which numbers of a collection are cached: counting reads all rows
LATER = {"Retry-After": "5"}


class SearchEngine:
    """Searches a collection for the API, from any thread."""

    def __init__(self, collection: Collection) -> None:
        self._live = LiveCollection(collection, prepare)
        self._counted: tuple[float, Collection, Statistics] | None = None
        self._examples = ExampleQueries()
        self.thumbnails = Thumbnails()

    def warm(self) -> None:
        """Load everything that the first query would wait for."""
        prepare(self._live.current)

    def search(
        self, query: SearchQuery, image: DecodedPicture | None = None
    ) -> tuple[list[QueryAnswer], list[str], list[Hit]]:
        """Return the texts with their languages, the terms to leave out, and the hits."""
        texts, terms = split_all(query.q)
        without = list(dict.fromkeys((*terms, *query.without)))
        if not texts and not without and image is None and query.like is None:
            raise HTTPException(422, "there is nothing to search for; give words in q, or send a picture")
        if query.like is not None:
            self.info(query.like)

        def find(collection: Collection) -> tuple[list[QueryAnswer], list[str], list[Hit]]:
            if image is not None and image.preprocessing != collection.preprocessing:
                raise _loading()  # it was decoded for the model before
            hits = collection.search(
                list(texts),
                image=image,
                like=query.like,
                without=without,
                weight=query.weight,
                lang=query.lang,
                prefer=query.prefer,
                k=query.k,
                offset=query.offset,
                where=query.where(),
                captions=query.captions,
            )
            reports = collection.report(list(texts), lang=query.lang, prefer=query.prefer)
            return [QueryAnswer(**asdict(report)) for report in reports], without, hits

        return self._ask(find)

    def similar(self, id: str, filters: Filters) -> list[Hit]:
        """Return pictures similar to one of the collection."""
        self.info(id)
        return self._ask(
            lambda collection: collection.similar(
                id, k=filters.k, offset=filters.offset, where=filters.where()
            )
        )

    def browse(self, k: int, offset: int, where: Filter) -> list[PictureInfo]:
        """Return the newest pictures."""
        return self._ask(lambda collection: collection.browse(k=k, offset=offset, where=where))

    def timeline(self, where: Filter) -> list[MonthCount]:
        """Return pictures per month."""
        return self._ask(lambda collection: collection.timeline(where=where))

    def folders(self, where: Filter) -> list[FolderCount]:
        """Return pictures per folder."""
        return self._ask(lambda collection: collection.folders(where=where))

    def places(self, where: Filter, step: float) -> list[PlaceCount]:
        """Return pictures per square of the map."""
        return self._ask(lambda collection: collection.places(where=where, step=step))

    def examples(self, lang: str) -> list[tuple[str, str]]:
        """Return queries that find varied pictures, with their languages; they are chosen again for each new model."""
        return self._ask(lambda collection: self._examples(collection, lang))

    def info(self, id: str) -> PictureInfo:
        """Return the record of one picture."""
        return _existing(self._ask(lambda collection: collection.info(id)))

    def infos(self, ids: Sequence[str]) -> list[PictureInfo]:
        """Return the records of several pictures; 404 if one of them is unknown."""
        infos = self._ask(lambda collection: collection.infos(ids))
        if len(infos) < len(set(ids)):
            _existing(None)
        return infos

    def albums(self, action: Callable[[Albums], T]) -> T:
        """Run an action on the albums of the collection."""
        try:
            return self._ask(lambda collection: action(collection.albums))
        except AlbumError:
            raise
        except UserError as error:  # of the store: a full disk, a server that is away
            log.exception("the albums cannot be read or changed")
            raise HTTPException(
                503, "the albums cannot be read or changed now; ask again later", headers=LATER
            ) from error

    def thumbnail(self, id: str, hash: str | None) -> tuple[Thumbnail, bool]:
        """Return a small JPEG of one picture, and whether it certainly shows the content with this hash."""
        certain = hash is not None and self.info(id).hash == hash  # before: it may be replaced meanwhile
        return Thumbnail.of(_existing(self._ask(lambda collection: collection.thumbnail(id)))), certain

    def statistics(self) -> Statistics:
        """Return numbers about the collection, at most a second old."""
        counted, collection = self._counted, self._live.current
        if counted is None or counted[1] is not collection or time.monotonic() - counted[0] > FRESH:
            numbers = self._ask(lambda current: current.statistics())
            counted = self._counted = time.monotonic(), collection, numbers
        return counted[2]

    def model(self) -> tuple[str, Sequence[str], bool, int]:
        """Return name, languages, whether the language matters, and dimension of the model."""
        model = self._live.current.model
        return model.name, model.languages, model.uses_language, model.dim

    def preprocessing(self) -> Preprocessing:
        """Return how pictures are prepared for the model."""
        return self._live.current.preprocessing

    def _ask(self, action: Callable[[Collection], T]) -> T:
        try:
            return self._live.ask(action)
        except RebuiltError as error:
            raise _loading() from error
        except (UnavailableError, OSError, RuntimeError) as error:
            log.exception("the collection cannot be read")
            raise HTTPException(
                503, "the collection cannot be read; ask again later", headers=LATER
            ) from error


def _loading() -> HTTPException:
    return HTTPException(
        503,
        "the collection has another model now, which is being loaded; ask again in a moment",
        headers=LATER,
    )


def prepare(collection: Collection) -> None:
    """Load the model and the rows by a first query of each kind."""
    for _ in range(3):  # the third search of a process starts loads that no search waits for
        collection.search("a", k=1)
    dot = io.BytesIO()
    Image.new("RGB", (1, 1)).save(dot, "PNG")
    try:
        collection.encode(image=dot)
    except UserError as error:  # packages for pictures may be missing on a server for queries by words only
        log.warning("image queries are unavailable: %s", error)


def _existing(value: T | None) -> T:
    if value is None:
        raise HTTPException(404, "the collection has no such picture; take the id from a search")
    return value

"""The collection that a server asks, in whatever thread; opened again when it has another model."""

from __future__ import annotations

import io
import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, BinaryIO, TypeVar

from PIL import Image
from starlette.exceptions import HTTPException

from lingvis.collection.collection import Collection
from lingvis.collection.rebuilds import RebuiltError, UnavailableError
from lingvis.collection.stores.contract import Entry, Hit, Statistics
from lingvis.errors import UserError
from lingvis.serve.questions import Filters, PictureQuestion, Question

T = TypeVar("T")
log = logging.getLogger("lingvis.serve")
FRESH = 1.0  # seconds that the numbers of a collection are kept: counting reads all rows
SECONDS_BETWEEN_TRIES = 10.0


class Engine:
    """Questions of the API, put to a collection."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._counted: tuple[float, Statistics] | None = None
        self._opening = threading.Lock()
        self._open_from = 0.0

    def warm(self) -> None:
        """Load all that the first question would wait for."""
        _warm(self._collection)

    def search(
        self, question: Question, image: BinaryIO | None = None
    ) -> tuple[list[dict[str, Any]], list[Hit]]:
        """The texts with their languages, and the hits."""
        if not question.q and image is None:
            raise HTTPException(422, "there is nothing to search for; give words in q, or send a picture")

        def ask(collection: Collection) -> tuple[list[dict[str, Any]], list[Hit]]:
            hits = collection.search(
                question.q,
                image=image,
                weight=question.weight if isinstance(question, PictureQuestion) else 1.0,
                lang=question.lang,
                k=question.k,
                offset=question.offset,
                where=question.where(),
                in_captions=question.captions,
            )
            return [_asked(collection, text, question.lang) for text in question.q], hits

        return self._ask(ask)

    def similar(self, id: str, filters: Filters) -> list[Hit]:
        """Pictures like one of the collection."""
        self.entry(id)
        return self._ask(
            lambda collection: collection.similar(
                id, k=filters.k, offset=filters.offset, where=filters.where()
            )
        )

    def entry(self, id: str) -> Entry:
        """What is known of one picture."""
        return _found(self._ask(lambda collection: collection.entry(id)))

    def thumbnail(self, id: str) -> bytes:
        """A small JPEG of one picture."""
        return _found(self._ask(lambda collection: collection.thumbnail(id)))

    def statistics(self) -> Statistics:
        """Numbers of the collection, at most a second old."""
        counted = self._counted
        if counted is None or time.monotonic() - counted[0] > FRESH:
            counted = self._counted = time.monotonic(), self._ask(lambda collection: collection.statistics())
        return counted[1]

    def model(self) -> tuple[str, Sequence[str], int]:
        """Name, languages and dimension of the model."""
        model = self._collection.model
        return model.name, model.languages, model.dim

    def _ask(self, question: Callable[[Collection], T]) -> T:
        """Once more after an error of the store: a rebuild takes away the table that is being read."""
        for last in (False, True):
            try:
                collection = self._collection
                answer = question(collection)
                if collection.outdated:  # it may still be asked until the new model is loaded
                    self._open_again()
                return answer
            except RebuiltError as error:
                self._open_again()
                raise HTTPException(
                    503,
                    "the collection has another model now, which is being loaded; ask again in a moment",
                    headers={"Retry-After": "5"},
                ) from error
            except (UnavailableError, OSError, RuntimeError) as error:
                if last:
                    log.exception("the collection cannot be read")
                    raise HTTPException(
                        503, "the collection cannot be read; ask again later", headers={"Retry-After": "5"}
                    ) from error
        raise AssertionError

    def _open_again(self) -> None:
        """In a thread of its own, one at a time: loading a model takes seconds."""
        if time.monotonic() >= self._open_from and self._opening.acquire(blocking=False):
            threading.Thread(target=self._reopen, name="reopen", daemon=True).start()

    def _reopen(self) -> None:
        try:
            collection = self._collection.reopened()
            _warm(collection)
            self._collection, self._counted = collection, None
        except Exception as error:
            self._open_from = time.monotonic() + SECONDS_BETWEEN_TRIES
            log.error("the collection cannot be opened again: %s", error)
        finally:
            self._opening.release()


def _warm(collection: Collection) -> None:
    collection.search("a", k=1)
    dot = io.BytesIO()
    Image.new("RGB", (1, 1)).save(dot, "PNG")
    try:
        collection.embed(image=dot)
    except UserError as error:  # its packages may be missing where only words are asked with
        log.warning("pictures cannot be asked with: %s", error)


def _asked(collection: Collection, text: str, lang: str | None) -> dict[str, Any]:
    return {"text": text, "lang": lang or collection.language_of(text), "detected": lang is None}


def _found(value: T | None) -> T:
    if value is None:
        raise HTTPException(404, "the collection has no such picture; take the id from a search")
    return value

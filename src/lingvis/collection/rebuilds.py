"""Detect that a collection got another model while it is searched, and open it again."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from lingvis.collection.binding import same_captions
from lingvis.collection.stores.records import Header
from lingvis.errors import UserError

if TYPE_CHECKING:
    from lingvis.collection.collection import Collection

T = TypeVar("T")
log = logging.getLogger("lingvis.collection")
SECONDS_BETWEEN_TRIES = 10.0


class UnavailableError(UserError):
    """The store cannot answer any query now."""


class RebuiltError(UnavailableError):
    """The collection got another model after it was opened."""


def check_rebuilt(collection: str, model: Header | None, stored: Header) -> None:
    """Raise RebuiltError if another image side has filled the collection; model: None before it is loaded."""
    if model is not None and stored.image_fingerprint != model.image_fingerprint:
        raise RebuiltError(f"collection {collection} was rebuilt with another model; open it again")


def is_newer(model: Header | None, stored: Header) -> bool:
    """Return whether the collection got another text side, for instance with a new language."""
    return model is not None and stored.text_fingerprint not in ("", model.text_fingerprint)


def check_captions(collection: str, model: Header, stored: Header, *, follows: bool) -> None:
    """Raise if queries of this model do not fit the stored captions; follows: it is the collection's model."""
    if follows and is_newer(model, stored):
        raise RebuiltError(f"collection {collection} has a newer model; open it again")
    if not same_captions(stored.text_fingerprint, model.text_fingerprint):
        state = "were" if stored.text_fingerprint else "are being"
        raise UserError(
            f"the captions of collection {collection} {state} encoded by another text side; bring them up to date "
            f"with: lingvis index {collection} FOLDER... --model {stored.model if follows else model.model}"
        )


class LiveCollection:
    """A collection for a process that runs for long: it is opened again in the background when its model changes.

    prepare: loads everything that the first query would otherwise wait for.
    """

    def __init__(self, collection: Collection, prepare: Callable[[Collection], None]) -> None:
        self.current = collection
        self._prepare = prepare
        self._opening = threading.Lock()
        self._next_try = 0.0

    def ask(self, action: Callable[[Collection], T]) -> T:
        """Run an action on the current collection.

        Raises RebuiltError while another model is being loaded. Other errors of the store are retried once, because a
        rebuild drops the table that is being read.
        """
        try:
            return self._ask_once(action)
        except RebuiltError:
            raise
        except (UnavailableError, OSError, RuntimeError):
            return self._ask_once(action)

    def _ask_once(self, action: Callable[[Collection], T]) -> T:
        collection = self.current
        try:
            result = action(collection)
        except RebuiltError:
            self._open_again()
            raise
        if collection.outdated:  # it can still be searched until the new model is loaded
            self._open_again()
        return result

    def _open_again(self) -> None:
        """Start a thread that opens the collection again, one at a time: loading a model takes seconds."""
        if time.monotonic() >= self._next_try and self._opening.acquire(blocking=False):
            threading.Thread(target=self._reopen, name="reopen", daemon=True).start()

    def _reopen(self) -> None:
        try:
            collection = self.current.reopened()
            self._prepare(collection)
            self.current = collection
        except Exception as error:
            self._next_try = time.monotonic() + SECONDS_BETWEEN_TRIES
            log.error("the collection cannot be opened again: %s", error)
        finally:
            self._opening.release()

"""The model of a collection, loaded when it is first needed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from lingvis.collection.binding import check_image_side, describe
from lingvis.collection.query.language import LanguageDetector
from lingvis.collection.stores.records import Header
from lingvis.errors import UserError, choices
from lingvis.evaluation.clc.learned import LearnedConsistency
from lingvis.model.embedder import Embedder
from lingvis.pretrained import from_reference


class CollectionModel:
    """An embedder that is loaded once and shared by threads.

    run: the model folder, None for the model of the collection; stored: returns the header of the collection.
    """

    def __init__(
        self, collection: str, run: Path | None, device: str | None, stored: Callable[[], Header]
    ) -> None:
        self.run = run
        self.header: Header | None = None  # of the model, once it is loaded
        self._collection, self._device, self._stored = collection, device, stored
        self._embedder: Embedder | None = None
        self._detector: LanguageDetector | None = None
        self._learned: LearnedConsistency | None = None
        self._lock = threading.RLock()

    @property
    def embedder(self) -> Embedder:
        """The model; raises UserError if its image side is not the one that filled the collection."""
        return self.load()[0]

    def load(self, *, filled: bool = True) -> tuple[Embedder, Header]:
        """Return the model and the header for a collection of this model.

        filled: whether the collection has pictures that the model must fit; False for a new or rebuilt collection.
        """
        with self._lock:
            if self._embedder is None or self.header is None:
                run = self.run or from_reference(self._stored().model)
                if self.run is None and not run.is_dir():
                    raise UserError(
                        f"the model of collection {self._collection} is no longer at {run}; name its folder as `model`"
                    )
                embedder = Embedder.load(run, device=self._device)
                header = describe(embedder, run)
                if filled:
                    check_image_side(self._collection, self._stored(), header)
                self._embedder, self.header = embedder, header
            return self._embedder, self.header

    def language_of(self, text: str) -> str:
        """Detect the language of a sentence among the model's languages."""
        with self._lock:
            if self._detector is None:
                self._detector = LanguageDetector(self.embedder.languages)
        return self._detector(text)

    def known_language(self, lang: str) -> str:
        """Return the language; raises UserError if the model was not trained on it."""
        if lang not in self.embedder.languages:
            raise UserError(
                f"model {self.embedder.name} was not trained on language {lang!r}; choose one of: "
                f"{choices(self.embedder.languages)}"
            )
        return lang

    def consistency(self) -> LearnedConsistency:
        """Load the learned cross-lingual consistency of this model."""
        with self._lock:
            if self._learned is None:
                self._learned = LearnedConsistency.load(from_reference(self.load()[1].model))
            return self._learned

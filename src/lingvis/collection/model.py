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


class CollectionModel:
    """An embedder that is loaded once, for any thread.

    run: the model folder, None for the one that the collection names; stored: gives the header of the collection.
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
        """Return the model and the header of a collection that it fills.

        filled: whether the collection holds pictures that the model has to fit to; not if it is made or rebuilt now.
        """
        with self._lock:
            if self._embedder is None or self.header is None:
                run = self.run or Path(self._stored().model)
                if self.run is None and not run.is_dir():
                    raise UserError(
                        f"the model of collection {self._collection} is no longer at {run}; name its folder as model"
                    )
                embedder = Embedder.load(run, device=self._device)
                header = describe(embedder, run)
                if filled:
                    check_image_side(self._collection, self._stored(), header)
                self._embedder, self.header = embedder, header
            return self._embedder, self.header

    def language_of(self, text: str) -> str:
        """Detect the language of a sentence, among the model's."""
        with self._lock:
            if self._detector is None:
                self._detector = LanguageDetector(self.embedder.languages)
        return self._detector(text)

    def known_language(self, lang: str) -> str:
        """Return the language, or raise UserError if the model does not know it."""
        if lang not in self.embedder.languages:
            raise UserError(
                f"model {self.embedder.name} does not know language {lang!r}; it knows: "
                f"{choices(self.embedder.languages)}"
            )
        return lang

    def consistency(self) -> LearnedConsistency:
        """Load the cross-lingual consistency that was learned for this model."""
        with self._lock:
            if self._learned is None:
                self._learned = LearnedConsistency.load(Path(self.load()[1].model))
            return self._learned

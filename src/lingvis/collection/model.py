"""The model of a collection, loaded when it is first needed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from pathlib import Path

from lingvis.collection.binding import check_image_side, describe
from lingvis.collection.query.language import LanguageDetector
from lingvis.collection.query.report import SentenceReport
from lingvis.collection.shared_models import SharedModel, load_shared
from lingvis.collection.stores.records import Header
from lingvis.errors import UserError, choices
from lingvis.evaluation.clc.learned import LearnedConsistency
from lingvis.model.encoder import Encoder
from lingvis.pretrained import from_reference
from lingvis.relevance.calibration import Calibration
from lingvis.relevance.known_words import KnownWords
from lingvis.text.segment import words

REMEMBERED = (
    1024  # sentences whose language and unknown words are kept: one search asks for them several times
)


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
        self._shared: SharedModel | None = None
        self._detector: LanguageDetector | None = None
        self._learned: LearnedConsistency | None = None
        self._lock = threading.RLock()
        self._detected = lru_cache(REMEMBERED)(self._detect)
        self._reported = lru_cache(REMEMBERED)(self._report)

    @property
    def embedder(self) -> Encoder:
        """The model; raises UserError if its image side is not the one that filled the collection."""
        return self.load()[0]

    @property
    def shared(self) -> SharedModel:
        """The model with its locks."""
        self.load()
        assert self._shared is not None  # loaded
        return self._shared

    def load(self, *, filled: bool = True) -> tuple[Encoder, Header]:
        """Return the model and the header for a collection of this model.

        filled: whether the collection has pictures that the model must fit; False for a new or rebuilt collection.
        """
        with self._lock:
            if self._shared is None or self.header is None:
                run = self.run or from_reference(self._stored().model)
                if self.run is None and not run.is_dir():
                    raise UserError(
                        f"the model of collection {self._collection} is no longer at {run}; name its folder as `model`"
                    )
                shared = load_shared(run, self._device)
                header = describe(shared.embedder, run)
                if filled:
                    check_image_side(self._collection, self._stored(), header)
                self._shared, self.header = shared, header
            return self._shared.embedder, self.header

    @cached_property
    def known_words(self) -> KnownWords | None:
        """The words that the model knows; None if its folder does not list them."""
        return KnownWords.read(from_reference(self.load()[1].model))

    @cached_property
    def calibration(self) -> Calibration | None:
        """The meaning of scores; None if the model is not calibrated."""
        return Calibration.read(from_reference(self.load()[1].model))

    def language_of(self, text: str, prefer: Sequence[str] = ()) -> str:
        """Detect the language of a sentence among the model's languages; prefer: see `LanguageDetector`."""
        return self._detected(text, tuple(prefer))

    def report(self, text: str, lang: str | None, prefer: Sequence[str] = ()) -> SentenceReport:
        """Return the language of a sentence, and the words in it that the model does not know."""
        return self._reported(text, lang, tuple(prefer))

    def _detect(self, text: str, prefer: tuple[str, ...]) -> str:
        return self._language_detector()(text, prefer)

    def _report(self, text: str, lang: str | None, prefer: tuple[str, ...]) -> SentenceReport:
        chosen = lang or self.language_of(text, prefer)
        known = self.known_words
        if known is None or chosen not in known.languages:
            foreign = lang is None and self._language_detector().foreign(text)
            return SentenceReport(text, chosen, lang is None, (), not foreign)
        unknown = known.unknown(text, chosen)
        nothing = bool(unknown) and len(unknown) == len(set(words(text, chosen)))
        foreign = lang is None and self._language_detector().foreign(text)
        return SentenceReport(text, chosen, lang is None, tuple(unknown), not nothing and not foreign)

    def _language_detector(self) -> LanguageDetector:
        with self._lock:
            if self._detector is None:
                self._detector = LanguageDetector(self.embedder.languages, self.known_words)
            return self._detector

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

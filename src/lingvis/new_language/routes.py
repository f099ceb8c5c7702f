"""The routes to a new language: the initial words, and the targets of training."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lingvis.errors import UserError, choices
from lingvis.model.embedder import Embedder
from lingvis.new_language.language_data import LanguageData
from lingvis.new_language.start_factory import StartFactory
from lingvis.new_language.starts import WordStart, spells

Obstacle = Callable[[Embedder, LanguageData], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One way to learn a language.

    start: makes the initial words. pictures, sentences: whether sentences are trained towards their pictures, and
    towards known sentences. glosses: whether glosses are used too. obstacles: functions that return the reason why the
    route is impossible, or an empty string.
    """

    name: str
    start: Callable[[StartFactory], WordStart]
    pictures: bool
    sentences: bool
    glosses: bool = False
    obstacles: tuple[Obstacle, ...]

    def obstacle(self, embedder: Embedder, data: LanguageData) -> str:
        """The first reason why the route is impossible; empty if it is possible."""
        return next(filter(None, (obstacle(embedder, data) for obstacle in self.obstacles)), "")


def _no_spelling(embedder: Embedder, data: LanguageData) -> str:
    return "" if spells(embedder) else "the model does not spell its words"


def _no_pictures(embedder: Embedder, data: LanguageData) -> str:
    return "" if data.learn.pictured else f"no picture has a sentence in {data.lang}"


def _no_translations(embedder: Embedder, data: LanguageData) -> str:
    return (
        ""
        if data.learn.paired
        else f"no sentence in {data.lang} has a translation in a language of the model"
    )


def _no_meaning(embedder: Embedder, data: LanguageData) -> str:
    known = data.learn.paired or data.learn.pictured
    return "" if known else "no sentence has a picture or a translation"


def _nothing_to_gloss(embedder: Embedder, data: LanguageData) -> str:
    return "" if data.undescribed else "no picture has sentences in known languages only"


ROUTES = (
    # The model's letters, trained towards pictures.
    Route(
        name="characters",
        start=StartFactory.copied,
        pictures=True,
        sentences=False,
        obstacles=(_no_spelling, _no_pictures),
    ),
    # Word vectors mapped into the model's space, trained towards pictures and translations.
    Route(
        name="mapped",
        start=StartFactory.mapped,
        pictures=True,
        sentences=True,
        obstacles=(_no_meaning,),
    ),
    # The model's letters, trained towards translations.
    Route(
        name="distilled",
        start=StartFactory.copied,
        pictures=False,
        sentences=True,
        obstacles=(_no_translations,),
    ),
    # Fresh n-grams, trained towards pictures and translations.
    Route(
        name="both",
        start=StartFactory.fresh,
        pictures=True,
        sentences=True,
        obstacles=(_no_pictures, _no_translations),
    ),
    # As both or mapped, with word-by-word glosses of captions in known languages.
    Route(
        name="glossed",
        start=StartFactory.mapped_or_glossed,
        pictures=True,
        sentences=True,
        glosses=True,
        obstacles=(_nothing_to_gloss,),
    ),
)


def find_routes(name: str | None) -> list[Route]:
    """The route of this name; all routes for None."""
    routes = [route for route in ROUTES if name in (None, route.name)]
    if not routes:
        raise UserError(f"unknown route {name!r}; choose one of: {choices(route.name for route in ROUTES)}")
    return routes

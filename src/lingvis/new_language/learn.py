"""Teach a model a language by every route that can be taken, and keep the best."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lingvis.errors import UserError, choices
from lingvis.model.embedder import Embedder
from lingvis.new_language.glosses import with_glosses
from lingvis.new_language.lexicon import Lexicon, find_lexicon
from lingvis.new_language.mapped import mapped, source_vectors
from lingvis.new_language.material import Material, Part
from lingvis.new_language.measure import Ruler
from lingvis.new_language.routes import ROUTES, Outcome, obstacle, take
from lingvis.new_language.starts import Start, copied, fresh, spells
from lingvis.new_language.targets import Lessons
from lingvis.new_language.teaching import Plan
from lingvis.new_language.word_vectors import WordPoints, word_points
from lingvis.progress import ProgressBar
from lingvis.recipes.schema import ModelRecipe
from lingvis.text.dictionaries import read_dictionary
from lingvis.text.segment import words as split

# Words of the known language beside the dictionary's: neighbours, which the map keeps away from.
FREQUENT = 5000
# Letters of its own start with this share of the spread of the model's words: n-grams that no sentence has stay so, and
# what they say of a new word shall be little.
QUIET = 0.2
GLOSSED_EPOCHS = (
    6  # of four times as many sentences: 41.1 for Czech on validation, with twelve and more time 41.3
)

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What the user may give: word vectors, a dictionary, and the language of the model on its other side."""

    vectors: Path | None = None
    dictionary: Path | None = None
    pivot: str | None = None


def learn(
    embedder: Embedder,
    recipe: ModelRecipe,
    material: Material,
    image_emb: Floats,
    ruler: Ruler,
    *,
    given: Given,
    plan: Plan,
    route: str | None = None,
) -> list[Outcome]:
    """Outcomes of the routes in their order; image_emb: of the pictures of material.learn [images, dim]."""
    wanted = [each for each in ROUTES if route in (None, each.name)]
    if not wanted:
        raise UserError(f"unknown route {route!r}; choose one of: {choices(each.name for each in ROUTES)}")
    starts = _Starts(embedder, recipe, material, given, plan.seed)
    own_lessons = Lessons.of(embedder, material.learn, image_emb)
    plans = [
        replace(plan, epochs=min(plan.epochs, GLOSSED_EPOCHS)) if each.glosses else plan for each in wanted
    ]
    outcomes = []
    with ProgressBar("add-language", sum(each.epochs for each in plans)) as bar:
        for each, own in zip(wanted, plans, strict=True):
            reason = obstacle(each, embedder, material)
            if each.glosses and not reason and len(starts.glossed.texts) == len(material.learn.texts):
                reason = "no sentence can be put together word by word"
            if reason:
                outcomes.append(Outcome(each.name, reason=reason))
                bar.advance(own.epochs, each.name)
                continue
            outcomes.append(
                take(
                    each,
                    embedder,
                    material.lang,
                    starts,
                    lessons=Lessons.of(embedder, starts.glossed, image_emb) if each.glosses else own_lessons,
                    ruler=ruler,
                    like=starts.pivot,
                    plan=own,
                    advance=lambda epochs, name=each.name: bar.advance(epochs, name),  # type: ignore[misc]
                )
            )
    embedder.added.pop(material.lang, None)
    return outcomes


class _Starts:
    """The start of a route by its name; what several need is made once."""

    def __init__(
        self, embedder: Embedder, recipe: ModelRecipe, material: Material, given: Given, seed: int
    ) -> None:
        self._embedder, self._recipe, self._material, self._given, self._seed = (
            embedder,
            recipe,
            material,
            given,
            seed,
        )
        self.pivot = given.pivot or most_beside(material, embedder.trained)
        self._dictionary = read_dictionary(given.dictionary) if given.dictionary is not None else {}
        self._placed: Start | None = None

    def __call__(self, name: str) -> Start:
        lang = self._material.lang
        texts = self.glossed.texts if name == "placed" else self._material.learn.texts
        if name == "mapped" or (name == "placed" and self._given.vectors is not None):
            self._placed = self._placed or self._mapped()
            return deepcopy(self._placed)
        if name == "copied" and spells(self._embedder):
            return copied(self._embedder, self._recipe, texts, lang)
        return fresh(self._embedder, texts, lang, QUIET * float(self._points([]).table.values.std()))

    def _mapped(self) -> Start:
        material, given = self._material, self._given
        dim = self._embedder.model.text.words.dim
        source = source_vectors(
            material.learn.texts, material.lang, dim=dim, given=given.vectors, seed=self._seed
        )
        dictionary = self.lexicon.translations
        target = self._points([word for found in dictionary.values() for word in found])
        return mapped(self._embedder, material.lang, source, target, dictionary)

    @cached_property
    def lexicon(self) -> Lexicon:
        """What is known of single words."""
        material = self._material
        return find_lexicon(material.learn, material.lang, self.pivot, self._dictionary)

    @cached_property
    def glossed(self) -> Part:
        """The sentences, and glosses of those in the known language."""
        return with_glosses(self._material.learn, self._embedder, self.lexicon, self.pivot, seed=self._seed)

    def _points(self, more: Sequence[str]) -> WordPoints:
        """Words of the known language: the frequent ones of its sentences, and more."""
        sentences = (
            text for known in self._material.learn.known for lang, text in known if lang == self.pivot
        )
        counts = Counter(word for text in sentences for word in split(text, self.pivot))
        frequent = [word for word, _ in counts.most_common(FREQUENT)]
        words = list(dict.fromkeys((*frequent, *more)))
        if not words:
            raise UserError(f"there are no words of {self.pivot} to compare with; name another with --pivot")
        return word_points(self._embedder, words, self.pivot)


def most_beside(material: Material, languages: Sequence[str]) -> str:
    """The language of the model with most sentences beside those of the new one, the first of equals."""
    counts = Counter(
        lang for group in material.learn.groups for lang in {lang for lang, _ in material.learn.known[group]}
    )
    return max(languages, key=lambda lang: counts[lang])

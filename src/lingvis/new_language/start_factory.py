"""Makes the initial word parts of the routes to a language, and shares data between routes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from lingvis.errors import UserError
from lingvis.model.embedder import Embedder
from lingvis.new_language.language_data import LanguageData, SentenceGroups
from lingvis.new_language.lexical.glosses import with_glosses
from lingvis.new_language.lexical.lexicon import BilingualLexicon, find_lexicon
from lingvis.new_language.lexical.word_vectors import WordPoints, word_points
from lingvis.new_language.mapped_start import mapped_start, source_vectors
from lingvis.new_language.starts import WordStart, copied_start, fresh_start, spells
from lingvis.recipes.schema import ModelRecipe
from lingvis.text.dictionaries import read_dictionary
from lingvis.text.segment import words as split

# Words of the known language besides the dictionary's: neighbours that the map should avoid.
FREQUENT = 5000
# Fresh n-grams start with this share of the spread of the model's word vectors: n-grams outside the sentences keep
# their initial vectors, which should add little to a new word.
QUIET = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class LexicalResources:
    """Optional files of the user: word vectors, a dictionary, and the model's language on its other side."""

    vectors: Path | None = None
    dictionary: Path | None = None
    pivot: str | None = None


class StartFactory:
    """The starts of all routes to one language; each call makes a new word part."""

    def __init__(
        self,
        embedder: Embedder,
        recipe: ModelRecipe,
        data: LanguageData,
        resources: LexicalResources,
        *,
        seed: int,
    ) -> None:
        self._embedder = embedder
        self._recipe = recipe
        self._data = data
        self._resources = resources
        self._seed = seed
        self.pivot = resources.pivot or most_translated(data, embedder.trained)
        path = resources.dictionary
        self._dictionary = read_dictionary(path) if path is not None else {}

    def copied(self) -> WordStart:
        """A copy of the model's words, or fresh n-grams for a model that does not spell."""
        if not spells(self._embedder):
            return self.fresh()
        return copied_start(self._embedder, self._recipe, self._data.learn.texts, self._data.lang)

    def fresh(self) -> WordStart:
        """Fresh n-grams, with the letters of the sentences."""
        return self._fresh(self._data.learn.texts)

    def mapped(self) -> WordStart:
        """N-grams fitted to mapped word vectors."""
        return deepcopy(self._mapped)

    def mapped_or_glossed(self) -> WordStart:
        """As `mapped` if the user gave word vectors; otherwise fresh n-grams, with the letters of the glosses too."""
        return self.mapped() if self._resources.vectors is not None else self._fresh(self.glossed.texts)

    @cached_property
    def lexicon(self) -> BilingualLexicon:
        """Translations of single words."""
        return find_lexicon(self._data.learn, self._data.lang, self.pivot, self._dictionary)

    @cached_property
    def glossed(self) -> SentenceGroups:
        """The sentences to learn from, with glosses."""
        return with_glosses(self._data.learn, self._embedder, self.lexicon, self.pivot, seed=self._seed)

    @cached_property
    def _mapped(self) -> WordStart:
        data = self._data
        dictionary = self.lexicon.translations
        target = self._points([word for translations in dictionary.values() for word in translations])
        source = source_vectors(
            data.learn.texts,
            data.lang,
            dim=target.table.values.shape[1],
            vectors=self._resources.vectors,
            seed=self._seed,
        )
        return mapped_start(self._embedder, data.lang, source, target, dictionary)

    def _fresh(self, texts: Sequence[str]) -> WordStart:
        values = self._points([]).table.values
        return fresh_start(texts, self._data.lang, dim=values.shape[1], scale=QUIET * float(values.std()))

    def _points(self, more: Sequence[str]) -> WordPoints:
        """The vectors of words of the known language: frequent words of its sentences, and `more`."""
        sentences = (text for known in self._data.learn.known for lang, text in known if lang == self.pivot)
        counts = Counter(word for text in sentences for word in split(text, self.pivot))
        frequent = [word for word, _ in counts.most_common(FREQUENT)]
        words = list(dict.fromkeys((*frequent, *more)))
        if not words:
            raise UserError(
                f"there are no words of {self.pivot} to compare with; name another language in `pivot`"
            )
        return word_points(self._embedder, words, self.pivot)


def most_translated(data: LanguageData, languages: Sequence[str]) -> str:
    """The language of the model with most sentences in the groups of the new language; in case of a tie, the first."""
    counts = Counter(
        lang for group in data.learn.groups for lang in {lang for lang, _ in data.learn.known[group]}
    )
    return max(languages, key=lambda lang: counts[lang])

"""Queries -> vectors, by the two sides of a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from lingvis.arrays import Floats
from lingvis.collection.binding import ImageEmbedder
from lingvis.collection.model import CollectionModel
from lingvis.collection.query.query import Query, QueryImage
from lingvis.collection.query.translate import in_all_languages
from lingvis.collection.query.vectors import QueryVectors
from lingvis.errors import UserError
from lingvis.features.pictures import DecodedPicture

REMEMBERED = 1024  # sentences whose vectors are kept: a page repeats sentences while a user types


class QueryEncoder:
    """Encodes queries for several threads; each side of the model serves one thread at a time."""

    def __init__(self, model: CollectionModel) -> None:
        self._model = model
        self._encode_cached = lru_cache(maxsize=REMEMBERED)(self._encode_one)

    def __call__(self, query: Query, *, like: Floats | None = None) -> QueryVectors:
        """Return the vectors of a query; like: the stored embedding of its picture `like`."""
        query.check()
        sentences = [self._encode_sentence(text, query) for text in query.texts]
        picture = self._encode_picture(query.image) if query.image is not None else like
        # A single word says little about its language: terms to leave out have the language of the sentences.
        lang = query.lang or next(iter(self.languages(query)), None)
        without = [self._encode_sentence(term, replace(query, lang=lang)) for term in query.without]
        return QueryVectors(sentences, picture, query.weight, without)

    def languages(self, query: Query) -> list[str]:
        """Return the language of each sentence, as given or detected."""
        return [query.lang or self._model.language_of(text, query.prefer) for text in query.texts]

    def _encode_sentence(self, text: str, query: Query) -> dict[str, Floats]:
        """Return the vectors of a sentence and of its translations (with a translator), by language."""
        model = self._model
        lang = (
            model.language_of(text, query.prefer) if query.lang is None else model.known_language(query.lang)
        )
        if query.translator is None:
            return {lang: self._encode_cached(text, lang)}
        translations = in_all_languages(text, lang, self._model.embedder.languages, query.translator)
        vectors = self._encode(list(translations.values()), list(translations))
        return dict(zip(translations, vectors, strict=True))

    def _encode_one(self, text: str, lang: str) -> Floats:
        return self._encode([text], [lang])[0]  # type: ignore[no-any-return]

    def _encode(self, texts: Sequence[str], langs: Sequence[str]) -> Floats:
        with self._model.shared.text_lock:
            return self._model.embedder.encode_texts(texts, langs)

    def _encode_picture(self, image: QueryImage) -> Floats:
        with self._model.shared.image_lock:
            embedder = self._model.embedder
            if not isinstance(image, DecodedPicture):
                return embedder.encode_images([image])[0]  # type: ignore[no-any-return]
            image_embedder = ImageEmbedder(embedder)
            if image.preprocessing != image_embedder.preprocessing:
                raise UserError(
                    "`image` was decoded for another model; decode it with the preprocessing of this collection"
                )
            return image_embedder([image])[0]  # type: ignore[no-any-return]

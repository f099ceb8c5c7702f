"""Queries -> vectors, by the two sides of a model."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

from lingvis.arrays import Floats
from lingvis.collection.binding import ImageEmbedder
from lingvis.collection.model import CollectionModel
from lingvis.collection.query.query import Query, QueryImage
from lingvis.collection.query.translate import in_all_languages
from lingvis.collection.query.vectors import QueryVectors
from lingvis.errors import UserError
from lingvis.features.pictures import BrokenPicture, DecodedPicture, decode

REMEMBERED = 1024  # sentences whose vectors are kept: a page repeats sentences while a user types


class QueryEncoder:
    """Encodes queries for several threads; each side of the model serves one thread at a time."""

    def __init__(self, model: CollectionModel) -> None:
        self._model = model
        # Two locks, so that a search by words never waits for a picture.
        self._text_lock, self._image_lock = threading.Lock(), threading.Lock()
        self._encode_cached = lru_cache(maxsize=REMEMBERED)(self._encode_one)

    def __call__(self, query: Query) -> QueryVectors:
        """Return the vectors of a query."""
        query.check()
        sentences = [self._encode_sentence(text, query) for text in query.texts]
        picture = self._encode_picture(query.image) if query.image is not None else None
        return QueryVectors(sentences, picture, query.weight)

    def languages(self, query: Query) -> list[str]:
        """Return the language of each sentence, as given or detected."""
        return [query.lang or self._model.language_of(text) for text in query.texts]

    def _encode_sentence(self, text: str, query: Query) -> dict[str, Floats]:
        """Return the vectors of a sentence and of its translations (with a translator), by language."""
        lang = self._model.language_of(text) if query.lang is None else self._model.known_language(query.lang)
        if query.translator is None:
            return {lang: self._encode_cached(text, lang)}
        translations = in_all_languages(text, lang, self._model.embedder.languages, query.translator)
        vectors = self._encode(list(translations.values()), list(translations))
        return dict(zip(translations, vectors, strict=True))

    def _encode_one(self, text: str, lang: str) -> Floats:
        return self._encode([text], [lang])[0]  # type: ignore[no-any-return]

    def _encode(self, texts: Sequence[str], langs: Sequence[str]) -> Floats:
        with self._text_lock:
            return self._model.embedder.encode_texts(texts, langs)

    def _encode_picture(self, image: QueryImage) -> Floats:
        with self._image_lock:
            embedder = self._model.embedder
            if isinstance(image, str | Path):
                return embedder.encode_images([image])[0]  # type: ignore[no-any-return]
            image_embedder = ImageEmbedder(embedder)
            decoded = image if isinstance(image, DecodedPicture) else _decode(image, image_embedder)
            if decoded.preprocessing != image_embedder.preprocessing:
                raise UserError(
                    "`image` was decoded for another model; decode it with the preprocessing of this collection"
                )
            return image_embedder([decoded])[0]  # type: ignore[no-any-return]


def _decode(image: BinaryIO, image_embedder: ImageEmbedder) -> DecodedPicture:
    try:
        return decode(image, (), image_embedder.preprocessing, crops=False)
    except BrokenPicture as error:
        raise UserError(f"the picture cannot be used: {error}") from error

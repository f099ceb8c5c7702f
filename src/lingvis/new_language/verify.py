"""Verify that embeddings of existing languages and pictures did not change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from lingvis.arrays import Floats
from lingvis.data.dataset import Dataset
from lingvis.model.embedder import Embedder
from lingvis.model.stored import StoredImages
from lingvis.new_language.measure import RetrievalMeasure

PICTURES = 300  # of split val that are compared: a change of the weights would show in the first of them


@dataclass(frozen=True, slots=True)
class ScoreChange:
    """mR of a language before and after another language was added."""

    before: float
    after: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """old: mR of each existing language; the other fields: whether embeddings are bitwise equal."""

    old: Mapping[str, ScoreChange]
    pictures_same: bool
    old_sentences_same: bool


class ExistingEmbeddings:
    """Embeddings of validation pictures and of their first captions in every language of a model.

    They are computed before a language is added, and compared with the embeddings by the new model.
    """

    def __init__(self, embedder: Embedder, stored: StoredImages | None, dataset: Dataset) -> None:
        self.embedder = embedder
        rows = [row for row in dataset.rows if row.split == "val"][:PICTURES]
        self._images = [row.image for row in rows]
        self._image_emb: Floats | None = None
        self._measures: dict[str, RetrievalMeasure] = {}
        self._text_emb: dict[str, Floats] = {}
        if stored is None or not rows:
            return
        self._image_emb = image_emb = stored.encode(self._images)
        for lang in embedder.languages:
            places = [place for place, row in enumerate(rows) if row.captions.get(lang)]
            if places:
                texts = [rows[place].captions[lang][0] for place in places]
                measure = RetrievalMeasure(texts, lang, image_emb[places], range(len(places)))
                self._measures[lang] = measure
                self._text_emb[lang] = embedder.encode_texts(texts, lang)

    def compare(self, extended: Embedder, dataset: Dataset) -> Comparison:
        """Compare with the embeddings of a model that has one more language."""
        before = self.embedder.model.image_fingerprint()
        pictures_same = before == extended.model.image_fingerprint()
        if self._image_emb is not None:
            image_emb = StoredImages.open(extended, dataset).encode(self._images)
            pictures_same &= bool(np.array_equal(image_emb, self._image_emb))
        old = {}
        sentences_same = True
        for lang, measure in self._measures.items():
            emb = extended.encode_texts(measure.texts, lang)
            sentences_same &= bool(np.array_equal(emb, self._text_emb[lang]))
            old[lang] = ScoreChange(
                before=measure.score_embeddings(self.embedder, self._text_emb[lang]),
                after=measure.score_embeddings(extended, emb),
            )
        return Comparison(old, pictures_same, sentences_same)

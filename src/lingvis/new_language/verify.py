"""What a model makes of the languages and pictures it knew before, so that nobody has to believe that nothing changed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lingvis.data.dataset import Dataset
from lingvis.model.embedder import Embedder
from lingvis.model.stored import StoredImages
from lingvis.new_language.measure import Ruler

Floats = NDArray[np.float32]

PICTURES = 300  # of split val that are compared: bits that differ would differ in the first of them


class OldLanguages:
    """Embeddings of validation pictures and of their first captions in every known language, before anything is done."""

    def __init__(self, embedder: Embedder, stored: StoredImages | None, dataset: Dataset) -> None:
        self.embedder = embedder
        rows = [row for row in dataset.rows if row.split == "val"][:PICTURES]
        self._images = [row.image for row in rows]
        self._image_emb: Floats | None = None
        self._rulers: dict[str, Ruler] = {}
        self._text_emb: dict[str, Floats] = {}
        if stored is None or not rows:
            return
        self._image_emb = image_emb = stored.encode(self._images)
        for lang in embedder.languages:
            found = [
                (row.captions[lang][0], place) for place, row in enumerate(rows) if row.captions.get(lang)
            ]
            if found:
                places = [place for _, place in found]
                ruler = Ruler([text for text, _ in found], lang, image_emb[places], range(len(places)))
                self._rulers[lang] = ruler
                self._text_emb[lang] = embedder.encode_texts(ruler.texts, lang)

    def compare(self, made: Embedder, dataset: Dataset) -> dict[str, Any]:
        """mR of each language before and after, and whether every single number of the embeddings is the same."""
        fingerprints = self.embedder.model.image_fingerprint(), made.model.image_fingerprint()
        pictures_same = fingerprints[0] == fingerprints[1]
        if self._image_emb is not None:
            after = StoredImages.open(made, dataset).encode(self._images)
            pictures_same &= bool(np.array_equal(after, self._image_emb))
        old, same = {}, True
        for lang, ruler in self._rulers.items():
            emb = made.encode_texts(ruler.texts, lang)
            same &= bool(np.array_equal(emb, self._text_emb[lang]))
            old[lang] = {
                "before": ruler.of_embeddings(self.embedder, self._text_emb[lang]),
                "after": ruler.of_embeddings(made, emb),
            }
        return {"old": old, "pictures_same": pictures_same, "old_sentences_same": same}

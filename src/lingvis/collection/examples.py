"""Queries to begin with: captions of varied pictures, or names of things that are on them."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import numpy as np

from lingvis.arrays import Floats
from lingvis.collection.stores.records import PictureInfo
from lingvis.data.class_names import read_concepts

if TYPE_CHECKING:
    from lingvis.collection.collection import Collection

EXAMPLES = 6
PAGES, PAGE = 8, 24  # pictures to choose from: pages that are spread evenly over the dates
LONGEST = 60  # characters of a caption
DIFFERENT = 0.8  # largest cosine of two names


class ExampleQueries:
    """Chooses queries per language; they stay the same as long as a collection has its model and number of pictures."""

    def __init__(self) -> None:
        self._chosen: dict[str, list[tuple[str, str]]] = {}
        self._state: tuple[Collection, int] | None = None
        self._lock = threading.Lock()

    def __call__(self, collection: Collection, lang: str) -> list[tuple[str, str]]:
        """Return queries with their languages: in `lang` if the model has it, otherwise in its first language."""
        languages = collection.model.languages
        lang = lang if lang in languages else "en" if "en" in languages else languages[0]
        with self._lock:
            state = collection, len(collection)
            if state != self._state:
                self._state, self._chosen = state, {}
            if lang not in self._chosen:
                self._chosen[lang] = choose_examples(collection, lang)
            return self._chosen[lang]


def choose_examples(collection: Collection, lang: str) -> list[tuple[str, str]]:
    """Return up to six queries in one language that find varied pictures of a collection."""
    infos = _sample(collection)
    vectors = collection.store.vectors([info.id for info in infos])
    infos = [info for info in infos if info.id in vectors]
    if not infos:
        return []
    captioned = [
        info for info in infos if info.lang == lang and info.caption and len(info.caption) <= LONGEST
    ]
    if len(captioned) >= EXAMPLES:
        texts = {info.caption or "": vectors[info.id] for info in captioned}
        places = _varied(np.stack(list(texts.values())))
        return [(list(texts)[place], lang) for place in places]
    names = sorted({concept.names[lang][0] for concept in read_concepts() if concept.names.get(lang)})
    if not names:
        return []
    encoded = collection.model.encode_texts(names, [lang] * len(names))
    return [(names[place], lang) for place in _telling(np.stack([vectors[i.id] for i in infos]), encoded)]


def _sample(collection: Collection) -> list[PictureInfo]:
    count = len(collection)
    offsets = sorted({page * max(0, count - PAGE) // (PAGES - 1) for page in range(PAGES)})
    infos = [info for offset in offsets for info in collection.browse(k=PAGE, offset=offset)]
    return list({info.id: info for info in infos}.values())


def _varied(vectors: Floats) -> list[int]:
    """Return places of vectors, each far from those before it."""
    places, nearest = [0], vectors @ vectors[0]
    while len(places) < min(EXAMPLES, len(vectors)):
        places.append(int(nearest.argmin()))
        nearest = np.maximum(nearest, vectors @ vectors[places[-1]])
    return places


def _telling(pictures: Floats, names: Floats) -> list[int]:
    """Return places of names that fit one picture far better than the others, and each picture once."""
    scores = pictures @ names.T
    scores = (scores - scores.mean(axis=0)) / (scores.std(axis=0) + 1e-6) + scores / (scores.std() + 1e-6)
    places: list[int] = []
    used: set[int] = set()
    for name in np.argsort(-scores.max(axis=0)).tolist():
        picture = int(scores[:, name].argmax())
        if picture in used or any(names[name] @ names[other] > DIFFERENT for other in places):
            continue
        places.append(name)
        used.add(picture)
        if len(places) == EXAMPLES:
            break
    return places

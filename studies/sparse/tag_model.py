"""Retrieval without learning: what detectors call the things in a picture, matched to the words of a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from lingvis.arrays import Floats
from lingvis.data.dataset import Dataset
from lingvis.data.rows import Region
from lingvis.errors import UserError
from lingvis.pseudo.captions import LABEL_LANGUAGE
from lingvis.text.lexicon.wordnet import WordNet
from lingvis.text.segment import words

MOST_WORDS = 3  # of a tag in a sentence: "fire engine", "flat screen television"


class TagModel:
    """The baseline s_g of Huang et al. 2019, section 4.2, as a model that evaluation measures.

    The vector of a picture has the detectors' score of each tag, that of a sentence is one at the tags that it
    names (k-hot); a score is their inner product. A sentence names a tag by one to three consecutive words that are
    the tag, or with WordNet share a synset with it.
    """

    name = "s_g"
    languages: Sequence[str] = (LABEL_LANGUAGE,)
    parameters: Mapping[str, int] = {"image": 0, "text": 0, "total": 0}
    inner_product = True
    pooled = True

    def __init__(self, tags: Mapping[str, Mapping[str, float]], wordnet: WordNet | None = None) -> None:
        """tags: picture -> tag -> score; see `picture_tags`."""
        self._tags = tags
        names = sorted({tag for of_picture in tags.values() for tag in of_picture})
        self._place = {tag: number for number, tag in enumerate(names)}
        self._wordnet = wordnet
        self._known: dict[str, tuple[int, ...]] = {}

    @property
    def model(self) -> TagModel:
        """Pictures and sentences are encoded by the same object."""
        return self

    def encode(self, names: Sequence[str]) -> Floats:
        """Float32 [pictures, tags]."""
        emb = np.zeros((len(names), len(self._place)), dtype=np.float32)
        for row, name in zip(emb, names, strict=True):
            for tag, score in self._tags[name].items():
                row[self._place[tag]] = score
        return emb

    def encode_texts(self, texts: Sequence[str], langs: Sequence[str]) -> Floats:
        """Float32 [texts, tags], zeros and ones."""
        emb = np.zeros((len(texts), len(self._place)), dtype=np.float32)
        for row, text, lang in zip(emb, texts, langs, strict=True):
            for phrase in _phrases(words(text, lang)):
                row[list(self._named_by(phrase))] = 1
        return emb

    def scores(self, image_emb: Floats, text_emb: Floats) -> Floats:
        """Float32 [images, texts]."""
        return image_emb @ text_emb.T

    def _named_by(self, phrase: str) -> tuple[int, ...]:
        """The places of the tags that some words name."""
        if phrase not in self._known:
            meant = {phrase} if self._wordnet is None else {phrase, *self._wordnet.synonyms(phrase)}
            self._known[phrase] = tuple(self._place[name] for name in meant if name in self._place)
        return self._known[phrase]


def picture_tags(dataset: Dataset, detections: str | None = None) -> dict[str, dict[str, float]]:
    """Picture -> label or attribute -> its highest score; regions without a score, by people, count as 1.

    detections: as for `Dataset.with_regions`.
    """
    tags = {row.image: _tags(row.regions) for row in dataset.with_regions(detections).rows}
    if not any(tags.values()):
        raise UserError(
            f"{dataset.path} has no regions with labels; make them with: "
            f"lingvis features detect {dataset.path} --detector DETECTOR"
        )
    return tags


def _tags(regions: Sequence[Region]) -> dict[str, float]:
    tags: dict[str, float] = {}
    for region in regions:
        score = 1.0 if region.score is None else region.score
        for name in (region.label, region.attribute):
            if tag := " ".join(words(name or "", LABEL_LANGUAGE)):
                tags[tag] = max(score, tags.get(tag, 0.0))
    return tags


def _phrases(sentence: Sequence[str]) -> Iterator[str]:
    for length in range(1, MOST_WORDS + 1):
        for first in range(len(sentence) - length + 1):
            yield " ".join(sentence[first : first + length])

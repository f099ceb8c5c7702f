"""Targets: the points in the model's space that sentences of a new language are trained towards."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from lingvis.arrays import Floats, Ints
from lingvis.model.embedder import Embedder
from lingvis.new_language.language_data import SentenceGroups

# Upper bound of known sentences that are encoded, which bounds the time; each group has at least one.
MOST_KNOWN = 12_000


@dataclass(frozen=True, slots=True)
class Targets:
    """The target points of sentences in the model's space.

    values: [points, dim], prepared for the model's similarity. of: int64 [sentences], the point of each sentence, -1
    for none. near: whether a sentence is also pulled to its point, not only ranked above other points: true for
    points of other sentences, false for pictures, which are in a separate part of the space.
    """

    values: Tensor
    of: Ints
    near: bool


@dataclass(frozen=True, slots=True)
class TargetedSentences:
    """Sentences of the new language with their targets: pictures, and known sentences, each None if there are none."""

    part: SentenceGroups
    pictures: Targets | None
    sentences: Targets | None

    @classmethod
    def find(cls, embedder: Embedder, part: SentenceGroups, image_emb: Floats) -> TargetedSentences:
        """Find the targets of all sentences. image_emb: of the pictures of `part`, [images, dim]; may be empty."""
        return cls(part, _picture_targets(embedder, part, image_emb), _sentence_targets(embedder, part))

    def chosen(self, *, pictures: bool, sentences: bool) -> list[Targets]:
        """The existing targets of the requested kinds."""
        targets = (self.pictures if pictures else None, self.sentences if sentences else None)
        return [target for target in targets if target is not None]


def known_points(embedder: Embedder, part: SentenceGroups) -> tuple[Floats, Ints]:
    """Mean embedding of the known sentences of each group with a sentence in the new language.

    Unit vectors [points, dim], and the point of each sentence [sentences], -1 for none.
    """
    groups = [group for group in dict.fromkeys(part.groups) if part.known[group]]
    per_group = max(1, MOST_KNOWN // max(1, len(groups)))
    listed = [(place, *pair) for place, group in enumerate(groups) for pair in part.known[group][:per_group]]
    emb = embedder.encode_texts([text for _, _, text in listed], [lang for _, lang, _ in listed])
    points = np.zeros((len(groups), embedder.dim), np.float32)
    np.add.at(points, [place for place, _, _ in listed], emb)
    points /= np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 1e-12)
    place_of = {group: place for place, group in enumerate(groups)}
    return points, np.asarray([place_of.get(group, -1) for group in part.groups], np.int64)


def _sentence_targets(embedder: Embedder, part: SentenceGroups) -> Targets | None:
    """Embeddings of known sentences with the same meaning."""
    if not part.paired:
        return None
    points, of = known_points(embedder, part)
    return Targets(torch.from_numpy(points).to(embedder.device), of, near=True)


def _picture_targets(embedder: Embedder, part: SentenceGroups, image_emb: Floats) -> Targets | None:
    """All pictures as points; pictures without a sentence are negatives.

    Without image embeddings, glosses of pictures learn from known sentences only.
    """
    if not part.pictured or not len(image_emb):
        return None
    groups = np.asarray(part.groups, np.int64)
    of = np.where(groups < len(part.images), groups, -1)
    return Targets(torch.from_numpy(image_emb).to(embedder.device), of, near=False)

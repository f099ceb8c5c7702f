"""The points that sentences of a new language are drawn to and measured by: pictures, and what the model knows of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from lingvis.model.embedder import Embedder
from lingvis.new_language.material import Part
from lingvis.new_language.teaching import Targets

# Known sentences that are embedded in all, which bounds the time; each group has at least one.
MOST_KNOWN = 12_000

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


def known_points(embedder: Embedder, part: Part) -> tuple[Floats, Ints]:
    """Mean embedding of the known sentences of each group that has any and a sentence to learn from.

    Unit vectors [points, dim], and the point of each sentence, -1 for none.
    """
    wanted = [group for group in dict.fromkeys(part.groups) if part.known[group]]
    each = max(1, MOST_KNOWN // max(1, len(wanted)))
    listed = [(place, *pair) for place, group in enumerate(wanted) for pair in part.known[group][:each]]
    emb = embedder.encode_texts([text for _, _, text in listed], [lang for _, lang, _ in listed])
    points = np.zeros((len(wanted), embedder.dim), np.float32)
    np.add.at(points, [place for place, _, _ in listed], emb)
    points /= np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 1e-12)
    place_of = {group: place for place, group in enumerate(wanted)}
    return points, np.asarray([place_of.get(group, -1) for group in part.groups], np.int64)


def sentence_targets(embedder: Embedder, part: Part) -> Targets | None:
    """What the model makes of the known sentences, for sentences that shall mean the same."""
    if not part.paired:
        return None
    points, of = known_points(embedder, part)
    return Targets(torch.from_numpy(points).to(embedder.device), of, near=True)


def picture_targets(embedder: Embedder, part: Part, image_emb: Floats) -> Targets | None:
    """All pictures [images, dim], for sentences that describe some of them; the others are negatives.

    image_emb is empty where the language has no caption of a picture: glosses of such pictures learn from sentences alone.
    """
    if not part.pictured or not len(image_emb):
        return None
    groups = np.asarray(part.groups, np.int64)
    of = np.where(groups < len(part.images), groups, -1)
    return Targets(torch.from_numpy(image_emb).to(embedder.device), of, near=False)


@dataclass(frozen=True, slots=True)
class Lessons:
    """Sentences of the new language, and what they are drawn to, where there is any."""

    part: Part
    pictures: Targets | None
    sentences: Targets | None

    @classmethod
    def of(cls, embedder: Embedder, part: Part, image_emb: Floats) -> Lessons:
        """image_emb: of the part's pictures [images, dim]."""
        return cls(part, picture_targets(embedder, part, image_emb), sentence_targets(embedder, part))

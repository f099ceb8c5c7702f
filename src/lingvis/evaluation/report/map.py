"""A map of the space of a model: pictures and sentences as points of a plane, by t-SNE (A3VSE, Figure 3)."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np

from lingvis.errors import UserError
from lingvis.evaluation.scorers import Floats
from lingvis.files import atomic_file

PERPLEXITY = 30.0  # about how many neighbours a point looks at
JOINED = 60  # pairs with a line between them: more would hide the points
PICTURES, SENTENCES = "#1f5fbf", "#c8321f"


def draw_map(image_emb: Floats, text_emb: Floats, path: Path, *, title: str = "", seed: int = 0) -> float:
    """Draw pairs of a picture (blue) and its sentence (red), some of them joined by a line, as PNG.

    image_emb, text_emb: [pairs, dim]. Returns the mean distance between the two of a pair on the map as a share of
    that between a picture and a sentence that do not belong together: 0 where all pairs meet, 1 where nothing fits.
    """
    from matplotlib.figure import Figure

    places = to_plane(np.concatenate([image_emb, text_emb]), seed=seed)
    images, texts = places[: len(image_emb)], places[len(image_emb) :]
    figure = Figure(figsize=(8, 8), layout="constrained")
    axes = figure.subplots()
    for image, text in zip(images[:JOINED], texts[:JOINED], strict=True):
        axes.plot([image[0], text[0]], [image[1], text[1]], color="0.4", linewidth=0.7, zorder=1)
    for points, colour, label in ((texts, SENTENCES, "sentences"), (images, PICTURES, "pictures")):
        axes.scatter(
            points[:, 0], points[:, 1], s=12, c=colour, alpha=0.75, linewidths=0, label=label, zorder=2
        )
    axes.set(xticks=[], yticks=[], title=title)
    axes.legend(frameon=False, loc="upper right")
    with atomic_file(path) as temporary:
        figure.savefig(temporary, dpi=130)
    return _distance(images, texts) / _distance(images, np.roll(texts, 1, axis=0))


def to_plane(points: Floats, *, seed: int = 0) -> Floats:
    """Points [n, dim] -> [n, 2]: t-SNE by cosine distance, started from the first two principal components."""
    made = _sklearn("manifold").TSNE(
        n_components=2,
        perplexity=min(PERPLEXITY, (len(points) - 1) / 3),
        metric="cosine",
        init="pca",
        random_state=seed,
    )
    return np.asarray(made.fit_transform(points), dtype=np.float32)


def _distance(one: Floats, other: Floats) -> float:
    return float(np.linalg.norm(one - other, axis=1).mean())


def _sklearn(module: str) -> Any:
    try:
        return importlib.import_module(f"sklearn.{module}")
    except ImportError as error:
        raise UserError(f"a map needs {error.name}; install it with: pip install 'lingvis[maps]'") from error

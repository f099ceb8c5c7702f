"""A map of the space of a model: pictures and sentences as points of a plane, by t-SNE (A3VSE, Figure 3)."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np

from lingvis.arrays import Floats
from lingvis.errors import UserError
from lingvis.evaluation.evaluate import ScoredPools
from lingvis.evaluation.scorers import InnerProduct
from lingvis.files import atomic_file

PAIRS = 500  # pictures on the map, each with one sentence
PERPLEXITY = 30.0  # about the number of neighbours that t-SNE looks at
SEED = 0  # the same pool gives the same map
JOINED = 60  # pairs with a line between them: more would hide the points
PICTURES, SENTENCES = "#1f5fbf", "#c8321f"


def draw_pool(scored: ScoredPools, path: Path, *, pairs: int = PAIRS) -> float:
    """Draw the map of the first language: random pictures, each with one of its sentences; see `draw_map`."""
    pool, scorer = scored.pools[0], scored.scorers[0]
    name = " + ".join(source.model.name for source in scored.models)
    if not isinstance(scorer, InnerProduct):
        raise UserError(
            f"{name} has no map: scores are not inner products of one vector per picture and one per sentence; "
            "draw the map of one model with similarity.name = cosine, without translated queries"
        )
    if len(pool.images) < 2:
        raise UserError(f"a map needs 2 or more pictures, got {len(pool.images)} in {pool.lang}")
    generator = np.random.default_rng(SEED)
    order = generator.permutation(len(pool.texts))
    _, first = np.unique(pool.image_of[order], return_index=True)
    texts = generator.permutation(order[first])[:pairs]
    return draw_map(
        scorer.image_emb[pool.image_of[texts]],
        scorer.text_emb[texts],
        path,
        title=f"{name}: {len(texts)} pictures and sentences ({pool.lang}) of split {scored.split}",
    )


def draw_map(image_emb: Floats, text_emb: Floats, path: Path, *, title: str = "") -> float:
    """Draw pairs of a picture (blue) and its sentence (red), some of them joined by a line, as PNG.

    image_emb, text_emb: [pairs, dim]. Returns the mean distance on the map between a picture and its sentence,
    divided by the mean distance between a picture and the sentence of another: 0 if all pairs coincide, 1 if
    there is no relation. The ratio is printed below the map.
    """
    from matplotlib.figure import Figure

    places = to_plane(np.concatenate([image_emb, text_emb]))
    images, texts = places[: len(image_emb)], places[len(image_emb) :]
    ratio = _distance(images, texts) / _distance(images, np.roll(texts, 1, axis=0))
    figure = Figure(figsize=(8, 8), layout="constrained")
    axes = figure.subplots()
    for image, text in zip(images[:JOINED], texts[:JOINED], strict=True):
        axes.plot([image[0], text[0]], [image[1], text[1]], color="0.4", linewidth=0.7, zorder=1)
    for points, colour, label in ((texts, SENTENCES, "sentences"), (images, PICTURES, "pictures")):
        axes.scatter(
            points[:, 0], points[:, 1], s=12, c=colour, alpha=0.75, linewidths=0, label=label, zorder=2
        )
    below = f"a picture and its sentence are {ratio:.2f} times as far apart as a picture and another sentence"
    axes.set(xticks=[], yticks=[], title=title, xlabel=below)
    axes.legend(frameon=False, loc="upper right")
    with atomic_file(path) as temporary:
        figure.savefig(temporary, dpi=130)
    return ratio


def to_plane(points: Floats) -> Floats:
    """Points [n, dim] -> [n, 2]: t-SNE by cosine distance, started from the first two principal components."""
    tsne = _sklearn("manifold").TSNE(
        n_components=2,
        perplexity=min(PERPLEXITY, (len(points) - 1) / 3),
        metric="cosine",
        init="pca",
        random_state=SEED,
    )
    return np.asarray(tsne.fit_transform(points), dtype=np.float32)


def _distance(one: Floats, other: Floats) -> float:
    return float(np.linalg.norm(one - other, axis=1).mean())


def _sklearn(module: str) -> Any:
    try:
        return importlib.import_module(f"sklearn.{module}")
    except ImportError as error:
        raise UserError(f"a map needs {error.name}; install it with: pip install 'lingvis[maps]'") from error

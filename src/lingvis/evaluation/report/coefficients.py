"""The learned weights of pooling gpo by rank, for sets of several sizes (VSE-infinity, section 3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from lingvis.errors import UserError
from lingvis.evaluation.pools import EvaluationPool
from lingvis.files import atomic_file
from lingvis.image.table import FeatureTable
from lingvis.model.embedder import Embedder
from lingvis.model.stored import StoredImages
from lingvis.pooling import GPO, Pooler

# Side of a model -> curves; a curve of n weights, from the largest value to the smallest, is that of sets of n vectors.
Coefficients = dict[str, list[list[float]]]
PICTURES, SENTENCES = "pictures", "sentences"
SHARES = (0.25, 0.5, 0.75, 1.0)  # of the largest set
COLOURS = ("#E69F00", "#009E73", "#D55E00", "#0072B2")  # Okabe and Ito 2008


def learned_coefficients(images: StoredImages, pools: Sequence[EvaluationPool]) -> Coefficients:
    """The weights of both sides for a quarter, half, three quarters and all of the largest set of the pools.

    Sides with another pooling, or with weights that depend on features, are left out.
    """
    model = images.model.model
    found = {}
    if _has_curve(model.image.pooling):
        found[PICTURES] = _curves(model.image.pooling, _largest_picture(images, pools))
    if _has_curve(model.text.pooling):
        found[SENTENCES] = _curves(model.text.pooling, _longest_sentence(images.model, pools))
    return found


def draw_pooling(models: Sequence[StoredImages], pools: Sequence[EvaluationPool], path: Path) -> None:
    """Draw the weights of one model, as PNG; raises if it has none."""
    if len(models) > 1:
        raise UserError("coefficients are those of one model; draw them without the others")
    name = models[0].model.name
    curves = learned_coefficients(models[0], pools)
    if not curves:
        raise UserError(
            f"{name} has no coefficients by rank: no side has pooling gpo, or they are conditioned on features; "
            "train with image.pooling.name=gpo or text.pooling.name=gpo"
        )
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5 * len(curves), 4), layout="constrained")
    for axes, side in zip(figure.subplots(1, len(curves), squeeze=False)[0], curves, strict=True):
        plot_side(axes, [curves[side]], title=f"{name}, {side}")
    with atomic_file(path) as temporary:
        figure.savefig(temporary, dpi=130)


def plot_side(axes: Any, models: Sequence[Sequence[Sequence[float]]], *, title: str) -> None:
    """Draw the curves of one side of some models, which differ by their seed; dotted: the weight of a mean."""
    for curves in models:
        for curve, colour in zip(curves, COLOURS, strict=False):
            ranks = range(1, len(curve) + 1)
            label = f"{len(curve)} vectors" if curves is models[0] else None
            axes.plot(ranks, curve, color=colour, linewidth=1.3, label=label)
    for curve, colour in zip(models[0], COLOURS, strict=False):
        axes.plot([1, len(curve)], [1 / len(curve)] * 2, ":", color=colour, linewidth=1)
    axes.set(title=title, xlabel="rank of the value, largest first", ylabel="weight")
    axes.set_ylim(bottom=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)


def _has_curve(pooling: Pooler) -> bool:
    return isinstance(pooling, GPO) and not pooling.feature_conditioned


def _curves(pooling: Pooler, largest: int) -> list[list[float]]:
    assert isinstance(pooling, GPO)
    sizes = sorted({max(1, round(share * largest)) for share in SHARES})
    return [[round(weight, 5) for weight in pooling.curve(size).tolist()] for size in sizes]


@torch.inference_mode()
def _largest_picture(images: StoredImages, pools: Sequence[EvaluationPool]) -> int:
    """The largest number of vectors of a picture, after the backbone if it belongs to the model."""
    store, model = images.store, images.model
    rows = store.index(sorted({name for pool in pools for name in pool.images}))
    largest = rows[[np.diff(store.offsets)[rows].argmax()]]
    table = FeatureTable(values=store.values, offsets=store.offsets, rows=largest, device=model.device)
    return int(model.model.image.vectors(table.batch(np.array([0]))).lengths)


def _longest_sentence(model: Embedder, pools: Sequence[EvaluationPool]) -> int:
    """The largest number of tokens of a sentence."""
    return max(
        len(ids) for pool in pools for ids in model.tokenizer(pool.texts, [pool.lang] * len(pool.texts))
    )

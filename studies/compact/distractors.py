"""Pictures that are no answer: random parts of training pictures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from lingvis.arrays import Ints
from lingvis.errors import UserError
from lingvis.image.pixels import RandomCrops
from lingvis.image.table import FeatureTable
from lingvis.model.embedder import BATCH
from lingvis.model.stored import StoredImages
from lingvis.progress import ProgressBar
from lingvis.training.pixels import AugmentedPixels

AREA = 0.1  # the smallest part of a picture
SENTENCES_BLOCK, DISTRACTORS_BLOCK = 4096, 16384


def encode_distractors(stored: StoredImages, names: Sequence[str], count: int, seed: int) -> Tensor:
    """Embeddings of `count` random parts of the named pictures, float32 [count, dim], on the device of the model.

    Every picture is used once before any is used again.
    """
    model = stored.model
    if model.features.kind != "pixels":
        raise UserError(
            f"distractors are parts of pictures, but model {model.name} takes stored vectors of kind "
            f"{model.features.kind}; measure a model with image.backbone.name = trained, or set distractors to 0"
        )
    table = FeatureTable(
        values=stored.store.values,
        offsets=stored.store.offsets,
        rows=stored.store.index(names),
        device=model.device,
    )
    pixels = AugmentedPixels(table, RandomCrops(area=AREA), np.ones(len(names), bool))
    order = _order(len(names), count, seed)
    emb = torch.empty(count, model.dim, device=model.device)
    cuda = [model.device] if model.device.type == "cuda" else []
    with (
        torch.random.fork_rng(devices=cuda),
        torch.inference_mode(),
        ProgressBar("distractors", count) as bar,
    ):
        torch.manual_seed(seed)
        for first in range(0, count, BATCH):
            rows = order[first : first + BATCH]
            emb[first : first + len(rows)] = model.model.encode_images(pixels.batch(rows))
            bar.advance(len(rows))
    return emb


def _order(pictures: int, count: int, seed: int) -> Ints:
    """Numbers of pictures, int64 [count], one random order after another."""
    random = np.random.default_rng(seed)
    passes = [random.permutation(pictures) for _ in range(-(-count // pictures))]
    return np.concatenate(passes)[:count] if passes else np.zeros(0, np.int64)


def count_before(text_emb: Tensor, limits: Tensor, distractors: Tensor) -> Tensor:
    """How many distractors [N, D] score at least `limits` [T] for each sentence [T, D]: int64 [T], an exact scan."""
    counts = torch.zeros(len(text_emb), dtype=torch.int64, device=text_emb.device)
    for first in range(0, len(text_emb), SENTENCES_BLOCK):
        rows = slice(first, first + SENTENCES_BLOCK)
        for block in torch.split(distractors, DISTRACTORS_BLOCK):
            counts[rows] += (text_emb[rows] @ block.T >= limits[rows, None]).sum(dim=1)
    return counts

"""The map of a trained model: test pictures and sentences of a dataset in a plane."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from lingvis.data.dataset import Dataset
from lingvis.errors import UserError
from lingvis.evaluation.evaluate import embed
from lingvis.evaluation.report.map import draw_map
from lingvis.evaluation.scorers import InnerProduct
from lingvis.features.store import without_broken
from lingvis.model.embedder import Embedder
from lingvis.model.stored import StoredImages


def draw_run(
    run: Path,
    dataset_path: Path,
    out: Path,
    *,
    split: str = "test",
    lang: str = "en",
    pictures: int = 500,
    seed: int = 0,
    device: str | None = None,
) -> float:
    """Draw the map of a model with so many pictures, each with one sentence, drawn by `seed`; see `draw_map`."""
    if pictures < 2:
        raise UserError(f"--pictures is {pictures}; a map needs 2 or more")
    whole = Dataset.open(dataset_path)
    model = Embedder.load(run, device=device)
    source = StoredImages.open(model, whole)
    dataset = without_broken(whole, [source.store])
    embedded = embed([source], dataset, split=split, languages=[lang])
    (pool,), (scorer,) = embedded.pools, embedded.scorers
    if not isinstance(scorer, InnerProduct):
        raise UserError(
            f"model {model.name} has no single vector for a picture or compares vectors in another way than by their "
            "angle; draw the map of a model with similarity.name = cosine"
        )
    generator = np.random.default_rng(seed)
    order = generator.permutation(len(pool.texts))
    _, first = np.unique(pool.image_of[order], return_index=True)
    texts = generator.permutation(order[first])[:pictures]
    return draw_map(
        scorer.image_emb[pool.image_of[texts]],
        scorer.text_emb[texts],
        out,
        title=f"{model.name}: {len(texts)} pictures and sentences ({lang}) of split {split}",
        seed=seed,
    )

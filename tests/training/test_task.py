from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from lingvis.jobs.train import open_with_features, prepare
from lingvis.objectives.ranking import hinge_hardest
from lingvis.recipes.build import load_recipe
from lingvis.types import Clock

OPTIONS = [
    "data.features=toy-grid",
    "text.tokenizer.min_count=1",
    "image.encoder.dim=8",
    "text.encoder.dim=8",
]


def test_the_loss_of_a_batch_counts_each_picture_once(toy_dataset: Path) -> None:
    """Captions of one picture in one batch: both are its positives, and fill-up pictures are nobody's negatives."""
    recipe = load_recipe("vsepp", OPTIONS)
    dataset, store = open_with_features(toy_dataset, "toy-grid")
    embedder, task = prepare(recipe, dataset, store, "toy", torch.device("cpu"))
    task.eval()
    rows = np.array([0, 1, 4, 7, 9])
    captions = dataset.captions("train", ["en"])
    owners = captions.image_of[rows]
    images = sorted(set(owners.tolist()))
    assert len(images) < len(rows)
    texts = [captions.texts[row] for row in rows]
    with torch.no_grad():
        loss, blind = task.loss(rows, Clock(step=1000, epoch=5))
        image_emb = embedder.encode_features(
            [store[int(store.index([captions.images[i]])[0])] for i in images]
        )
        scores = torch.from_numpy(image_emb @ embedder.encode_texts(texts, "en").T)
    positives = torch.tensor([[image == owner for owner in owners] for image in images])
    assert float(loss) == pytest.approx(float(hinge_hardest(scores, positives, 0.2)), rel=1e-4)
    assert float(blind) == pytest.approx(2 * len(rows) * 0.2, rel=1e-5)

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from lingvis.errors import UserError
from lingvis.jobs.train import open_with_features, prepare
from lingvis.objectives.ranking import hinge_all, hinge_hardest
from lingvis.recipes.build import load_recipe
from lingvis.training.checkpoint import load_checkpoint
from lingvis.training.loop import Plan, fit
from lingvis.training.optimizer import make_optimizer
from lingvis.training.task import RetrievalTask
from lingvis.types import Clock

OPTIONS = [
    "data.features=toy-grid",
    "text.tokenizer.min_count=1",
    "image.encoder.dim=8",
    "text.encoder.dim=8",
]


@pytest.mark.parametrize(("schedule", "hinge"), [("hardest", hinge_hardest), ("all", hinge_all)])
def test_the_loss_of_a_batch_counts_each_picture_once(
    schedule: str, hinge: Callable[[Tensor, Tensor, float], Tensor], toy_dataset: Path
) -> None:
    """Captions of one picture in one batch: both are its positives, and fill-up pictures are nobody's negatives."""
    recipe = load_recipe("vsepp", [*OPTIONS, f"objective.schedule={schedule}"])
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
    assert float(loss) == pytest.approx(float(hinge(scores, positives, 0.2)), rel=1e-4)
    assert float(blind) == pytest.approx(float(hinge(torch.zeros_like(scores), positives, 0.2)), rel=1e-5)
    if schedule == "hardest":
        assert float(blind) == pytest.approx(2 * len(rows) * 0.2, rel=1e-5)


class Breaking(RetrievalTask):
    """Gives a gradient that is not a number at one step, as an overflow would."""

    BROKEN_STEP = 5

    def loss(self, rows: NDArray[np.int64], clock: Clock) -> tuple[Tensor, Tensor]:
        loss, blind = super().loss(rows, clock)
        return (loss * torch.nan if clock.step == self.BROKEN_STEP else loss), blind


def run(
    task: RetrievalTask,
    optimizer: torch.optim.Optimizer,
    folder: Path,
    *,
    lr: float,
    epochs: int,
    checkpoint_seconds: float,
) -> None:
    fit(
        task=task,
        optimizer=optimizer,
        schedule=lambda step, epoch: lr,
        plan=Plan(
            epochs=epochs, batch_size=16, bucket=1, clip=2.0, seed=0, checkpoint_seconds=checkpoint_seconds
        ),
        validate=lambda: {"languages": {"en": {"mR": 1.0, "rsum": 6.0}}},
        folder=folder,
        identity="me",
        resume=False,
    )


def test_a_loss_that_is_not_finite_stops_and_keeps_the_last_good_checkpoint(
    toy_dataset: Path, tmp_path: Path
) -> None:
    recipe = load_recipe("vsepp", OPTIONS)
    dataset, store = open_with_features(toy_dataset, "toy-grid")
    embedder, task = prepare(recipe, dataset, store, "toy", torch.device("cpu"))
    task.__class__ = Breaking
    optimizer = make_optimizer(embedder.model, name="adam", lr=1e-3, weight_decay=0.0, factors={})
    with pytest.raises(UserError, match="the loss became nan at step 6; a checkpoint from before it"):
        run(task, optimizer, tmp_path, lr=1e-3, epochs=9, checkpoint_seconds=0)
    state = load_checkpoint(tmp_path, "me", embedder.model, optimizer)
    assert state.step == Breaking.BROKEN_STEP
    assert all(torch.isfinite(tensor).all() for tensor in embedder.model.state_dict().values())


def test_a_model_that_cannot_learn_is_told_to_have_collapsed(toy_dataset: Path, tmp_path: Path) -> None:
    """Pictures that all look the same leave the loss at that of a blind model: 2 x batch x margin."""
    recipe = load_recipe("vsepp", OPTIONS)
    dataset, store = open_with_features(toy_dataset, "toy-grid")
    embedder, task = prepare(recipe, dataset, store, "toy", torch.device("cpu"))
    for part in (embedder.model.image.encoder, embedder.model.text.words):
        for parameter in part.parameters():
            torch.nn.init.zeros_(parameter)
    optimizer = make_optimizer(
        embedder.model, name="adam", lr=1e-9, weight_decay=0.0, factors={"image": 0.0, "text.words": 0.0}
    )
    with pytest.raises(UserError, match=r"collapsed: the loss has stuck at 6\.\d"):
        run(task, optimizer, tmp_path, lr=1e-9, epochs=200, checkpoint_seconds=1e9)

"""The first losses of shipped recipes stay as they were measured: losses.json is of version 0.1.0.

Those of lingvis_sparse and vse_infinity_region were measured again when fillers were left out of batch norms, those of
embn, par_embn, mule, la, hem and smalr when their terms got the weights of MULE's program: the third is after the
plateau, with full weights; those of a3vse when its form was chosen.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from lingvis.training.loop.optimizer import make_optimizer, make_schedule, set_rate
from lingvis.training.prepare import prepare
from lingvis.training.run import open_with_features
from lingvis.training.validate import load_recipe
from lingvis.types import Clock

RECORDED: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("losses.json").read_text())


@pytest.mark.parametrize("name", RECORDED)
def test_the_first_losses_stay_as_they_were(name: str, rich_dataset: Path, tmp_path: Path) -> None:
    recorded = RECORDED[name]
    recipe = load_recipe(name, recorded["overrides"])
    run = prepare(recipe, *open_with_features(rich_dataset, "toy-grid"), tmp_path, torch.device("cpu"))
    optimizer = make_optimizer(run.task.trained, **recipe.optimizer.model_dump())
    schedule = make_schedule(
        **recipe.schedule.model_dump(),
        lr=recipe.optimizer.lr,
        total_epochs=recipe.training.epochs,
        steps_per_epoch=run.sampler.batch_count(),
    )
    losses = []
    for step, epoch in zip(recorded["steps"], recorded["epochs"], strict=True):
        run.task.train()
        set_rate(optimizer, schedule(step, epoch))
        torch.manual_seed(hash((recipe.training.seed, step)) & 0x7FFFFFFF)
        optimizer.zero_grad()
        rows = run.sampler.epoch(recipe.training.seed, epoch)[step - epoch * run.sampler.batch_count()]
        loss = run.task.loss(rows, Clock(step, epoch, 0 if epoch else None)).total
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(run.task.parameters(), recipe.training.clip)
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses == pytest.approx(recorded["losses"], rel=1e-4)

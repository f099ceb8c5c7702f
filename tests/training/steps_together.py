"""Some steps of training, alone or as one of several processes: `python -m tests.training.steps_together DATASET OUT`."""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor

from lingvis.errors import UserError
from lingvis.processes.exchange import tensor_of_first
from lingvis.processes.group import joined, process_number
from lingvis.training.loop.step import make_step
from lingvis.training.prepare import prepare
from lingvis.training.run import open_with_features, train
from lingvis.training.validate import load_recipe
from lingvis.types import Clock

from .small_runs import HIDDEN, OWN, REGION, WORDS

STEPS = 4
# Random numbers in every process: dropped vectors, changed words, dropout.
WHOLE = [*REGION, "text.encoder.dropout=0.3", "training.epochs=6", "training.checkpoint_seconds=0"]
# No random number depends on the process: no dropout, nothing augmented, no word hidden.
SMALL = [
    "data.features=toy-grid",
    "training.batch_size=10",
    "image.encoder.dim=24",
    "text.encoder.dim=24",
    "image.augment.name=none",
    "text.augment.name=none",
]
RECIPES = {
    # Batch norm of pictures, and clipped gradients.
    "vse_infinity_region": [*WORDS, *HIDDEN, "training.clip=0.5"],
    # Batch norm of the distinct words of a batch.
    "s_liwe": [*OWN["s_liwe"], "training.batch_size=9"],
    # A language adversary, layers per language, pre-trained words.
    "mule": [*OWN["mule"], "image.encoder.dropout=0", "terms.adversary.weight=1"],
    # Sentences that are encoded again.
    "smalr": [
        *OWN["smalr"],
        "image.encoder.dropout=0",
        "terms.masked.p=0",
        "terms.masked.weight=1",
        "terms.matching_masked.hidden=0",
    ],
    # Batch norms of sentences, and a classifier of pictures.
    "dpc": [*OWN["dpc"], "image.encoder.dropout=0"],
    # Pseudo captions and judges.
    "a3vse": [*OWN["a3vse"], "text.encoder.dropout=0"],
    # Sets of vectors that attend to one another.
    "scan_t2i": WORDS,
}


def take_steps(recipe: str, dataset: Path, out: Path, *more: str, steps: int = STEPS) -> dict[str, Tensor]:
    """The losses of the first steps of plain gradient descent, and the weights after them."""
    read = load_recipe(recipe, [*SMALL, *RECIPES[recipe], *more])
    run = prepare(read, *open_with_features(dataset, "toy-grid"), out, torch.device("cpu"))
    run.task.train()
    step = make_step(run.task, torch.optim.SGD(run.task.parameters(), lr=0.05), clip=read.training.clip)
    batches = [rows for epoch in range(steps) for rows in run.sampler.epoch(0, epoch)][:steps]
    losses = [step(rows, Clock(number, 1, 0)).values[0] for number, rows in enumerate(batches)]
    return {"losses": torch.stack(losses), **run.task.state_dict()}


def main(dataset: Path, out: Path) -> None:
    """All recipes, then a whole training, then one that fails; what failed is written to a file per process."""
    with joined("cpu"):
        number = process_number()
        for recipe in RECIPES:
            found = take_steps(recipe, dataset, out / f"{recipe}-{number}")
            copied = {name: each.clone() for name, each in found.items()}
            save_file(copied, out / f"{recipe}-{number}.safetensors")
        sent = tensor_of_first(torch.arange(3 + 2 * number))
        save_file({"sent": sent}, out / f"sent-{number}.safetensors")
        train("vse_infinity_region", dataset, out / "whole", overrides=WHOLE, device="cpu")
    try:
        train(
            "vse_infinity_region",
            dataset,
            out / "short",
            overrides=[*WHOLE, "similarity.dim=24"],
            device="cpu",
        )
    except UserError as error:
        (out / f"error-{number}").write_text(f"{type(error).__name__}: {error}", encoding="utf-8")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))

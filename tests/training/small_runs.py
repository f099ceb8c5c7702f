"""Recipes that are small enough to train in a test, and trainings that are killed."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from lingvis.training.loop import fit as loop
from lingvis.types import Clock

SMALL = [
    "data.features=toy-grid",
    "training.batch_size=16",
    "image.encoder.dim=24",
    "text.encoder.dim=24",
    "training.epochs=2",
]
WORDS = ["text.tokenizer.min_count=1", "text.words.dim=16"]
HIDDEN = ["image.encoder.hidden=12"]
REGION = [*SMALL, *WORDS, *HIDDEN]
LATENT = [
    "data.vectors=captions",
    "pretraining.tokens=9",
    "pretraining.among=3",
    "pretraining.epochs=2",
    "text.words.vector_dim=4",
]
# What a recipe needs beside SMALL to be as small.
OWN = {
    "a3vse": [
        *WORDS,
        "data.images=0.5",
        "image.pooling.hidden=6",
        "text.pooling.hidden=6",
        "terms.domains.hidden=6",
        "training.sampling.least_steps=2",
    ],
    "bert_gru": [],
    "clmr_gru": WORDS,
    "dan": [*WORDS, "image.pooling.hidden=6", "text.pooling.hidden=6"],
    "demo": WORDS,
    "dpc": [*WORDS, *HIDDEN, "text.encoder.hidden=6", "text.encoder.blocks=2"],
    "embn": [*WORDS, *HIDDEN, "text.head.dim=24", "text.words.vector_dim=6"],
    "hem": [*WORDS, *HIDDEN, *LATENT, "text.head.dim=24", "text.words.own=5"],
    "l_liwe": [*WORDS, "text.words.letter_dim=8", "text.words.layers=[12, 12]", "training.sampling.passes=2"],
    "la": [*WORDS, *HIDDEN, *LATENT, "text.head.dim=24"],
    "lingvis_frozen": [*WORDS, *HIDDEN, "text.words.buckets=500"],
    "lingvis_sparse": [
        *WORDS,
        *HIDDEN,
        "text.words.buckets=500",
        "data.images=0.5",
        "training.sampling.passes=2",
    ],
    "mule": [*WORDS, *HIDDEN, "text.head.dim=24", "text.words.vector_dim=6", "pretraining.epochs=2"],
    "par_embn": [*WORDS, *HIDDEN, "text.head.dim=24", "text.words.vector_dim=6"],
    "s_liwe": [*WORDS, "text.words.letter_dim=4", "text.words.layers=[12, 12]", "training.sampling.passes=2"],
    "scan_i2t": WORDS,
    "scan_t2i": WORDS,
    "smalr": [*WORDS, *HIDDEN, *LATENT, "text.head.dim=24", "text.words.own=5"],
    "start": [*WORDS, "text.words.buckets=500"],
    "translator_fs": ["text.words.vector_dim=6", 'data.languages=["en"]'],
    "uvs": WORDS,
    "vse_infinity_bert": HIDDEN,
    "vse_infinity_grid": WORDS,
    "vse_infinity_region": [*WORDS, *HIDDEN],
    "vse_infinity_video": WORDS,
    "vsepp": WORDS,
}


def overrides(recipe: str, tiny_bert: Path) -> list[str]:
    bert = [f"text.{part}.model={tiny_bert}" for part in ("tokenizer", "words")] if "bert" in recipe else []
    return [*SMALL, *OWN[recipe], *bert]


def weights(run: Path) -> dict[str, torch.Tensor]:
    return load_file(run / "model.safetensors")


class Killed(BaseException):
    """As sudden as a kill: nothing of ours catches it."""


def kill_at(step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process dies before that step; checkpoints are whatever was written until then."""
    go = loop.seed_step  # of steps that can be resumed: pre-training has none

    def die(seed: int, clock: Clock) -> None:
        if clock.step == step:
            raise Killed
        go(seed, clock)

    monkeypatch.setattr(loop, "seed_step", die)

"""Small untrained models of recipes on stored features, which name a frozen backbone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch

from lingvis.features.description import Features
from lingvis.features.preprocessing import Preprocessing
from lingvis.model.build import build_model, build_tokenizer
from lingvis.model.folder import ModelConfig
from lingvis.model.weights import write_model_folder
from lingvis.text.words.latent import Assignment
from lingvis.training.validate import load_recipe

SENTENCES = {"en": ["a red dog on the beach", "the house"], "de": ["ein roter Hund am Strand", "das Haus"]}
COUNT = 5  # of each sentence: no word is too rare for a recipe


def make_stored_model(
    run: Path, recipe_name: str, overrides: Sequence[str] = (), *, imported: bool = False
) -> Path:
    """A model folder with random weights; imported: features that no backbone makes."""
    recipe = load_recipe(recipe_name, overrides)
    tokenizer = build_tokenizer(recipe)
    texts = [(text, lang) for lang, listed in SENTENCES.items() for text in listed * COUNT]
    tokenizer.fit([text for text, _ in texts], [lang for _, lang in texts])
    backbone, _, kind = recipe.data.features.rpartition("-")
    features = Features(
        name=recipe.data.features,
        backbone=backbone,
        kind=kind,  # type: ignore[arg-type]
        regions="pooled" if kind == "region" else None,
        preprocessing=None if imported else Preprocessing(224, (0.5, 0.5, 0.5), (0.5, 0.5, 0.5)),
        dim=1280,
    )
    start = {}
    if recipe.text.words.name == "hybrid":
        token_of = torch.arange(tokenizer.vocabulary.size) % 3
        start["assignment"] = Assignment(token_of, torch.randn(3, recipe.text.words.options["dim"]))
    model = build_model(
        recipe,
        seed=0,
        feature_dim=features.dim,
        vocabulary=tokenizer.vocabulary,
        languages=len(SENTENCES),
        start=start,
    )
    run.mkdir(parents=True)
    config = ModelConfig(languages=list(SENTENCES), features=features, model=recipe.model)
    write_model_folder(run, config=config, model=model, tokenizer=tokenizer, card="")
    return run

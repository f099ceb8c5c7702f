"""An untrained model of recipe lingvis, whose folder holds a whole image network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from lingvis.features.description import Features
from lingvis.features.preprocessing import Preprocessing
from lingvis.model.build import build_model, build_tokenizer
from lingvis.model.folder import ModelConfig
from lingvis.model.weights import write_model_folder
from lingvis.training.validate import load_recipe

SIDE = 224  # pixels, as the backbone prepares them
SMALL = [
    "image.encoder.dim=64",
    "image.encoder.hidden=32",
    "text.encoder.dim=64",
    "similarity.dim=0",
    "text.words.dim=32",
    "text.words.buckets=500",
]
SENTENCES = {"en": ["a red dog on the beach", "the house"], "de": ["ein roter Hund am Strand", "das Haus"]}


def make_live_model(run: Path, sentences: Mapping[str, Sequence[str]] = SENTENCES) -> Path:
    """A model folder with random weights after the pre-trained backbone."""
    recipe = load_recipe("lingvis", SMALL)
    tokenizer = build_tokenizer(recipe)
    texts = [(text, lang) for lang, listed in sentences.items() for text in listed]
    tokenizer.fit([text for text, _ in texts], [lang for _, lang in texts])
    features = Features(
        name="efficientnet-lite0-pixels",
        backbone="efficientnet-lite0",
        kind="pixels",
        regions=None,
        preprocessing=Preprocessing(SIDE, (0.5, 0.5, 0.5), (0.5, 0.5, 0.5)),
        dim=3 * SIDE**2,
    )
    model = build_model(
        recipe,
        seed=0,
        feature_dim=features.dim,
        vocabulary=tokenizer.vocabulary,
        languages=len(sentences),
    )
    run.mkdir(parents=True)
    config = ModelConfig(
        name=run.name,
        languages=list(sentences),
        features=features,
        model=recipe.model,
        image_fingerprint=model.image_fingerprint(),
    )
    write_model_folder(run, config=config, model=model, tokenizer=tokenizer, card="# a card\n")
    return run

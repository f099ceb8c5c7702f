"""Small pictures, untrained models that embed them through a real backbone, servers of PostgreSQL and Milvus."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from lingvis.features.backbones import load_backbone
from lingvis.features.description import Features
from lingvis.features.encode import PictureEncoder
from lingvis.features.kinds import Kind
from lingvis.model.build import build_model, build_tokenizer
from lingvis.model.folder import ModelConfig
from lingvis.model.onnx.export import export
from lingvis.model.weights import write_model_folder
from lingvis.training.validate import load_recipe

from ..milvus import Server as MilvusServer
from ..milvus import running
from ..postgres import Server
from .rows import DIM

DATABASES = itertools.count()
WORDS = {"en": ["a red dog on the beach", "the house"], "de": ["ein roter Hund am Strand", "das Haus"]}


def make_pictures(folder: Path, count: int, *, first: int = 0, suffix: str = "png") -> list[Path]:
    """Smooth noise: cheap, and no two are alike."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for number in range(first, first + count):
        small = np.random.default_rng(number).integers(0, 256, (4, 6, 3), dtype=np.uint8)
        paths.append(folder / f"{number:03}.{suffix}")
        Image.fromarray(small).resize((48, 32)).save(paths[-1])
    return paths


def make_model(
    run: Path,
    *,
    image_seed: int = 0,
    text_seed: int = 0,
    recipe_name: str = "demo",
    kind: Kind = "grid",
    words: Mapping[str, Sequence[str]] = WORDS,
    per_language: bool = False,
) -> Path:
    """A model folder with random weights, drawn apart for each side; per_language: with a layer per language."""
    small = [f"image.encoder.dim={DIM}", f"text.encoder.dim={DIM}", "text.words.dim=8"]
    if per_language:
        small += ["text.head.name=linear_per_language", f"text.head.dim={DIM}"]
    recipe = load_recipe(recipe_name, [*small, "text.tokenizer.min_count=1"])
    tokenizer = build_tokenizer(recipe)
    texts = [(text, lang) for lang, listed in words.items() for text in listed]
    tokenizer.fit([text for text, _ in texts], [lang for _, lang in texts])
    backbone = load_backbone("efficientnet-lite0", device="cpu")
    features = Features(
        name="x",
        backbone=backbone.name,
        kind=kind,
        regions="pooled" if kind == "region" else None,
        preprocessing=PictureEncoder(backbone).preprocessing,
        dim=backbone.dim,
    )
    model = build_model(
        recipe,
        seed=recipe.training.seed,
        feature_dim=backbone.dim,
        vocabulary=tokenizer.vocabulary,
        languages=len(words),
    )
    for side, seed in ((model.image, image_seed), (model.text, text_seed)):
        generator = torch.Generator().manual_seed(seed)
        for parameter in side.parameters():
            torch.nn.init.normal_(parameter.data, std=0.3, generator=generator)
    run.mkdir(parents=True)
    config = ModelConfig(languages=list(words), features=features, model=recipe.model)
    write_model_folder(run, config=config, model=model, tokenizer=tokenizer, card="")
    return run


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An exported one, as that which ships: processes start without torch."""
    run = make_model(tmp_path_factory.mktemp("models") / "first")
    export(run)
    return run


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    make_pictures(tmp_path / "photos", 5)
    return tmp_path / "photos"


@pytest.fixture
def collection(tmp_path: Path) -> str:
    return str(tmp_path / "photos.lv")


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    started = Server()
    try:
        started.start()
        yield started
    finally:
        started.stop()


@pytest.fixture
def database(server: Server) -> str:
    """The address of an empty database."""
    return server.make_database(f"d{next(DATABASES)}")


@pytest.fixture(scope="session")
def milvus() -> Iterator[MilvusServer]:
    with running() as started:
        yield started

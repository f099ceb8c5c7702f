"""Model folders: the typed configuration, and folders that earlier versions wrote."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lingvis.errors import UserError
from lingvis.model.embedder import Embedder
from lingvis.model.folder import CONFIG, ModelConfig, is_model_folder
from lingvis.recipes.schema import ModelRecipe

STORED = Path(__file__).parent / "format-1"  # written by the version that introduced format 1
NAMES = ("model", "with-added-language")


@pytest.fixture
def folder(tmp_path: Path) -> Callable[[str], Path]:
    """A copy of a stored model folder; the one with an added language has the weights of the other."""

    def copy(name: str) -> Path:
        shutil.copytree(STORED / "model", tmp_path / name)
        if name != "model":
            shutil.copytree(STORED / name, tmp_path / name, dirs_exist_ok=True)
        return tmp_path / name

    return copy


def check_embeddings(run: Path, name: str) -> None:
    expected = json.loads((STORED / f"{name}.json").read_text())
    model = Embedder.load(run, device="cpu")
    assert model.languages == expected["languages"]
    assert model.parameters == expected["parameters"]
    assert model.model.image_fingerprint() == expected["image_fingerprint"]
    texts, langs = zip(*((each["text"], each["lang"]) for each in expected["texts"]), strict=True)
    text_emb = model.encode_texts(texts, langs)
    image_emb = model.encode_features(list(np.load(STORED / "features.npy")))
    np.testing.assert_allclose(text_emb, expected["text_emb"], rtol=0, atol=1e-6)
    np.testing.assert_allclose(image_emb, expected["feature_emb"], rtol=0, atol=1e-6)
    np.testing.assert_allclose(model.scores(image_emb, text_emb), expected["scores"], rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_a_folder_of_format_1_encodes_as_it_did(name: str, folder: Callable[[str], Path]) -> None:
    check_embeddings(folder(name), name)


def rename_bucket(recipe: dict[str, Any]) -> None:
    recipe["training"].pop("sampling")
    recipe["training"]["bucket"] = 16


def forget_training(recipe: dict[str, Any]) -> None:
    for section in ("data", "start", "objective", "pseudo", "terms", "optimizer", "schedule", "training"):
        recipe.pop(section)


def invent_objective(recipe: dict[str, Any]) -> None:
    recipe["objective"] = {"name": "unheard of", "wings": 2}


@pytest.mark.parametrize("change", [rename_bucket, forget_training, invent_objective])
@pytest.mark.parametrize("name", NAMES)
def test_training_options_that_no_longer_exist_do_not_matter(
    name: str, change: Callable[[dict[str, Any]], None], folder: Callable[[str], Path]
) -> None:
    run = folder(name)
    config = json.loads((run / CONFIG).read_text())
    change(config["recipe"])
    (run / CONFIG).write_text(json.dumps(config))
    check_embeddings(run, name)


@pytest.mark.parametrize("name", NAMES)
def test_a_folder_of_format_1_is_the_same_when_written_again(
    name: str, folder: Callable[[str], Path]
) -> None:
    run = folder(name)
    config = ModelConfig.read(run)
    stored = json.loads((STORED / name / CONFIG).read_text())
    assert config.recipe == stored["recipe"]
    assert config.model == ModelRecipe.model_validate(
        {key: stored["recipe"][key] for key in ("image", "text", "similarity")}
    )
    assert config.training.model_dump() == stored["training"]
    assert config.dataset.model_dump() == stored["dataset"]
    assert config.added == stored.get("added", [])
    config.write(run)
    assert json.loads((run / CONFIG).read_text())["format"] == 2
    assert ModelConfig.read(run) == config
    check_embeddings(run, name)


@pytest.mark.parametrize("newer", [3, "2", None])
def test_an_unknown_format_is_reported_in_a_sentence(newer: object, folder: Callable[[str], Path]) -> None:
    run = folder("model")
    config = json.loads((run / CONFIG).read_text())
    (run / CONFIG).write_text(json.dumps({**config, "format": newer, "wings": []}))
    with pytest.raises(UserError) as caught:
        Embedder.load(run, device="cpu")
    assert str(caught.value) == (
        f"{run} has model format {newer!r}, but this version of lingvis reads formats 1 to 2; upgrade lingvis"
    )


def test_a_part_that_does_not_exist_is_damage(folder: Callable[[str], Path]) -> None:
    run = folder("model")
    config = json.loads((run / CONFIG).read_text())
    config["recipe"]["similarity"]["name"] = "unheard of"
    (run / CONFIG).write_text(json.dumps(config))
    with pytest.raises(UserError, match=r"is damaged \(similarity: unknown similarity 'unheard of'"):
        Embedder.load(run, device="cpu")


def test_a_folder_without_a_model_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no model folder at .*; train one with: lingvis train"):
        ModelConfig.read(tmp_path / "none")
    with pytest.raises(UserError, match=r"holds no finished model \(config\.json is missing\); train one"):
        ModelConfig.read(tmp_path)
    (tmp_path / "checkpoint.safetensors").touch()
    with pytest.raises(UserError, match=r"finish it with: .* --resume"):
        ModelConfig.read(tmp_path)
    assert not is_model_folder(tmp_path)

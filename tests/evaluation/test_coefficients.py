"""The learned weights of pooling gpo: those of the model, for the sizes of the data, and models that have none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from lingvis.data.dataset import Dataset
from lingvis.errors import UserError
from lingvis.evaluation.pools import pools
from lingvis.evaluation.protocols import find_protocol
from lingvis.evaluation.report.coefficients import draw_pooling, learned_coefficients
from lingvis.evaluation.run import evaluate
from lingvis.model.embedder import Embedder
from lingvis.model.stored import StoredImages
from lingvis.pooling import GPO
from lingvis.training.prepare import prepare
from lingvis.training.run import open_with_features
from lingvis.training.validate import load_recipe

SMALL = [
    "data.features=toy-grid",
    "text.tokenizer.min_count=1",
    "text.words.dim=8",
    "image.encoder.dim=8",
    "text.encoder.dim=8",
]


def model(toy_dataset: Path, tmp_path: Path, *changes: str) -> StoredImages:
    """A model with random weights."""
    recipe = load_recipe("vse_infinity_grid", [*SMALL, *changes])
    dataset, store = open_with_features(toy_dataset, "toy-grid")
    torch.manual_seed(0)
    made = prepare(recipe, dataset, store, tmp_path / "mine", torch.device("cpu")).embedder
    made.model.eval()
    return StoredImages(made, store)


def english(toy_dataset: Path) -> list[int]:
    """Words of each English sentence of split test, with the start and the end."""
    captions = Dataset.open(toy_dataset).captions("test", ["en"])
    return [len(text.replace(".", "").split()) + 2 for text in captions.texts]


def test_sizes_are_those_of_the_data_and_weights_those_of_the_pooler(
    toy_dataset: Path, tmp_path: Path
) -> None:
    images = model(toy_dataset, tmp_path, "text.pooling.start=random")
    measured = pools(Dataset.open(toy_dataset), find_protocol("all"), "test", ["en"])
    curves = learned_coefficients(images, measured)
    largest = int(np.diff(images.store.offsets).max())
    assert list(curves) == ["pictures", "sentences"]
    assert [len(curve) for curve in curves["pictures"]] == [round(largest * n / 4) for n in (1, 2, 3, 4)]
    assert max(map(len, curves["sentences"])) == max(english(toy_dataset))
    pooling = images.model.model.text.pooling
    assert isinstance(pooling, GPO)
    for curve in curves["sentences"]:
        size = len(curve)
        expected = pooling.coefficients(torch.tensor([size]), size)[0, 0]
        np.testing.assert_allclose(curve, expected.detach(), atol=1e-5)


def test_sides_without_weights_by_rank_are_left_out(toy_dataset: Path, tmp_path: Path) -> None:
    measured = pools(Dataset.open(toy_dataset), find_protocol("all"), "test", ["en"])
    one = model(toy_dataset, tmp_path, "text.pooling.name=mean")
    assert list(learned_coefficients(one, measured)) == ["pictures"]
    none = model(toy_dataset, tmp_path, "text.pooling.name=mean", "image.pooling.feature_conditioned=true")
    assert learned_coefficients(none, measured) == {}
    with pytest.raises(
        UserError, match=r"mine has no coefficients by rank: .* train with image.pooling.name=gpo"
    ):
        draw_pooling([none], measured, tmp_path / "none.png")
    with pytest.raises(UserError, match="of one model"):
        draw_pooling([one, one], measured, tmp_path / "none.png")
    assert not (tmp_path / "none.png").exists()


def test_evaluate_draws_the_weights(toy_dataset: Path, tmp_path: Path) -> None:
    opened: Embedder = model(toy_dataset, tmp_path).model
    evaluate(opened, toy_dataset, coefficients=tmp_path / "gpo.png")
    with Image.open(tmp_path / "gpo.png") as picture:
        colours = np.unique(np.asarray(picture.convert("RGB")).reshape(-1, 3), axis=0)
        assert picture.width > 2 * picture.height
    assert [0, 0x72, 0xB2] in colours.tolist() and [0xE6, 0x9F, 0] in colours.tolist()

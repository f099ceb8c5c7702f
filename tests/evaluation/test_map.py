"""The map of a model: pairs that belong together lie close, and models without one are rejected."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from lingvis.data.dataset import Dataset
from lingvis.errors import UserError
from lingvis.evaluation.evaluate import score_pools
from lingvis.evaluation.report.map import draw_map, draw_pool


def test_pairs_that_meet_lie_close_on_the_map(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    generator = np.random.default_rng(0)
    images = generator.normal(size=(40, 16)).astype(np.float32)
    near = images + generator.normal(0, 0.1, images.shape).astype(np.float32)
    assert draw_map(images, near, tmp_path / "near.png") < 0.3
    assert draw_map(images, near[::-1], tmp_path / "far.png") > 0.7
    with Image.open(tmp_path / "near.png") as picture:
        colours = np.asarray(picture.convert("RGB")).reshape(-1, 3).astype(int)
    blue, red = (colours[:, 2] - colours[:, 0] > 60).sum(), (colours[:, 0] - colours[:, 2] > 60).sum()
    assert blue > 500 and red > 500


def test_each_picture_of_the_first_language_is_drawn_with_one_of_its_sentences(
    dataset: Dataset, hashed: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[tuple[Any, Any, str]] = []

    def draw(image_emb: Any, text_emb: Any, path: Path, *, title: str) -> float:
        drawn.append((image_emb, text_emb, title))
        return 0.5

    monkeypatch.setattr("lingvis.evaluation.report.map.draw_map", draw)
    model = hashed("mine", noise=0.0)  # a sentence has the embedding of its picture
    scored = score_pools([model], dataset, languages=["de", "en"])
    assert draw_pool(scored, tmp_path / "map.png", pairs=7) == 0.5
    assert draw_pool(scored, tmp_path / "map.png") == 0.5
    assert [len(images) for images, _, _ in drawn] == [7, 10]  # two of the twelve have no German caption
    for images, texts, title in drawn:
        np.testing.assert_allclose(images, texts, atol=1e-6)
        assert len(np.unique(images, axis=0)) == len(images)
        assert title == f"mine: {len(images)} pictures and sentences (de) of split test"


def test_only_one_model_with_inner_products_has_a_map(dataset: Dataset, hashed: Any, tmp_path: Path) -> None:
    for models in ([hashed("a", inner_product=False)], [hashed("a"), hashed("b")]):
        scored = score_pools(models, dataset, languages=["en"])
        with pytest.raises(
            UserError, match=r"has no map: .* draw the map of one model with similarity.name = cosine"
        ):
            draw_pool(scored, tmp_path / "map.png")
    assert not (tmp_path / "map.png").exists()

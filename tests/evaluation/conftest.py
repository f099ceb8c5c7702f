"""A tiny dataset and a model whose embeddings are known."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from lingvis.arrays import Floats
from lingvis.data.dataset import Dataset

IMAGES = 12
PARALLEL_FROM = 4


class HashedModel:
    """Embeds by a seeded draw for each name or (language, sentence), and writes down what it was asked for."""

    pooled = True

    def __init__(
        self,
        name: str = "hashed",
        *,
        seed: int = 0,
        dim: int = 8,
        inner_product: bool = True,
        noise: float = 1.5,
        languages: Sequence[str] = ("en", "de", "ar"),
    ) -> None:
        self.languages = languages
        self.name, self.seed, self.dim, self.inner_product, self.noise = name, seed, dim, inner_product, noise
        self.parameters: Mapping[str, int] = {"image": 100, "text": 20, "total": 120}
        self.asked_images: list[str] = []
        self.asked_texts: list[tuple[str, str]] = []

    @property
    def model(self) -> HashedModel:
        return self

    def encode(self, names: Sequence[str]) -> Floats:
        self.asked_images += names
        return np.stack([self._draw(name) for name in names])

    def encode_texts(self, texts: Sequence[str], langs: Sequence[str]) -> Floats:
        self.asked_texts += zip(langs, texts, strict=True)
        return np.stack([self._text(text, lang) for text, lang in zip(texts, langs, strict=True)])

    def scores(self, image_emb: Floats, text_emb: Floats) -> Floats:
        gap = np.maximum(0, text_emb[None] - image_emb[:, None])
        return np.asarray(-(gap**2).sum(axis=2), dtype=np.float32)

    def _text(self, text: str, lang: str) -> Floats:
        image = text.split()[-1] + ".png"
        return self._unit(self._draw(image) + np.float32(self.noise) * self._draw(lang + text))

    def _draw(self, key: str) -> Floats:
        rng = np.random.default_rng([self.seed, *key.encode()])
        return self._unit(rng.standard_normal(self.dim, dtype=np.float32))

    @staticmethod
    def _unit(vector: Floats) -> Floats:
        return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)


def row(number: int, split: str = "test") -> dict[str, Any]:
    """en: two captions per image; de: one or three, from image 2 on; ar: one; parallel: en and fr, from 4 on."""
    captions = {"en": [f"first of {number}", f"second of {number}"], "ar": [f"صورة {number}"]}
    if number >= 2:
        captions["de"] = [f"Bild {which} von {number}" for which in range(1 + 2 * (number % 2))]
    parallel = {"en": f"one of {number}", "fr": f"une de {number}"} if number >= PARALLEL_FROM else {}
    return {"image": f"{number}.png", "split": split, "captions": captions, "parallel": parallel}


@pytest.fixture
def hashed() -> type[HashedModel]:
    return HashedModel


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    """Twelve test images and one for training, as a folder with pictures."""
    folder = tmp_path / "tiny"
    (folder / "images").mkdir(parents=True)
    rows = [*(row(number) for number in range(IMAGES)), row(99, "train")]
    for each in rows:
        Image.new("RGB", (40, 30), (10, 90, 120)).save(folder / "images" / each["image"])
    lines = [json.dumps(each, ensure_ascii=False) + "\n" for each in rows]
    (folder / "captions.jsonl").write_text("".join(lines), encoding="utf-8")
    return Dataset.open(folder)

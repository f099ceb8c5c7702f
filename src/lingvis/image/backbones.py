"""The first part of the image side: stored vectors as they are, or stored pixels through a network that is trained."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from lingvis.bounds import Count, Share
from lingvis.errors import UserError
from lingvis.features.backbones import Backbone, TrainableBackbone, load_trainable
from lingvis.recipes.rules import RecipePart, chunk_problems
from lingvis.recipes.schema import Recipe
from lingvis.registry import Registry
from lingvis.types import Tokens

PIXELS = "-pixels"  # the end of the names of stored pixels


class ImageBackbone(RecipePart, nn.Module, ABC):
    """Turns the stored values of a picture into vectors of length `dim`."""

    dim: int

    @property
    def classifier(self) -> nn.Linear | None:
        """The classifier that the network was pre-trained with; it is not a part of the backbone."""
        return None

    @abstractmethod
    def forward(self, tokens: Tokens) -> Tokens:
        """[B, L, stored values] -> [B, cells, dim]."""


IMAGE_BACKBONES: Registry[type[ImageBackbone]] = Registry("image backbone")


@IMAGE_BACKBONES.register(
    "stored", "vectors that `lingvis features extract` has stored; the backbone is frozen"
)
class StoredVectors(ImageBackbone):
    """The stored vectors, unchanged."""

    def __init__(self, *, input_dim: Count) -> None:
        super().__init__()
        self.dim = input_dim

    @classmethod
    def problems(cls, recipe: Recipe) -> Iterator[str]:
        """Pixels need a network."""
        if recipe.data.features.endswith(PIXELS):
            yield (
                f"data.features is {recipe.data.features}, but image.backbone is stored, which takes vectors; set "
                "image.backbone.name = trained, or name features of another kind"
            )

    def forward(self, tokens: Tokens) -> Tokens:
        return tokens


@IMAGE_BACKBONES.register("trained", "stored pixels through a backbone that is trained with the model")
class TrainedBackbone(ImageBackbone):
    """Pixels -> the cells of a network, which is part of the model and of its folder.

    network: a name of `lingvis features extract --backbone`. norms: `frozen` keeps the statistics of batch norms as
    they were pre-trained, `running` follows those of the batches. drop_path: the share of residual branches that are
    skipped in training, in the last block; earlier blocks skip fewer. size: pixels per side that the network sees; 0 =
    as stored. compiled: compile the network for training on a GPU, which halves its time but takes half a minute to
    begin. chunk: pictures per part of a batch that is computed again for the gradient, which saves memory; 0 = off.
    """

    _backbone: TrainableBackbone
    _simplified: Backbone | None
    scale: Tensor
    shift: Tensor

    def __init__(
        self,
        *,
        input_dim: Count,
        network: str,
        norms: Literal["frozen", "running"] = "frozen",
        drop_path: Share = 0.0,
        size: Annotated[int, Field(ge=0)] = 0,
        compiled: bool = False,
        chunk: Annotated[int, Field(ge=0)] = 0,
        folder: Path | None = None,
    ) -> None:
        super().__init__()
        backbone = load_trainable(network, pretrained=folder is None, drop_path=drop_path)
        self._backbone, self._simplified = backbone, None
        self._compiled = compiled
        self.network = backbone.network
        self.dim = backbone.dim
        self._stored = round((input_dim / 3) ** 0.5)
        if 3 * self._stored**2 != input_dim:
            raise UserError(
                f"image.backbone trained takes stored pixels, but the features have {input_dim} values per vector; "
                "extract features of kind pixels and name them in data.features"
            )
        self._size, self._chunk, self._norms = size or self._stored, chunk, norms
        preprocessing = backbone.preprocessing
        if folder is None and self._size != preprocessing.size:
            _check_side(backbone, self._size)
        std = torch.tensor(preprocessing.std)
        self.register_buffer("scale", (1 / (255 * std)).view(3, 1, 1), persistent=False)
        self.register_buffer(
            "shift", (torch.tensor(preprocessing.mean) / std).view(3, 1, 1), persistent=False
        )

    @property
    def classifier(self) -> nn.Linear | None:
        """The classifier of the network."""
        return self._backbone.classifier

    @classmethod
    def problems(cls, recipe: Recipe) -> Iterator[str]:
        """Vectors need no network, and parts of a batch cannot share statistics."""
        if not recipe.data.features.endswith(PIXELS):
            yield (
                f"data.features is {recipe.data.features}, but image.backbone is trained, which takes pixels; name "
                "features of kind pixels, such as efficientnet-lite0-pixels"
            )
        options = recipe.image.backbone.options
        if options.get("chunk") and options.get("norms") == "running":
            yield (
                "image.backbone.chunk splits batches, but image.backbone.norms = running needs whole ones; set chunk = 0 "
                "or norms = frozen"
            )
        if options.get("norms") == "running":
            yield from chunk_problems(recipe, "image.backbone.norms = running needs")

    def train(self, mode: bool = True) -> TrainedBackbone:
        """Set the training mode; frozen batch norms always keep their statistics."""
        super().train(mode)
        self._simplified = None
        if self._norms == "frozen":
            for part in self.network.modules():
                if isinstance(part, nn.modules.batchnorm._BatchNorm):
                    part.eval()
        return self

    def simplified(self) -> TrainedBackbone:
        """A copy that computes the same faster, for inference only."""
        part = copy.deepcopy(self)
        part._backbone = part._backbone.simplified()  # type: ignore[assignment]
        part.network = part._backbone.network
        return part.eval()

    def forward(self, tokens: Tokens) -> Tokens:
        pixels = tokens.values.view(-1, self._stored, self._stored, 3).permute(0, 3, 1, 2)
        pixels = pixels.float() * self.scale - self.shift
        if self._size != self._stored:
            pixels = F.interpolate(pixels, (self._size, self._size), mode="bicubic", antialias=True)
        cells = self._cells(pixels).flatten(2).transpose(1, 2)
        return replace(tokens, values=cells, mask=tokens.mask.expand(-1, cells.shape[1]))

    @cached_property
    def _compiled_cells(self) -> Callable[[Tensor], Tensor]:
        return torch.compile(self._backbone.cells)

    def _cells(self, pixels: Tensor) -> Tensor:
        if not self.training and torch.is_inference_mode_enabled():
            if self._simplified is None:
                self._simplified = self._backbone.simplified()
            return self._simplified.cells(pixels)
        compiled = self._compiled and self.training and pixels.is_cuda
        cells = self._compiled_cells if compiled else self._backbone.cells
        if self.training and self._chunk:
            parts = torch.split(pixels, self._chunk)
            return torch.cat([checkpoint(cells, part, use_reentrant=False) for part in parts])
        return cells(pixels)


@torch.no_grad()
def _check_side(backbone: Backbone, side: int) -> None:
    """Raise if a network takes only pictures of the size that it was trained with, as many transformers do."""
    try:
        backbone.cells(torch.zeros(1, 3, side, side))
    except (AssertionError, RuntimeError, ValueError) as error:
        size = backbone.preprocessing.size
        raise UserError(
            f"image.backbone.network {backbone.name} does not take pictures of {side} x {side} pixels "
            f"({str(error).splitlines()[0]}); set image.backbone.size = {size}"
        ) from error

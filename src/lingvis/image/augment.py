"""Size augmentation of the image side: drop whole vectors of a set during training.

Chen et al. 2021, section 3 and supplementary 2.1(2). At least one vector per picture is always kept.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace

import torch
from torch import Tensor, nn

from lingvis.bounds import Share
from lingvis.recipes.rules import RecipePart
from lingvis.registry import Registry
from lingvis.types import Tokens


class ImageAugment(RecipePart, nn.Module, ABC):
    """Changes the sets of vectors of a batch in training, and nothing in evaluation mode."""

    @abstractmethod
    def forward(self, tokens: Tokens) -> Tokens:
        """The same vectors with a mask that hides some of them."""


IMAGE_AUGMENTS: Registry[type[ImageAugment]] = Registry("image augmentation")


@IMAGE_AUGMENTS.register("none", "leave the vectors unchanged")
class KeepVectors(ImageAugment):
    """No augmentation."""

    def forward(self, tokens: Tokens) -> Tokens:
        return tokens


@IMAGE_AUGMENTS.register("drop", "drop each vector with a fixed probability (VSE-infinity on regions)")
class DropVectors(ImageAugment):
    """Each vector is dropped with probability `p`."""

    def __init__(self, *, p: Share) -> None:
        super().__init__()
        self.p = p

    def forward(self, tokens: Tokens) -> Tokens:
        return _drop(tokens, self.p) if self.training else tokens


@IMAGE_AUGMENTS.register("drop_scaled", "drop with a probability drawn per picture (VSE-infinity on grids)")
class DropVectorsScaled(ImageAugment):
    """Draw u ~ U(0, 1) per picture; if u > `p`, drop each of its vectors with probability `p` * u."""

    def __init__(self, *, p: Share) -> None:
        super().__init__()
        self.p = p

    def forward(self, tokens: Tokens) -> Tokens:
        if not self.training:
            return tokens
        u = torch.rand(tokens.mask.shape[0], 1, device=tokens.mask.device)
        return _drop(tokens, torch.where(u > self.p, self.p * u, 0.0))


def _drop(tokens: Tokens, p: float | Tensor) -> Tokens:
    draws = torch.rand(tokens.mask.shape, device=tokens.mask.device).masked_fill(~tokens.mask, -1.0)
    # The vector with the largest draw always stays, so that no set becomes empty.
    kept = torch.zeros_like(tokens.mask).scatter(1, draws.argmax(dim=1, keepdim=True), True)
    return replace(tokens, mask=tokens.mask & ((draws >= p) | kept))

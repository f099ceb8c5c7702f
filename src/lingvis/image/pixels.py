"""Augmentation of pixels, on the device, a whole batch at once."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lingvis.bounds import Share
from lingvis.recipes.rules import RecipePart
from lingvis.recipes.schema import Recipe
from lingvis.registry import Registry

GREY = (0.299, 0.587, 0.114)  # ITU-R BT.601: the share of red, green and blue in the brightness of a pixel


class PixelAugment(RecipePart, nn.Module, ABC):
    """Changes pictures at random."""

    @abstractmethod
    def forward(self, pixels: Tensor, mirrored: Tensor) -> Tensor:
        """Pixels 0 to 255, [B, side, side, 3] -> the same shape; mirrored: bool [B], false where a flip is not allowed."""


PIXEL_AUGMENTS: Registry[type[PixelAugment]] = Registry("pixel augmentation")


@PIXEL_AUGMENTS.register("none", "leave the pixels unchanged")
class KeepPixels(PixelAugment):
    """No augmentation."""

    def forward(self, pixels: Tensor, mirrored: Tensor) -> Tensor:
        return pixels


@PIXEL_AUGMENTS.register("crops", "random parts of a picture, flips, colours and grey rectangles")
class RandomCrops(PixelAugment):
    """A random part of each picture, scaled to the full size.

    area: the smallest share of the picture; ratio: the largest change of width to height; flip: the probability of a
    mirror image, where captions mention neither left nor right; brightness, contrast, saturation: the largest change,
    0.4 means factors of 0.6 to 1.4; erase: the probability that a rectangle of 2 to 20 % of the area becomes grey.
    """

    def __init__(
        self,
        *,
        area: Share = 0.35,
        ratio: float = 1.33,
        flip: Share = 0.5,
        brightness: Share = 0.0,
        contrast: Share = 0.0,
        saturation: Share = 0.0,
        erase: Share = 0.0,
    ) -> None:
        super().__init__()
        self.area, self.ratio, self.flip, self.erase = area, ratio, flip, erase
        self.brightness, self.contrast, self.saturation = brightness, contrast, saturation

    @classmethod
    def problems(cls, recipe: Recipe) -> Iterator[str]:
        """Only pixels can be cropped."""
        if recipe.image.backbone.name == "stored":
            yield (
                "image.pixels crops pictures, but image.backbone stored takes vectors; set image.pixels.name = none, or "
                "image.backbone.name = trained"
            )

    def forward(self, pixels: Tensor, mirrored: Tensor) -> Tensor:
        with torch.autocast(pixels.device.type, enabled=False):
            changed = self._crop(pixels.permute(0, 3, 1, 2).float(), mirrored)
            changed = self._colour(changed)
            if self.erase:
                changed = self._erase(changed)
        return changed.permute(0, 2, 3, 1)

    def _crop(self, pixels: Tensor, mirrored: Tensor) -> Tensor:
        """Sample a random rectangle of each picture, [B, 3, side, side]."""
        count, device = len(pixels), pixels.device
        share = torch.empty(count, device=device).uniform_(self.area, 1.0)
        stretch = torch.exp(torch.empty(count, device=device).uniform_(-1, 1) * math.log(self.ratio))
        width = (share * stretch).sqrt().clamp(max=1.0)
        height = (share / stretch).sqrt().clamp(max=1.0)
        left = (torch.rand(count, device=device) * 2 - 1) * (1 - width)
        top = (torch.rand(count, device=device) * 2 - 1) * (1 - height)
        flipped = (torch.rand(count, device=device) < self.flip) & mirrored
        zero = torch.zeros_like(width)
        rows = torch.where(flipped, -width, width), zero, left, zero, height, top
        affine = torch.stack(rows, dim=1).view(count, 2, 3)
        grid = F.affine_grid(affine, list(pixels.shape), align_corners=False)
        return F.grid_sample(pixels, grid, padding_mode="reflection", align_corners=False)

    def _colour(self, pixels: Tensor) -> Tensor:
        """Change brightness, contrast and saturation by one factor each per picture."""
        if self.brightness:
            pixels = pixels * _factors(pixels, self.brightness)
        if self.contrast:
            mean = pixels.mean(dim=(1, 2, 3), keepdim=True)
            pixels = mean + (pixels - mean) * _factors(pixels, self.contrast)
        if self.saturation:
            red, green, blue = torch.split(pixels, 1, dim=1)
            grey = GREY[0] * red + GREY[1] * green + GREY[2] * blue
            pixels = grey + (pixels - grey) * _factors(pixels, self.saturation)
        return pixels.clamp(0, 255)

    def _erase(self, pixels: Tensor) -> Tensor:
        """Paint a grey rectangle over some pictures."""
        count, side, device = len(pixels), pixels.shape[-1], pixels.device
        share = torch.empty(count, device=device).uniform_(0.02, 0.2)
        stretch = torch.exp(torch.empty(count, device=device).uniform_(-1, 1) * math.log(self.ratio))
        chosen = torch.rand(count, device=device) < self.erase
        places = (torch.arange(side, device=device) + 0.5) / side
        inside = []
        for length in ((share * stretch).sqrt(), (share / stretch).sqrt()):
            start = torch.rand(count, device=device) * (1 - length)
            inside.append((places >= start[:, None]) & (places < (start + length)[:, None]))
        covered = inside[1][:, None, :, None] & inside[0][:, None, None, :] & chosen[:, None, None, None]
        return torch.where(covered, 127.5, pixels)


def _factors(pixels: Tensor, change: float) -> Tensor:
    return torch.empty(len(pixels), 1, 1, 1, device=pixels.device).uniform_(1 - change, 1 + change)

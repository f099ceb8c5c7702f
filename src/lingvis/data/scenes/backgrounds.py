"""Backgrounds of scenes: two light colours mixed by a pattern, so that black outlines are always visible."""

from __future__ import annotations

import colorsys
from collections.abc import Callable
from random import Random

import numpy as np
from PIL import Image

from lingvis.arrays import Floats

Weights = Floats  # [side, side], 0 for the first colour, 1 for the second
Grid = tuple[Weights, Weights]  # x and y of every pixel after a random rotation

# The darkest value of HSV: objects have black outlines.
DARKEST = 0.72


def background(side: int, random: Random) -> Image.Image:
    """A picture of `side` x `side` pixels without objects."""
    weights = random.choice(PATTERNS)(_grid(side, random), random)[..., None]
    hue = random.random()
    first = _colour(hue, random)
    second = _colour(hue + random.uniform(-0.15, 0.15), random)
    return Image.fromarray((first + (second - first) * weights + 0.5).astype(np.uint8))


def _colour(hue: float, random: Random) -> Floats:
    rgb = colorsys.hsv_to_rgb(hue % 1.0, random.uniform(0.05, 0.4), random.uniform(DARKEST, 1.0))
    return np.asarray(rgb, dtype=np.float32) * 255


def _grid(side: int, random: Random) -> Grid:
    angle = random.uniform(0, 2 * np.pi)
    across, down = np.float32(np.cos(angle)), np.float32(np.sin(angle))
    line = np.arange(side, dtype=np.float32) - side / 2
    x, y = line[None, :], line[:, None]
    return x * across + y * down, y * across - x * down


def _plain(grid: Grid, random: Random) -> Weights:
    return np.zeros_like(grid[0])


def _gradient(grid: Grid, random: Random) -> Weights:
    x = grid[0]
    return np.asarray((x - x.min()) / (x.max() - x.min()), dtype=np.float32)


def _stripes(grid: Grid, random: Random) -> Weights:
    width = random.uniform(8, 40)
    return np.asarray(grid[0] // width % 2, dtype=np.float32)


def _checks(grid: Grid, random: Random) -> Weights:
    width = random.uniform(14, 48)
    return np.asarray((grid[0] // width + grid[1] // width) % 2, dtype=np.float32)


def _dots(grid: Grid, random: Random) -> Weights:
    step = random.uniform(14, 40)
    radius = step * random.uniform(0.2, 0.4)
    x, y = (axis % step - step / 2 for axis in grid)
    return np.asarray(x * x + y * y < radius * radius, dtype=np.float32)


def _noise(grid: Grid, random: Random) -> Weights:
    """Soft clouds with fine grain."""
    numbers = np.random.default_rng(random.getrandbits(64))
    cells, shape = random.randint(3, 14), grid[0].shape
    coarse = Image.fromarray(numbers.random((cells, cells), dtype=np.float32))
    clouds = np.asarray(coarse.resize(shape, Image.Resampling.BICUBIC))
    grain = numbers.random(shape, dtype=np.float32) - 0.5
    return np.asarray(np.clip(clouds + 0.3 * grain, 0, 1), dtype=np.float32)


PATTERNS: tuple[Callable[[Grid, Random], Weights], ...] = (
    _plain,
    _gradient,
    _stripes,
    _checks,
    _dots,
    _noise,
)

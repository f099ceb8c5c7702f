"""Stored pixels in training: each picture is changed at random whenever it is used."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from lingvis.arrays import Bools, Ints
from lingvis.image.pixels import PixelAugment
from lingvis.image.table import FeatureTable
from lingvis.layers.ragged import RaggedIndex
from lingvis.training.sources import Sentences
from lingvis.types import Tokens

# Words for left and right; a picture with such a caption is never mirrored. Beginnings of words, since most languages
# inflect them; Chinese and Tibetan write no spaces between words.
SIDES = re.compile(
    r"\b(?:left|right|link[es]|rechts|rechte|gauche|droit|lev[áéýoou]|vlevo|nalevo|doleva|prav[áéýou]|vpravo|napravo|doprava"
    r"|esquerd|direit|izquierd|derech|ліво|ліві|лів|прав|سول|ئوڭ|ᠵᠡᠭᠦᠨ|ᠪᠠᠷᠠᠭᠤᠨ)|يسار|يمين|اليسرى|اليمنى|左|右|གཡོན|གཡས",
    re.IGNORECASE,
)


class AugmentedPixels:
    """A table of stored pixels, augmented; `mirrored` bool [pictures]: which may be mirrored."""

    def __init__(self, table: FeatureTable, augment: PixelAugment, mirrored: Bools) -> None:
        self._table = table
        self._augment = augment.to(table.device)
        self._mirrored = torch.from_numpy(mirrored).to(table.device)
        self._side = round((table.dim / 3) ** 0.5)

    @property
    def device(self) -> torch.device:
        """The device of the batches."""
        return self._table.device

    @property
    def resident(self) -> bool:
        """Whether all pixels are on the GPU."""
        return self._table.resident

    @property
    def rows(self) -> RaggedIndex:
        """The sizes of the sets."""
        return self._table.rows

    def gather(self, rows: Tensor, size: int) -> Tokens:
        """Pictures by number, int64 [B] on the device, changed at random: float32 [B, 1, side * side * 3]."""
        tokens = self._table.gather(rows, 1)
        pixels = tokens.values.view(-1, self._side, self._side, 3)
        changed = self._augment(pixels, self._mirrored[rows])
        return replace(tokens, values=changed.flatten(1).unsqueeze(1))

    def batch(self, rows: Ints) -> Tokens:
        """Pictures by number."""
        return self.gather(torch.from_numpy(rows).to(self.device, non_blocking=True), 1)


def may_be_mirrored(sentences: Sentences) -> Bools:
    """Which pictures may be mirrored, bool [pictures]: those without a caption that mentions left or right."""
    mirrored = np.ones(len(sentences.images), bool)
    for text, group in zip(sentences.texts, sentences.groups, strict=True):
        if group < len(mirrored) and SIDES.search(text):
            mirrored[group] = False
    return mirrored

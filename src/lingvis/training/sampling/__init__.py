"""Samplers: which sentences make up which batch, as a function of the seed and the epoch."""

from __future__ import annotations

from lingvis.registry import import_parts
from lingvis.training.sampling.base import SAMPLERS, Sampler, SentenceTable
from lingvis.training.sampling.captions import CaptionSampler
from lingvis.training.sampling.images import ImageSampler
from lingvis.training.sampling.pseudo import PseudoSampler

__all__ = ["SAMPLERS", "CaptionSampler", "ImageSampler", "PseudoSampler", "Sampler", "SentenceTable"]

import_parts(__name__, __path__)

"""Samplers: a seed and an epoch -> the batches, as sentence numbers."""

from __future__ import annotations

from lingvis.registry import import_parts
from lingvis.training.sampling.base import SAMPLERS, Sampler, SentenceTable
from lingvis.training.sampling.captions import CaptionSampler
from lingvis.training.sampling.classes import ClassSampler
from lingvis.training.sampling.images import ImageSampler
from lingvis.training.sampling.meanings import MeaningSampler
from lingvis.training.sampling.pseudo import PseudoSampler

__all__ = [
    "SAMPLERS",
    "CaptionSampler",
    "ClassSampler",
    "ImageSampler",
    "MeaningSampler",
    "PseudoSampler",
    "Sampler",
    "SentenceTable",
]

import_parts(__name__, __path__)

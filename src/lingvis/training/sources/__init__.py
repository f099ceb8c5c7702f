"""Sources of the sentences that a run learns from: human captions, text-only sentences, pseudo captions."""

from __future__ import annotations

from lingvis.registry import import_parts
from lingvis.training.sources.detectors import Detectors
from lingvis.training.sources.pseudo import PSEUDO_SOURCES, NoPseudo, PseudoSource
from lingvis.training.sources.sentences import PairValues, Sentences
from lingvis.training.sources.teachers import Teachers

__all__ = [
    "PSEUDO_SOURCES",
    "Detectors",
    "NoPseudo",
    "PairValues",
    "PseudoSource",
    "Sentences",
    "Teachers",
]

import_parts(__name__, __path__)

"""Sources of the sentences that a run learns from: human captions, text-only sentences, pseudo captions."""

from __future__ import annotations

from lingvis.training.sources.detectors import Detectors
from lingvis.training.sources.pseudo import PSEUDO_SOURCES, NoPseudo, PseudoSource
from lingvis.training.sources.sentences import Sentences, TeacherVectors
from lingvis.training.sources.teachers import Teachers

__all__ = [
    "PSEUDO_SOURCES",
    "Detectors",
    "NoPseudo",
    "PseudoSource",
    "Sentences",
    "TeacherVectors",
    "Teachers",
]

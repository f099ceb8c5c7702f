"""Stage 7, terms of the loss: a step -> a scalar. `TERMS` registers them under the names that recipes use."""

from __future__ import annotations

from lingvis.registry import import_parts
from lingvis.terms.base import TERMS, ClassStep, Columns, Origin, Rereading, Step, Term, Views
from lingvis.terms.class_names import ClassNames, ClassScores
from lingvis.terms.distillation import Distillation
from lingvis.terms.domain_adversaries import DomainAdversaries
from lingvis.terms.imitation import TeacherDistance, TeacherMatching
from lingvis.terms.instances import Instances
from lingvis.terms.language_adversary import LanguageAdversary
from lingvis.terms.masked_cross_language import MaskedCrossLanguage, hide_words
from lingvis.terms.matching import Matching
from lingvis.terms.sentence_pairs import SentencePairs
from lingvis.terms.weight import TermWeight
from lingvis.terms.word_anchor import WordAnchor

__all__ = [
    "TERMS",
    "ClassNames",
    "ClassScores",
    "ClassStep",
    "Columns",
    "Distillation",
    "DomainAdversaries",
    "Instances",
    "LanguageAdversary",
    "MaskedCrossLanguage",
    "Matching",
    "Origin",
    "Rereading",
    "SentencePairs",
    "Step",
    "TeacherDistance",
    "TeacherMatching",
    "Term",
    "TermWeight",
    "Views",
    "WordAnchor",
    "hide_words",
]

import_parts(__name__, __path__)

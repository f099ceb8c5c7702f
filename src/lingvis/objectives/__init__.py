"""Stage 6, what training minimises: objectives over scores, and terms between the sentences of a step.

Objectives are registered in `OBJECTIVES`, terms in `TERMS`, under the names recipes use. In a score matrix an
entry of minus infinity that is not positive takes no part: it is nobody's negative.
"""

from __future__ import annotations

from lingvis.objectives.contrastive import Contrastive, Distilled
from lingvis.objectives.domains import DomainAdversaries, Domains
from lingvis.objectives.masked import MaskedCrossLanguage, Views, hide_words
from lingvis.objectives.ranking import OBJECTIVES, Ranking
from lingvis.objectives.terms import TERMS, LanguageAdversary, SentencePairs
from lingvis.objectives.triplet import TopTriplet

__all__ = [
    "OBJECTIVES",
    "TERMS",
    "Contrastive",
    "Distilled",
    "DomainAdversaries",
    "Domains",
    "LanguageAdversary",
    "MaskedCrossLanguage",
    "Ranking",
    "SentencePairs",
    "TopTriplet",
    "Views",
    "hide_words",
]

"""Stage 7, terms of the loss, registered in `TERMS` under the names recipes use."""

from __future__ import annotations

from lingvis.terms.base import TERMS
from lingvis.terms.domain_adversaries import DomainAdversaries, Domains
from lingvis.terms.language_adversary import LanguageAdversary
from lingvis.terms.masked_cross_language import MaskedCrossLanguage, Views, hide_words
from lingvis.terms.sentence_pairs import SentencePairs

__all__ = [
    "TERMS",
    "DomainAdversaries",
    "Domains",
    "LanguageAdversary",
    "MaskedCrossLanguage",
    "SentencePairs",
    "Views",
    "hide_words",
]

"""Sentences of a run by their origin, for tests; and overrides that leave pseudo captions out."""

from __future__ import annotations

from lingvis.terms import Origin
from lingvis.training.sources import Sentences

NO_PSEUDO = ["pseudo.name=none", "terms.pseudo.weight=0.0", "terms.matching.weight=1.0"]


def described(sentences: Sentences) -> list[str]:
    """Pictures with human captions."""
    groups = dict.fromkeys(sentences.groups[sentences.rows(Origin.HUMAN)].tolist())
    return [sentences.images[group] for group in groups]


def of(sentences: Sentences, *origins: Origin) -> list[tuple[str, str]]:
    """Text and language of the sentences of some origins."""
    return [(sentences.texts[row], sentences.langs[row]) for row in sentences.rows(*origins)]


def pseudo(sentences: Sentences) -> dict[tuple[str, str], str]:
    """Pseudo captions by picture and language."""
    return {
        (sentences.images[sentences.groups[row]], sentences.langs[row]): sentences.texts[row]
        for row in sentences.rows(Origin.PSEUDO)
    }

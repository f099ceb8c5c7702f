"""Checks of what an embedder is asked to encode, and shortened embeddings; this module needs no torch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lingvis.arrays import Floats
from lingvis.errors import UserError, check_list

SHORTEST = 1e-12  # of an embedding that is scaled to unit length


def sentence_languages(texts: Sequence[str], lang: str | Sequence[str]) -> list[str]:
    """The language of each sentence; lang: the language of all, or one per sentence."""
    check_list("texts", texts, "sentences")
    langs = [lang] * len(texts) if isinstance(lang, str) else list(lang)
    if len(langs) != len(texts):
        raise UserError(
            f"lang has {len(langs)} languages for {len(texts)} sentences; give one per sentence, or one for all"
        )
    return langs


def check_dim(name: str, dim: int | None, longest: int) -> None:
    """Raise unless embeddings of model `name`, which have `longest` values, can be cut to `dim` values."""
    if dim is None:
        return
    whole = isinstance(dim, int | np.integer) and not isinstance(dim, bool)
    if not whole or not 1 <= dim <= longest:
        raise UserError(
            f"dim must be a whole number between 1 and {longest}, the length of an embedding of model {name}, got {dim!r}"
        )


def first_values(emb: Floats, dim: int) -> Floats:
    """The first `dim` values of each embedding, scaled to unit length; zeros stay zeros."""
    prefix = emb[:, :dim]
    lengths = np.linalg.norm(prefix, axis=1, keepdims=True)
    shortened: Floats = prefix / np.maximum(lengths, SHORTEST)
    return shortened

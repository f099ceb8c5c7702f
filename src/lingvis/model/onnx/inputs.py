"""Sentences -> the inputs of a text graph, by numpy alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lingvis.arrays import Ints
from lingvis.text.tokenizers.base import Tokenizer

Sizes = tuple[int | None, ...]


def text_shapes(tokenizer: Tokenizer) -> dict[str, Sizes]:
    """The inputs of the text graph for a tokenizer: their names and shapes, None where any size fits."""
    shapes: dict[str, Sizes] = {"ids": (None, None), "mask": (None, None)}
    if tokenizer.spells:
        shapes["letters"] = (None, tokenizer.vocabulary.word_length)
    return shapes


def text_inputs(tokenizer: Tokenizer, texts: Sequence[str], langs: Sequence[str]) -> dict[str, NDArray[Any]]:
    """The inputs for a batch of sentences, padded to the longest.

    ids: int64 [B, L], mask: bool [B, L]. If the tokenizer spells words, ids are rows of letters, int64 [words, C].
    """
    return pad(tokenizer, tokenizer(texts, langs))


def pad(tokenizer: Tokenizer, tokens: Sequence[Ints]) -> dict[str, NDArray[Any]]:
    """The same from the tokens of each sentence."""
    lengths = np.fromiter(map(len, tokens), np.int64, len(tokens))
    mask = np.arange(lengths.max()) < lengths[:, None]
    ids = np.full(mask.shape, tokenizer.vocabulary.pad, np.int64)
    ids[mask] = np.concatenate(tokens)
    if not tokenizer.spells:
        return {"ids": ids, "mask": mask}
    words, places = np.unique(ids, return_inverse=True)
    return {"ids": places.reshape(ids.shape), "mask": mask, "letters": tokenizer.spelling(words)}

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from lingvis.errors import UserError
from lingvis.text.tokenizers.base import Vocabulary
from lingvis.text.tokenizers.words import WordTokenizer
from lingvis.text.words.mapped import MappedWords
from lingvis.types import TextBatch

WORDS = ("chien", "chat", "rouge", "x")
VOCABULARY = Vocabulary(
    size=9, pad=0, mask=4, special=(0, 1, 2, 3, 4), languages=("fr",), blocks=((5, 9),), own_words=WORDS
)
IDS = torch.tensor([[2, 5, 8, 3, 0], [2, 6, 1, 7, 3]])
BATCH = TextBatch(IDS, IDS != 0, ((0, 2),))
VECTORS = np.random.default_rng(0).normal(size=(9, 3)).astype(np.float32)
VECTORS[[0, 1, 2, 3, 4, 8]] = 0  # special tokens, and a word without a vector
MATRIX = np.random.default_rng(1).normal(size=(3, 3)).astype(np.float32)


def make(**options: Any) -> MappedWords:
    torch.manual_seed(0)
    given = {"vocabulary": VOCABULARY, "vectors": VECTORS, "vector_dim": 3, "map": "none"}
    return MappedWords(**{**given, **options})


@pytest.mark.parametrize("options", [{}, {"map": "random"}, {"map": "rcsls", "matrix": MATRIX}])
def test_words_equal_a_naive_loop(options: dict[str, Any]) -> None:
    part = make(**options)
    tokens = part(BATCH)
    assert tokens.mask is BATCH.mask and tokens.runs == BATCH.runs
    for row, ids in enumerate(IDS.tolist()):
        for place, number in enumerate(ids):
            if number < 5:
                wanted = part.special[number]
            else:
                wanted = torch.from_numpy(VECTORS[number])
                if part.translator is not None:
                    wanted = part.translator.weight @ wanted
            torch.testing.assert_close(tokens.values[row, place], wanted)
    assert not tokens.values[0, 2].any()  # no vector: it says nothing, behind a map too


def test_the_map_is_as_asked_for() -> None:
    assert make().translator is None
    assert "translator.weight" not in make().state_dict()
    random, fitted = make(map="random").translator, make(map="procrustes", matrix=MATRIX).translator
    assert random is not None and fitted is not None
    torch.testing.assert_close(random.weight @ random.weight.T, torch.eye(3))
    assert (random.weight - torch.eye(3)).abs().max() > 0.1
    np.testing.assert_array_equal(fitted.weight.detach().numpy(), MATRIX)
    assert random.bias is None and fitted.bias is None


def test_the_table_is_the_space_behind_the_map() -> None:
    part = make(map="rcsls", matrix=MATRIX)
    assert part.words == WORDS
    np.testing.assert_allclose(part.table(), VECTORS[5:] @ MATRIX.T, atol=1e-6)
    np.testing.assert_array_equal(make().table(), VECTORS[5:])


def test_a_saved_model_needs_neither_vectors_nor_map() -> None:
    part, again = make(map="rcsls", matrix=MATRIX), make(map="rcsls", vectors=None)
    again.load_state_dict(part.state_dict(), strict=True)
    assert torch.equal(again(BATCH).values, part(BATCH).values)


def test_all_but_frozen_vectors_learn() -> None:
    part = make(map="random")
    part.vectors.requires_grad_(False)
    part(BATCH).values.square().sum().backward()
    assert part.vectors.grad is None
    assert part.translator is not None and part.translator.weight.grad is not None
    assert part.special.grad is not None and part.special.grad[2].any()


def test_what_does_not_fit_is_said() -> None:
    with pytest.raises(UserError, match=r"vector_dim is 4 for 9 words, but the vectors are 9 x 3"):
        make(vector_dim=4)
    several = Vocabulary(
        size=7,
        pad=0,
        mask=4,
        special=(0, 1, 2, 3, 4),
        languages=("fr", "de"),
        blocks=((5, 6), (6, 7)),
        own_words=("a", "b"),
    )
    with pytest.raises(UserError, match=r"the captions are in fr, de; name one in data\.languages"):
        make(vocabulary=several, vectors=None, map="random")
    assert make(vocabulary=several, vectors=None).words == ("a", "b")  # without a map any number will do
    words = WordTokenizer(min_count=1)
    words.fit(["a"], ["en"])
    with pytest.raises(UserError, match=r"text\.tokenizer\.name = language_words"):
        make(vocabulary=words.vocabulary)

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from lingvis.text.tokenizers.transformer import TransformerTokenizer
from lingvis.text.words.transformer import TransformerWords
from lingvis.types import TextBatch


@pytest.fixture
def part(tiny_bert: Path) -> TransformerWords:
    tokenizer = TransformerTokenizer(model=str(tiny_bert))
    tokenizer.fit([], [])
    return TransformerWords(vocabulary=tokenizer.vocabulary, model=str(tiny_bert))


def batch() -> TextBatch:
    ids = torch.tensor([[2, 7, 12, 3], [2, 8, 3, 0]])
    return TextBatch(ids, ids != 0, runs=((1, 1), (0, 1)))


def test_languages_travel_along(part: TransformerWords) -> None:
    tokens = part.eval()(batch())
    assert tokens.values.shape == (2, 4, 16)
    assert tokens.runs == ((1, 1), (0, 1))


def test_a_frozen_transformer_has_no_dropout_in_training(part: TransformerWords) -> None:
    part.requires_grad_(False)
    resting = part.eval()(batch()).values
    part.train()
    assert part.training
    assert torch.equal(part(batch()).values, resting)


def test_one_trained_weight_is_enough_for_dropout(part: TransformerWords) -> None:
    part.requires_grad_(False)
    next(part.parameters()).requires_grad_(True)
    part.train()
    assert not torch.equal(part(batch()).values, part(batch()).values)

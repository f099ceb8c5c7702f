"""DPC's convolutions over words against loops, and dropout of word vectors."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from lingvis.layers.convolution import ResidualBlock
from lingvis.layers.normalization import MaskedBatchNorm
from lingvis.text.encoders import LSTM, TEXT_ENCODERS, Convolutions
from lingvis.types import Tokens

INPUT, DIM, HIDDEN = 4, 5, 3


def sentences() -> Tokens:
    """Three sentences of five, two and one words."""
    torch.manual_seed(1)
    mask = torch.arange(5) < torch.tensor([[5], [2], [1]])
    return Tokens(torch.randn(3, 5, INPUT, dtype=torch.float64), mask)


def made() -> Convolutions:
    """In evaluation mode, with statistics and scales that are not those of the beginning."""
    torch.manual_seed(0)
    encoder = Convolutions(input_dim=INPUT, dim=DIM, hidden=HIDDEN, blocks=2).double()
    for part in encoder.modules():
        if isinstance(part, MaskedBatchNorm):
            for values in (part.running_mean, part.weight.data, part.bias.data):
                assert values is not None
                values.normal_()
    return encoder.eval()


def normed(norm: torch.nn.Module, values: Tensor) -> Tensor:
    assert isinstance(norm, MaskedBatchNorm)
    assert norm.running_mean is not None and norm.running_var is not None
    return (values - norm.running_mean) / (norm.running_var + norm.eps).sqrt() * norm.weight + norm.bias


def block_by_loops(block: ResidualBlock, words: list[Tensor]) -> list[Tensor]:
    first, second, third = block.norms
    inner = [normed(first, block.inner.weight @ word).relu() for word in words]
    nothing, results = torch.zeros(HIDDEN, dtype=torch.float64), []
    for place, word in enumerate(words):
        wide = torch.zeros(HIDDEN, dtype=torch.float64)
        for tap, neighbour in enumerate((place - 1, place, place + 1)):
            value = inner[neighbour] if 0 <= neighbour < len(words) else nothing
            wide = wide + block.wide.weight[:, :, tap] @ value
        results.append((word + normed(third, block.outer.weight @ normed(second, wide).relu())).relu())
    return results


def test_convolutions_equal_loops_over_words_and_padding_has_no_influence() -> None:
    encoder, tokens = made(), sentences()
    found = encoder(tokens).values
    for row, length in enumerate((5, 2, 1)):
        words = [
            encoder.linear.weight @ tokens.values[row, place] + encoder.linear.bias for place in range(length)
        ]
        for block in encoder.blocks:
            assert isinstance(block, ResidualBlock)
            words = block_by_loops(block, words)
        torch.testing.assert_close(found[row, :length], torch.stack(words))
    assert not found[~tokens.mask].any()
    tokens.values[~tokens.mask] = 1e6
    torch.testing.assert_close(encoder(tokens).values, found)


def test_a_word_sees_one_neighbour_more_with_each_block() -> None:
    encoder, tokens = made(), sentences()
    before = encoder(tokens).values[0]
    tokens.values[0, 0] += 1
    changed = (encoder(tokens).values[0] - before).abs().sum(dim=1) > 0
    assert changed.tolist() == [True, True, True, False, False]  # two blocks


@pytest.mark.parametrize("name", ["lstm", "convolutions"])
def test_dropout_hides_word_vectors_in_training_alone(name: str) -> None:
    torch.manual_seed(0)
    options = {"hidden": HIDDEN} if name == "convolutions" else {}
    encoder = TEXT_ENCODERS.get(name)(input_dim=INPUT, dim=DIM, dropout=1.0, **options).double()
    tokens = sentences()
    other = Tokens(tokens.values + 1, tokens.mask)
    torch.testing.assert_close(encoder(tokens).values, encoder(other).values)
    encoder.eval()
    assert not torch.allclose(encoder(tokens).values, encoder(other).values)
    plain = LSTM(input_dim=INPUT, dim=DIM).double()
    torch.testing.assert_close(plain(tokens).values, plain.eval()(tokens).values)

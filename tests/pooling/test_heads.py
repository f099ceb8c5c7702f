"""A3VSE's attention against loops over sets, heads and vectors."""

from __future__ import annotations

import math

import torch

from lingvis.pooling import AttentionHeads
from lingvis.types import Tokens

DIM, HEADS, HIDDEN = 5, 3, 4


def made(temperature: float = 1.0) -> AttentionHeads:
    torch.manual_seed(0)
    return AttentionHeads(dim=DIM, heads=HEADS, hidden=HIDDEN, temperature=temperature).double()


def sets() -> Tokens:
    generator = torch.Generator().manual_seed(1)
    values = torch.randn(4, 6, DIM, generator=generator, dtype=torch.float64)
    mask = torch.rand(4, 6, generator=generator) < 0.6
    mask[:, 1] = True
    return Tokens(values, mask)


def test_equals_equation_1_by_loops() -> None:
    pooling, tokens = made(temperature=2.0), sets()
    found = pooling(tokens)
    assert found.shape == (4, HEADS * DIM)
    for row in range(4):
        vectors = [v for v, valid in zip(tokens.values[row], tokens.mask[row], strict=True) if valid]
        mean = sum(vectors[1:], start=vectors[0]) / len(vectors)
        for head in range(HEADS):
            part = slice(head * HIDDEN, (head + 1) * HIDDEN)
            p, q = pooling.context.weight[part], pooling.local.weight[part]
            scores = [(torch.tanh(p @ mean) @ torch.tanh(q @ v)).item() for v in vectors]
            weights = [math.exp(2.0 * score) for score in scores]
            expected = sum(
                (w / sum(weights) * v for w, v in zip(weights, vectors, strict=True)),
                start=torch.zeros(DIM, dtype=torch.float64),
            )
            torch.testing.assert_close(found[row, head * DIM : (head + 1) * DIM], expected, atol=1e-6, rtol=0)


def test_weights_are_a_distribution_over_the_valid_vectors() -> None:
    pooling, tokens = made(), sets()
    weights = pooling.weights(tokens)
    assert (weights[(~tokens.mask).unsqueeze(1).expand_as(weights)] == 0).all()
    torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]))
    flat = made(temperature=1e-9).weights(tokens)  # nearly no preference: the plain mean
    torch.testing.assert_close(
        flat, (tokens.mask / tokens.lengths.unsqueeze(1)).unsqueeze(1).expand_as(flat).double()
    )


def test_what_is_masked_never_counts() -> None:
    pooling, tokens = made(), sets()
    other = tokens.values.masked_fill(~tokens.mask.unsqueeze(-1), float("nan"))
    torch.testing.assert_close(pooling(Tokens(other, tokens.mask)), pooling(tokens))

"""Leaving vectors out changes nothing but the time."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from lingvis.layers.valid import at_valid, leaves_out
from lingvis.types import Tokens

FILLERS = torch.tensor([False, False, True])


def tokens() -> Tokens:
    generator = torch.Generator().manual_seed(0)
    mask = torch.rand(3, 7, generator=generator) < 0.5
    mask[:, 2] = True
    values = torch.randn(3, 7, 4, generator=generator, dtype=torch.float64)
    return Tokens(values.requires_grad_(), mask, fillers=FILLERS)


def test_equals_the_layer_at_one_vector_at_a_time() -> None:
    torch.manual_seed(0)
    linear, given = nn.Linear(4, 5).double(), tokens()
    seen: list[Tensor] = []

    def layer(values: Tensor, counted: Tensor) -> Tensor:
        seen.extend((values, counted))
        result: Tensor = linear(values)
        return result

    got = at_valid(layer, given)
    assert seen[0].shape == (int(given.mask.sum()), 4)
    assert seen[1].tolist() == given.counted[given.mask].tolist()
    expected = torch.zeros(3, 7, 5, dtype=torch.float64)
    for b, k in given.mask.nonzero().tolist():
        expected[b, k] = linear(given.values[b, k])
    torch.testing.assert_close(got.values, expected)
    assert got.mask is given.mask and got.fillers is FILLERS
    learned = [given.values, *linear.parameters()]
    weight = torch.randn(got.values.shape, dtype=torch.float64)
    wanted = torch.autograd.grad((expected * weight).sum(), learned)
    for own, other in zip(torch.autograd.grad((got.values * weight).sum(), learned), wanted, strict=True):
        torch.testing.assert_close(own, other)


def test_all_vectors_are_computed_without_gradients() -> None:
    given = tokens()
    with torch.no_grad():
        assert not leaves_out(given.values)
        assert at_valid(lambda values, counted: values + 1, given).values[~given.mask].all()

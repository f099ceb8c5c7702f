"""The packed GRU and its written gradient against one sequence and one step at a time."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from lingvis.layers.packed import Packing, packed_gru

LENGTHS = [3, 0, 5, 1, 5]
MASK = torch.arange(6) < torch.tensor(LENGTHS).unsqueeze(1)


def made() -> tuple[nn.GRU, Tensor]:
    torch.manual_seed(0)
    return nn.GRU(4, 3, batch_first=True).double(), torch.randn(len(LENGTHS), 6, 4, dtype=torch.float64)


def loop(layer: nn.GRU, values: Tensor, *, back: bool) -> Tensor:
    """One sequence and one step at a time."""
    rows = []
    weight_ih, weight_hh, bias_ih, bias_hh = layer.parameters()
    for sequence, length in zip(values, LENGTHS, strict=True):
        state, states = values.new_zeros(3), [values.new_zeros(3)] * 6
        for step in reversed(range(length)) if back else range(length):
            given = weight_ih @ sequence[step] + bias_ih
            own = weight_hh @ state + bias_hh
            r, z = (given[:6] + own[:6]).sigmoid().split(3)
            state = states[step] = (1 - z) * (given[6:] + r * own[6:]).tanh() + z * state
        rows.append(torch.stack(states))
    return torch.stack(rows)


def packed(layer: nn.GRU, values: Tensor, *, back: bool) -> Tensor:
    packing = Packing.of(MASK)
    return packed_gru(layer, values, packing.back if back else packing.ahead, packing.counts)


def test_a_packing_goes_through_all_sequences_step_by_step() -> None:
    packing = Packing.of(MASK)
    assert packing.counts == [4, 3, 3, 2, 2, 0]
    # Sequences 2, 4, 0 and 3, of 6 positions each, from their first word on or from their last one on.
    assert packing.ahead.tolist() == [12, 24, 0, 18, 13, 25, 1, 14, 26, 2, 15, 27, 16, 28]
    assert packing.back.tolist() == [16, 28, 2, 18, 15, 27, 1, 14, 26, 0, 13, 25, 12, 24]


@pytest.mark.parametrize("back", [False, True])
def test_equals_a_loop_with_its_gradients(back: bool) -> None:
    layer, values = made()
    values.requires_grad_()
    expected, got = loop(layer, values, back=back), packed(layer, values, back=back)
    torch.testing.assert_close(got, expected)
    weight = torch.randn(got.shape, dtype=torch.float64)
    learned = [values, *layer.parameters()]
    wanted = torch.autograd.grad((expected * weight).sum(), learned)
    for own, other in zip(torch.autograd.grad((got * weight).sum(), learned), wanted, strict=True):
        torch.testing.assert_close(own, other)


def test_a_frozen_layer_still_passes_gradients_on() -> None:
    layer, values = made()
    values.requires_grad_()
    (expected,) = torch.autograd.grad(packed(layer, values, back=False).square().sum(), [values])
    layer.requires_grad_(False)
    (got,) = torch.autograd.grad(packed(layer, values, back=False).square().sum(), [values])
    torch.testing.assert_close(got, expected)


def test_bfloat16_stays_near() -> None:
    layer, values = made()
    layer, values = layer.float(), values.float()
    exact = packed(layer, values, back=False)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rough = packed(layer, values, back=False)
    assert rough.dtype == torch.bfloat16
    torch.testing.assert_close(rough.float(), exact, atol=0.03, rtol=0.03)
    parameters = list(layer.parameters())
    expected = torch.autograd.grad(exact.square().sum(), parameters)
    gradients = torch.autograd.grad(rough.float().square().sum(), parameters)
    for gradient, near in zip(gradients, expected, strict=True):
        assert gradient.dtype == torch.float32
        torch.testing.assert_close(gradient, near, atol=0.05 * float(near.abs().max()), rtol=0.05)

"""A GRU over the valid positions of sequences alone, for the CPU: padding costs nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass(frozen=True, slots=True)
class Packing:
    """The valid positions of padded sequences, one step of all sequences after the other; the longest sequence is first.

    ahead, back: int64 [positions], numbers of rows of the flattened batch, for either direction. counts: number of
    sequences that have the n-th step.
    """

    ahead: Tensor
    back: Tensor
    counts: list[int]

    @classmethod
    def of(cls, mask: Tensor) -> Packing:
        """mask bool [batch, length], valid positions first."""
        lengths, order = mask.sum(dim=1).sort(descending=True, stable=True)
        step = torch.arange(mask.shape[1]).unsqueeze(1)
        exists = step < lengths
        first = order * mask.shape[1]
        return cls((first + step)[exists], (first + lengths - 1 - step)[exists], exists.sum(dim=1).tolist())


def packed_gru(layer: nn.GRU, values: Tensor, rows: Tensor, counts: list[int]) -> Tensor:
    """values [batch, length, input_dim] -> [batch, length, hidden]; zero at positions that are not in `rows`.

    rows: one direction of a packing. Equals the one-layer GRU over each sequence.
    """
    weight_ih, weight_hh, bias_ih, bias_hh = layer.parameters()
    gates = F.linear(values.flatten(0, 1).index_select(0, rows), weight_ih, bias_ih)
    own = weight_hh.to(gates.dtype), bias_hh.to(gates.dtype)
    states: Tensor = _Recurrence.apply(gates, *own, counts)  # type: ignore[no-untyped-call]
    padded = states.new_zeros(values.shape[0] * values.shape[1], states.shape[1])
    return padded.index_copy(0, rows, states).view(*values.shape[:2], -1)


class _Recurrence(torch.autograd.Function):
    """The steps of a GRU over a packing: gates of the input [positions, 3 * hidden] -> states [positions, hidden].

    The gradient of the weight is one product over all positions, where autograd computes and adds up one per step.
    Gates are in torch's order: reset r, update z, new n (Cho et al. 2014).
    """

    @staticmethod
    def forward(ctx: Any, gates: Tensor, weight: Tensor, bias: Tensor, counts: list[int]) -> Tensor:
        hidden = weight.shape[1]
        states = gates.new_empty(len(gates), hidden)
        both = gates.new_empty(len(gates), 2 * hidden)  # r and z
        new, recurrent = torch.empty_like(states), torch.empty_like(states)
        last = gates.new_zeros(counts[0], hidden)
        for given, at, r_z, n, own, count in zip(
            *(torch.split(each, counts) for each in (gates, states, both, new, recurrent)),
            counts,
            strict=True,
        ):
            last = last[:count]
            products = torch.addmm(bias, last, weight.T)
            torch.add(given[:, : 2 * hidden], products[:, : 2 * hidden], out=r_z).sigmoid_()
            own.copy_(products[:, 2 * hidden :])
            torch.addcmul(given[:, 2 * hidden :], r_z[:, :hidden], own, out=n).tanh_()
            last = torch.lerp(n, last, r_z[:, hidden:], out=at)
        ctx.counts = counts
        ctx.save_for_backward(weight, states, both, new, recurrent)
        return states

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor | None, Tensor | None, None]:
        weight, states, both, new, recurrent = ctx.saved_tensors
        counts: list[int] = ctx.counts
        hidden = weight.shape[1]
        before = _states_before(states, counts)
        r, z = both.split(hidden, dim=1)
        # Factors between the gradient of a state and those of what its gates are made from.
        to_new = (1 - z) * (1 - new.square())
        to_update = (before - new) * z * (1 - z)
        to_reset = to_new * recurrent * r * (1 - r)
        of_products = torch.cat((to_reset, to_update, to_new * r), dim=1)
        whole = torch.empty_like(grad)  # the gradient of a state, also by way of later ones
        carried = grad.new_zeros(0, hidden)
        for own, factors, keep, total in reversed(
            list(zip(*(torch.split(each, counts) for each in (grad, of_products, z, whole)), strict=True))
        ):
            total.copy_(own)[: len(carried)] += carried
            factors.view(-1, 3, hidden).mul_(total.unsqueeze(1))
            carried = torch.addmm(total * keep, factors, weight)
        of_gates = torch.cat((of_products[:, : 2 * hidden], whole * to_new), dim=1)
        _, weighs, shifts, _ = ctx.needs_input_grad  # frozen ones get none
        of_weight = of_products.T @ before if weighs else None
        return of_gates, of_weight, of_products.sum(dim=0) if shifts else None, None


def _states_before(states: Tensor, counts: list[int]) -> Tensor:
    """The state before each position, [positions, hidden]: that of the same sequence one step earlier, first zero."""
    steps = torch.split(states, counts)
    earlier = [step[:count] for step, count in zip(steps, counts[1:], strict=False)]
    return torch.cat([torch.zeros_like(steps[0]), *earlier])

"""A recurrent layer over padded batches that needs no packing, so that the host never waits for the device."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lingvis.errors import UserError
from lingvis.layers.packed import Packing, packed_gru
from lingvis.layers.tracing import is_recorded
from lingvis.layers.valid import leaves_out
from lingvis.types import Stages


class MaskedGRU(nn.Module):
    """One-layer GRU over padded sequences whose valid positions come first.

    values [batch, length, input_dim], mask bool [batch, length] -> [batch, length, hidden]. Two directions
    are averaged (as in VSE-infinity), or concatenated with half the units each; padded outputs are zero. The result
    equals that of a packed `nn.GRU`, but packing copies the lengths to the host. Here the second direction is a
    plain GRU over each sequence reversed within its length: padding stays at the end, where it cannot affect
    earlier states. What stages leave out is not computed. In training on a CPU nothing is copied, and all padding is left
    out.
    """

    def __init__(
        self, *, input_dim: int, hidden: int, bidirectional: bool, concatenate: bool = False
    ) -> None:
        super().__init__()
        self.concatenate = concatenate and bidirectional
        units = hidden // 2 if self.concatenate else hidden
        if self.concatenate and hidden % 2:
            raise UserError(
                f"two concatenated directions need an even size, got {hidden}; choose an even dim"
            )
        self.ahead = nn.GRU(input_dim, units, batch_first=True)
        self.back = nn.GRU(input_dim, units, batch_first=True) if bidirectional else None

    def forward(self, values: Tensor, mask: Tensor, stages: Stages = ()) -> Tensor:
        """[batch, length, input_dim] -> [batch, length, hidden]."""
        if leaves_out(values):
            directions = self._packed(values, mask)
        else:
            directions = self._staged(values, mask, stages) if stages else self._padded(values, mask)
        if len(directions) == 1:
            return directions[0]
        return torch.cat(directions, dim=-1) if self.concatenate else (directions[0] + directions[1]) / 2

    def _packed(self, values: Tensor, mask: Tensor) -> list[Tensor]:
        """The states of each direction, computed at valid positions only."""
        packing = Packing.of(mask)
        directions = zip((self.ahead, self.back), (packing.ahead, packing.back), strict=True)
        return [
            packed_gru(layer, values, rows, packing.counts) for layer, rows in directions if layer is not None
        ]

    def _staged(self, values: Tensor, mask: Tensor, stages: Stages) -> list[Tensor]:
        """The states of each direction, computed in stages: the longest sequences come first, later stages have fewer."""
        order = mask.sum(dim=1).argsort(descending=True, stable=True)
        places = torch.empty_like(order).scatter_(0, order, torch.arange(len(order), device=order.device))
        directions = self._padded(values.index_select(0, order), mask[order], stages)
        return [states.index_select(0, places) for states in directions]

    def _padded(self, values: Tensor, mask: Tensor, stages: Stages = ()) -> list[Tensor]:
        """The states of each direction, computed at all positions, or at those of the stages."""
        directions = [_run(self.ahead, values, stages)]
        if self.back is not None:
            rows = reversal(mask)
            directions.append(reverse(_run(self.back, reverse(values, rows), stages), rows))
        return [states.masked_fill(~mask.unsqueeze(-1), 0.0) for states in directions]


def _run(layer: nn.GRU, values: Tensor, stages: Stages) -> Tensor:
    """The states of all steps, [batch, length, hidden]; zeros where a stage leaves rows out."""
    states: Tensor
    if not stages:
        states = layer(values)[0]
        return states
    pieces, begin, last = [], 0, None
    for end, count in stages:
        if last is not None:
            # In mixed precision states have another type than words.
            last = last[:, :count].to(values.dtype).contiguous()
        states, last = layer(values[:count, begin:end], last)
        pieces.append(F.pad(states, (0, 0, 0, 0, 0, len(values) - count)))
        begin = end
    return torch.cat(pieces, dim=1)


def reversal(mask: Tensor) -> Tensor:
    """The source row of each row of the flattened batch when every sequence is reversed within its length.

    mask bool [batch, length] -> int64 [batch * length]; padded positions keep their place.
    """
    batch, length = mask.shape
    position = torch.arange(length, device=mask.device)
    source = torch.where(mask, mask.sum(dim=1, keepdim=True) - 1 - position, position)
    return (source + torch.arange(batch, device=mask.device).unsqueeze(1) * length).flatten()


def reverse(values: Tensor, rows: Tensor) -> Tensor:
    """Apply a `reversal` to values [batch, length, dim]."""
    if is_recorded():
        return _gather(values, rows)
    result: Tensor = _Reverse.apply(values, rows)  # type: ignore[no-untyped-call]
    return result


def _gather(values: Tensor, rows: Tensor) -> Tensor:
    return values.flatten(0, 1).index_select(0, rows).view(values.shape)


class _Reverse(torch.autograd.Function):
    """A reversal is its own inverse: the gradient is the same gather, not a scatter with atomic adds."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, rows: Tensor) -> Tensor:
        ctx.save_for_backward(rows)
        return _gather(values, rows)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (rows,) = ctx.saved_tensors
        return _gather(grad, rows), None

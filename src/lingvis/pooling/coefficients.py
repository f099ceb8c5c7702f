"""Coefficient generators: (set size, rank) -> the weight of the k-th largest value.

A generator is a position code and a decoder; the choices are from VSE-infinity's supplement, section 2.3.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from lingvis.errors import UserError, choices
from lingvis.layers.recurrent import MaskedGRU


class SinCosCode(nn.Module):
    """Fixed sine and cosine waves of the position, as in the transformer; size -> [size, dim]."""

    def __init__(self, *, dim: int) -> None:
        super().__init__()
        if dim % 2:
            raise UserError(f"the sincos position code needs an even dimension, got {dim}")
        self.dim = dim

    def forward(self, size: int, like: Tensor) -> Tensor:
        """Codes of positions 0..size-1 with the device and number type of `like`."""
        position = torch.arange(size, device=like.device, dtype=like.dtype).unsqueeze(1)
        exponent = torch.arange(0, self.dim, 2, device=like.device, dtype=like.dtype) / self.dim
        angle = position * 10000.0**-exponent
        return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)


class IndexCode(nn.Module):
    """One learned vector per position; positions from `max_size` on share the last one. size -> [size, dim]."""

    def __init__(self, *, dim: int, max_size: int) -> None:
        super().__init__()
        self.table = nn.Embedding(max_size, dim)

    def forward(self, size: int, like: Tensor) -> Tensor:
        """Codes of positions 0..size-1."""
        position = torch.arange(size, device=like.device).clamp(max=self.table.num_embeddings - 1)
        code: Tensor = self.table(position)
        return code


class BiGRUDecoder(nn.Module):
    """The design of the paper: a BiGRU, directions averaged, and a linear layer without bias.

    inputs [n, size, input_dim], mask [n, size] -> scores [n, size, outputs].
    """

    def __init__(self, *, input_dim: int, hidden: int, outputs: int) -> None:
        super().__init__()
        self.gru = MaskedGRU(input_dim=input_dim, hidden=hidden, bidirectional=True)
        self.score = nn.Linear(hidden, outputs, bias=False)

    def forward(self, inputs: Tensor, mask: Tensor) -> Tensor:
        scores: Tensor = self.score(self.gru(inputs, mask))
        return scores


class TransformerDecoder(nn.Module):
    """One transformer encoder layer in place of the BiGRU (Table 3 of the supplement); shapes as there."""

    def __init__(self, *, input_dim: int, hidden: int, outputs: int) -> None:
        super().__init__()
        self.widen = nn.Linear(input_dim, hidden)
        self.layer = nn.TransformerEncoderLayer(
            hidden, nhead=max(1, hidden // 8), dim_feedforward=4 * hidden, dropout=0.0, batch_first=True
        )
        self.score = nn.Linear(hidden, outputs, bias=False)

    def forward(self, inputs: Tensor, mask: Tensor) -> Tensor:
        scores: Tensor = self.score(self.layer(self.widen(inputs), src_key_padding_mask=~mask))
        return scores


class MLPDecoder(nn.Module):
    """Each position separately, independent of the size of the set; shapes as in `BiGRUDecoder`."""

    def __init__(self, *, input_dim: int, hidden: int, outputs: int) -> None:
        super().__init__()
        self.widen = nn.Linear(input_dim, hidden)
        self.score = nn.Linear(hidden, outputs, bias=False)

    def forward(self, inputs: Tensor, mask: Tensor) -> Tensor:
        scores: Tensor = self.score(self.widen(inputs).relu())
        return scores


class InterpolatedScores(nn.Module):
    """A learned curve of `knots` scores, stretched over the set by linear interpolation (as FSPool does).

    mask [n, size], valid positions first -> scores [n, size, outputs]. A set of one uses the first knot.
    """

    def __init__(self, *, knots: int, outputs: int) -> None:
        super().__init__()
        if knots < 2:
            raise UserError(f"interpolated pooling needs at least 2 knots, got {knots}")
        self.knots = nn.Parameter(torch.zeros(knots, outputs))

    def forward(self, mask: Tensor) -> Tensor:
        last = self.knots.shape[0] - 1
        rank = torch.arange(mask.shape[1], device=mask.device, dtype=self.knots.dtype)
        steps = (mask.sum(dim=1, keepdim=True) - 1).clamp(min=1)
        place = (rank * last / steps).clamp(max=last)
        left = place.floor().long().clamp(max=last - 1)
        share = (place - left).unsqueeze(-1)
        return self.knots[left] * (1 - share) + self.knots[left + 1] * share


DECODERS: dict[str, Callable[..., nn.Module]] = {
    "bigru": BiGRUDecoder,
    "transformer": TransformerDecoder,
    "mlp": MLPDecoder,
}
POSITIONS = ("sincos", "index")


class Coefficients(nn.Module):
    """Weights of the sorted values of a set: position code -> decoder -> softmax(score / temperature).

    lengths int64 [n], size -> [n, outputs, size]; the weights of a set sum to one and are zero past its length.
    outputs: 1, or the number of dimensions for separate weights per dimension. feature_dim: above 0, the sorted
    features [n, size, feature_dim] are concatenated to the position code. The decoder `interpolate` uses the index
    alone.
    """

    def __init__(
        self,
        *,
        position: str = "sincos",
        decoder: str = "bigru",
        code_dim: int = 32,
        hidden: int = 32,
        temperature: float = 0.1,
        max_size: int = 128,
        knots: int = 20,
        outputs: int = 1,
        feature_dim: int = 0,
    ) -> None:
        super().__init__()
        if position not in POSITIONS:
            raise UserError(f"unknown position code {position!r}; choose one of: {choices(POSITIONS)}")
        self.temperature = temperature
        self.code: nn.Module | None = None
        if decoder == "interpolate":
            if position != "index" or feature_dim:
                raise UserError(
                    "the decoder 'interpolate' uses only the index of a value; "
                    "set position to 'index' and feature_conditioned to false"
                )
            self.decoder: nn.Module = InterpolatedScores(knots=knots, outputs=outputs)
            return
        if decoder not in DECODERS:
            raise UserError(
                f"unknown decoder {decoder!r}; choose one of: {choices([*DECODERS, 'interpolate'])}"
            )
        if position == "sincos":
            self.code = SinCosCode(dim=code_dim)
        else:
            self.code = IndexCode(dim=code_dim, max_size=max_size)
        self.decoder = DECODERS[decoder](input_dim=code_dim + feature_dim, hidden=hidden, outputs=outputs)

    def forward(self, lengths: Tensor, size: int, features: Tensor | None = None) -> Tensor:
        """[n] -> [n, outputs, size], in the number type of the parameters, also under autocast."""
        mask = torch.arange(size, device=lengths.device) < lengths.unsqueeze(1)
        like = next(self.parameters())
        with torch.autocast(lengths.device.type, enabled=False):
            if self.code is None:
                scores: Tensor = self.decoder(mask)
            else:
                inputs = self.code(size, like).expand(lengths.shape[0], -1, -1)
                if features is not None:
                    inputs = torch.cat([inputs, features.to(like.dtype)], dim=-1)
                scores = self.decoder(inputs, mask)
            logits = (scores / self.temperature).transpose(1, 2)
            return logits.masked_fill(~mask.unsqueeze(1), -torch.inf).softmax(dim=-1)

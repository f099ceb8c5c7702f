"""Feature vectors -> vectors of the joint space, each separately."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace

from torch import Tensor, nn

from lingvis.bounds import Count, Share
from lingvis.layers.normalization import MaskedBatchNorm
from lingvis.layers.projection import xavier_linear
from lingvis.layers.valid import at_valid
from lingvis.recipes.rules import RecipePart, chunk_problems
from lingvis.recipes.schema import Recipe
from lingvis.registry import Registry
from lingvis.types import Tokens


class ImageEncoder(RecipePart, nn.Module, ABC):
    """Turns each stored vector of a picture into a vector of length `dim`."""

    dim: int

    @abstractmethod
    def forward(self, tokens: Tokens) -> Tokens:
        """[B, L, input_dim] -> [B, L, dim], with the same mask."""


IMAGE_ENCODERS: Registry[type[ImageEncoder]] = Registry("image encoder")


@IMAGE_ENCODERS.register(
    "none", "the vectors as they are, for a tower that is already trained with text (CLIP)"
)
class NoImageEncoder(ImageEncoder):
    """[B, L, input_dim] unchanged."""

    def __init__(self, *, input_dim: Count) -> None:
        super().__init__()
        self.dim = input_dim

    def forward(self, tokens: Tokens) -> Tokens:
        return tokens


@IMAGE_ENCODERS.register("linear", "one linear layer (VSE++, VSE-infinity on grids)")
class LinearImageEncoder(ImageEncoder):
    """Every vector through one linear layer: [B, L, input_dim] -> [B, L, dim]."""

    def __init__(self, *, input_dim: Count, dim: Count) -> None:
        super().__init__()
        self.dim = dim
        self.linear = xavier_linear(input_dim, dim)

    def forward(self, tokens: Tokens) -> Tokens:
        return at_valid(lambda values, counted: self.linear(values), tokens)


@IMAGE_ENCODERS.register(
    "residual_mlp", "linear layer plus a two-layer MLP with batch norm (VSE-infinity on regions)"
)
class ResidualMLP(ImageEncoder):
    """Linear(D, dim) + MLP(D -> hidden -> BN -> ReLU -> dim), added.

    [B, L, input_dim] -> [B, L, dim]. Chen et al. 2021, supplementary 1.1: "a two-layer MLP with residual
    link". Batch statistics are over valid vectors only, without dropped and padded ones and
    those of fillers.
    dropout: of the stored values.
    """

    @classmethod
    def problems(cls, recipe: Recipe) -> Iterator[str]:
        """The batch norm needs whole batches."""
        yield from chunk_problems(recipe, "the batch norm of image.encoder residual_mlp needs")

    def __init__(self, *, input_dim: Count, dim: Count, hidden: Count, dropout: Share = 0.0) -> None:
        super().__init__()
        self.dim = dim
        self.dropout = nn.Dropout(dropout)
        self.linear = LinearImageEncoder(input_dim=input_dim, dim=dim)
        self.inner = nn.Linear(input_dim, hidden)
        self.norm = MaskedBatchNorm(hidden)
        self.outer = nn.Linear(hidden, dim)

    def forward(self, tokens: Tokens) -> Tokens:
        return at_valid(self._encode, replace(tokens, values=self.dropout(tokens.values)))

    def _encode(self, values: Tensor, counted: Tensor) -> Tensor:
        hidden = self.norm(self.inner(values), counted).relu()
        added: Tensor = self.linear.linear(values) + self.outer(hidden)
        return added


@IMAGE_ENCODERS.register("mlp", "two layers with batch norm, ReLU and dropout between (EmbN, MULE, SMALR)")
class MLP(ImageEncoder):
    """FC hidden -> BN -> ReLU -> dropout -> FC dim: [B, L, input_dim] -> [B, L, dim]. Wang et al. 2018."""

    @classmethod
    def problems(cls, recipe: Recipe) -> Iterator[str]:
        """The batch norm needs whole batches."""
        yield from chunk_problems(recipe, "the batch norm of image.encoder mlp needs")

    def __init__(self, *, input_dim: Count, dim: Count, hidden: Count, dropout: Share) -> None:
        super().__init__()
        self.dim = dim
        self.inner = nn.Linear(input_dim, hidden)
        self.norm = MaskedBatchNorm(hidden)
        self.dropout = nn.Dropout(dropout)
        self.outer = nn.Linear(hidden, dim)

    def forward(self, tokens: Tokens) -> Tokens:
        hidden = self.norm(self.inner(tokens.values), tokens.counted).relu()
        return replace(tokens, values=self.outer(self.dropout(hidden)))

"""Word vectors -> vectors in context."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace

from torch import nn

from lingvis.bounds import Count, Share
from lingvis.layers.convolution import ResidualBlock
from lingvis.layers.per_language import by_language
from lingvis.layers.projection import xavier_linear
from lingvis.layers.recurrent import MaskedGRU
from lingvis.recipes.rules import RecipePart, chunk_problems
from lingvis.recipes.schema import Recipe
from lingvis.registry import Registry
from lingvis.types import Tokens


class TextEncoder(RecipePart, nn.Module, ABC):
    """Turns word vectors into vectors in context, of length `dim`."""

    dim: int

    @property
    def per_language(self) -> bool:
        """Whether it has one layer per language, so that its computation depends on the languages of a batch."""
        return False

    @abstractmethod
    def forward(self, tokens: Tokens) -> Tokens:
        """[B, L, input_dim] -> [B, L, dim], with the same mask and languages."""


TEXT_ENCODERS: Registry[type[TextEncoder]] = Registry("text encoder")


@TEXT_ENCODERS.register("linear", "one linear layer, no context (after a transformer)")
class LinearTextEncoder(TextEncoder):
    """Every vector through one linear layer: [B, L, input_dim] -> [B, L, dim]."""

    def __init__(self, *, input_dim: Count, dim: Count) -> None:
        super().__init__()
        self.dim = dim
        self.linear = xavier_linear(input_dim, dim)

    def forward(self, tokens: Tokens) -> Tokens:
        return replace(tokens, values=self.linear(tokens.values))


@TEXT_ENCODERS.register("gru", "GRU, or BiGRU with the two directions averaged or concatenated")
class GRU(TextEncoder):
    """[B, L, input_dim] -> [B, L, dim]; averaged directions have `dim` units each, concatenated directions half.

    dropout: of the word vectors.
    """

    def __init__(
        self,
        *,
        input_dim: Count,
        dim: Count,
        bidirectional: bool,
        concatenate: bool = False,
        dropout: Share = 0.0,
    ) -> None:
        super().__init__()
        self.dim = dim
        self.dropout = nn.Dropout(dropout)
        self.gru = MaskedGRU(
            input_dim=input_dim, hidden=dim, bidirectional=bidirectional, concatenate=concatenate
        )

    def forward(self, tokens: Tokens) -> Tokens:
        return replace(tokens, values=self.gru(self.dropout(tokens.values), tokens.mask, tokens.stages))


@TEXT_ENCODERS.register("lstm", "LSTM of one direction (A3VSE)")
class LSTM(TextEncoder):
    """[B, L, input_dim] -> [B, L, dim]; zeros at padded positions, which come last and do not change the others.

    dropout: of the word vectors.
    """

    def __init__(self, *, input_dim: Count, dim: Count, dropout: Share = 0.0) -> None:
        super().__init__()
        self.dim = dim
        self.dropout = nn.Dropout(dropout)
        self.lstm = nn.LSTM(input_dim, dim, batch_first=True)

    def forward(self, tokens: Tokens) -> Tokens:
        states = self.lstm(self.dropout(tokens.values))[0]
        return replace(tokens, values=states.masked_fill(~tokens.mask.unsqueeze(-1), 0.0))


@TEXT_ENCODERS.register("convolutions", "residual blocks of convolutions over neighbouring words (DPC)")
class Convolutions(TextEncoder):
    """A linear layer, then `blocks` residual blocks: [B, L, input_dim] -> [B, L, dim], zeros at padded positions.

    Each block compares a word with its neighbour on either side, so that a vector depends on `blocks` words before
    and after it. Zheng et al. 2020 have 16 blocks that shorten the sentence on the way; here it keeps its
    length. dropout: of the word vectors.
    """

    @classmethod
    def problems(cls, recipe: Recipe) -> Iterator[str]:
        """The batch norms need whole batches."""
        yield from chunk_problems(recipe, "the batch norms of text.encoder convolutions need")

    def __init__(
        self, *, input_dim: Count, dim: Count, hidden: Count = 256, blocks: Count = 4, dropout: Share = 0.0
    ) -> None:
        super().__init__()
        self.dim = dim
        self.dropout = nn.Dropout(dropout)
        self.linear = xavier_linear(input_dim, dim)
        self.blocks = nn.ModuleList(ResidualBlock(dim=dim, hidden=hidden) for _ in range(blocks))

    def forward(self, tokens: Tokens) -> Tokens:
        values = self.linear(self.dropout(tokens.values))
        for block in self.blocks:
            values = block(values, tokens.mask)
        return replace(tokens, values=values.masked_fill(~tokens.mask.unsqueeze(-1), 0.0))


@TEXT_ENCODERS.register("gru_per_language", "one GRU or BiGRU per language (PAR EmbN)")
class PerLanguageGRU(TextEncoder):
    """[B, L, input_dim] -> [B, L, dim], one sentence branch per language (PAR EmbN; Gella et al. 2017)."""

    def __init__(self, *, language_count: Count, input_dim: Count, dim: Count, bidirectional: bool) -> None:
        super().__init__()
        self.dim = dim
        self.layers = nn.ModuleList(
            GRU(input_dim=input_dim, dim=dim, bidirectional=bidirectional) for _ in range(language_count)
        )

    @property
    def per_language(self) -> bool:
        """One GRU per language."""
        return True

    def forward(self, tokens: Tokens) -> Tokens:
        branches = [
            lambda values, mask, layer=layer: layer(Tokens(values, mask)).values for layer in self.layers
        ]
        return replace(tokens, values=by_language(branches, tokens.runs, tokens.values, tokens.mask))

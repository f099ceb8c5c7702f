"""The universal word space: vectors of a language pass through its layer, shared vectors stay unchanged."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lingvis.errors import UserError
from lingvis.layers.per_language import PerLanguageLinear
from lingvis.text.tokenizers.base import Vocabulary
from lingvis.types import LanguageRows, Runs

SCALE = 0.1  # standard deviation of random vectors


class WordSpace(nn.Module):
    """Row numbers [B, L] -> universal vectors [B, L, dim].

    The first `shared` rows are vectors of the universal space for all languages. Then come the words of each
    language, own[n] of language n, whose vectors [words, vector_dim] pass through the linear layer of the language.
    vectors: the initial values of these. lender: the language whose words also occur in sentences of other languages;
    they always pass through the lender's layer.

    A vector depends on its row number alone. So in evaluation without gradients all vectors are computed once
    and looked up until a weight changes: a deployed model needs no multiplication here.
    """

    def __init__(
        self,
        *,
        shared: int,
        own: Sequence[int],
        vector_dim: int,
        dim: int,
        vectors: Tensor | None = None,
        lender: int = -1,
    ) -> None:
        super().__init__()
        self.dim, self.own = dim, tuple(own)
        ends = tuple(accumulate(self.own, initial=shared))
        self._lender, self._lent = lender, ends[lender : lender + 2]
        self._kept: tuple[tuple[tuple[int, int], ...], Tensor] | None = None
        self.project: PerLanguageLinear | None = None
        scale = SCALE
        if sum(self.own):
            start = SCALE * torch.randn(sum(self.own), vector_dim) if vectors is None else fill_empty(vectors)
            self.vectors = nn.Parameter(start)
            self.project = PerLanguageLinear(languages=len(self.own), input_dim=vector_dim, dim=dim)
            with torch.no_grad():
                scale = float(self.project.blocks(self.vectors, self.own).std(correction=0))
        self.shared = nn.Parameter(scale * torch.randn(shared, dim))

    def forward(self, rows: Tensor, runs: Runs, languages: LanguageRows | None = None) -> Tensor:
        """languages: see TextBatch."""
        if not self.training and not torch.is_grad_enabled():
            return F.embedding(rows, self.table())
        shared = F.embedding(rows.clamp(max=len(self.shared) - 1), self.shared)
        if self.project is None:
            return shared
        if languages is None:
            vectors = self._vectors(rows)
            own = self._borrowed(rows, vectors, self.project(vectors, runs))
        else:
            lines = rows[languages.rows]
            vectors = self._vectors(lines)
            own = self._borrowed(lines, vectors, self.project.lines(vectors, languages.langs))
            own = own.flatten(0, 1).index_select(0, languages.places)
        return torch.where((rows < len(self.shared)).unsqueeze(-1), shared, own)

    def _vectors(self, rows: Tensor) -> Tensor:
        """The vectors of rows before the layer of their language; any for shared ones."""
        return F.embedding((rows - len(self.shared)).clamp(min=0), self.vectors)

    def _borrowed(self, rows: Tensor, vectors: Tensor, own: Tensor) -> Tensor:
        """Universal vectors `own`, where words of the lender have passed through its layer."""
        if self._lender < 0 or self.project is None:
            return own
        first, end = self._lent
        is_lent = ((rows >= first) & (rows < end)).unsqueeze(-1)
        return torch.where(is_lent, self.project.layers[self._lender](vectors), own)

    def table(self) -> Tensor:
        """The universal vectors of all rows, float32 [rows, dim], without gradients."""
        state = tuple(
            (each.data_ptr(), 0 if each.is_inference() else each._version) for each in self.parameters()
        )
        if self._kept is None or self._kept[0] != state:
            device = self.shared.device.type
            # Tensors made under inference mode cannot be used outside it.
            with torch.inference_mode(False), torch.no_grad(), torch.autocast(device, enabled=False):
                own = [] if self.project is None else [self.project.blocks(self.vectors, self.own)]
                self._kept = state, torch.cat([self.shared, *own])
        return self._kept[1]

    def train(self, mode: bool = True) -> WordSpace:
        """Switch the mode; training mode drops the kept table, since weights are about to change."""
        if mode:
            self._kept = None
        super().train(mode)
        return self

    @property
    def table_values(self) -> int:
        """Number of values of the table, the only word weights of a deployed model.

        Burns et al. 2020 do not count it: their words have no parameters at test time.
        """
        return (len(self.shared) + sum(self.own)) * self.dim


def fill_empty(vectors: Tensor) -> Tensor:
    """Replace rows of zeros (words without a vector) by random ones with the standard deviation of the others."""
    known = vectors.ne(0).any(dim=1, keepdim=True)
    scale = vectors[known.squeeze(1)].std(correction=0) if known.any() else vectors.new_tensor(SCALE)
    return torch.where(known, vectors, scale * torch.randn_like(vectors))


def check_blocks(vocabulary: Vocabulary, part: str) -> None:
    """Raise unless each language has a block of the vocabulary."""
    if not vocabulary.blocks:
        raise UserError(
            f"text.words {part} needs separate words per language; set text.tokenizer.name = language_words"
        )


def check_vectors(vectors: Tensor, vocabulary: Vocabulary, vector_dim: int) -> Tensor:
    """The vectors; raises if they do not fit the vocabulary and the recipe."""
    if vectors.shape != (vocabulary.size, vector_dim):
        raise UserError(
            f"text.words.vector_dim is {vector_dim} for {vocabulary.size} words, but the vectors are "
            f"{' x '.join(map(str, vectors.shape))}; set text.words.vector_dim to their size"
        )
    return vectors

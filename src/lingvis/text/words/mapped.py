"""Translator: fixed word vectors of one language, mapped into the word space of another by one linear map."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lingvis.arrays import Floats
from lingvis.bounds import Count
from lingvis.errors import UserError
from lingvis.recipes.schema import Recipe
from lingvis.text.tokenizers.base import Vocabulary
from lingvis.text.words.base import WORDS, WordPart
from lingvis.text.words.space import check_blocks, check_vectors
from lingvis.types import TextBatch, Tokens

FITTED = ("procrustes", "rcsls")  # maps that need a dictionary and another model


@WORDS.register("mapped", "fixed pretrained vectors through one linear map between languages (Translator)")
class MappedWords(WordPart):
    """ids [B, L] -> [B, L, vector_dim]: M x, where x is the vector of a word (Liu, Lebret, Aberer: f(M t)).

    vectors: float32 [vocabulary.size, vector_dim], prepared as in `lingvis.text.alignment`, zeros for words
    without a vector; None when a saved model is loaded. map: "none" leaves M out; "random" is a random rotation, which
    differs from a fitted one only in its directions; "procrustes" and "rcsls" start from `matrix`
    [vector_dim, vector_dim], which was fitted with `dictionary`, a file that this class never reads.

    Special tokens belong to no language: their vectors are in the space after the map. The vectors of words are
    parameters, so that optimizer.factors can freeze them, as the recipes do.
    """

    keeps_vectors: ClassVar[bool] = True

    @classmethod
    def problems(cls, recipe: Recipe) -> Iterator[str]:
        """Every word with a vector stays in the vocabulary; only a fitted map has a dictionary."""
        tokenizer, words = recipe.text.tokenizer.options, recipe.text.words.options
        if tokenizer.get("min_count") != 1 or tokenizer.get("rare_below"):
            yield (
                "text.words mapped keeps every word that has a vector; set text.tokenizer.name = language_words with "
                "min_count = 1 and without rare_below"
            )
        if words.get("dictionary") and words.get("map") not in FITTED:
            yield (
                f"text.words.dictionary is {words['dictionary']!r}, but text.words.map is {words.get('map')}, which "
                f"needs none; set text.words.map = {FITTED[0]} or {FITTED[1]}, or leave the dictionary out"
            )

    def __init__(
        self,
        *,
        vocabulary: Vocabulary,
        vectors: Floats | None = None,
        matrix: Floats | None = None,
        vector_dim: Count,
        map: Literal["none", "random", "procrustes", "rcsls"],
        dictionary: str = "",
    ) -> None:
        super().__init__()
        check_blocks(vocabulary, "mapped")
        if map != "none" and len(vocabulary.languages) > 1:
            raise UserError(
                f"text.words.map = {map!r} maps one language into the space of another, but the captions are in "
                f"{', '.join(vocabulary.languages)}; name one in data.languages, or set text.words.map = none"
            )
        self.dim, self.words = vector_dim, vocabulary.own_words
        special = len(vocabulary.special)
        scale = vector_dim**-0.5  # standard deviation in vectors of unit length
        start = scale * torch.randn(vocabulary.size - special, vector_dim)
        if vectors is not None:
            start = check_vectors(torch.from_numpy(vectors), vocabulary, vector_dim)[special:]
        self.vectors = nn.Parameter(start)
        self.special = nn.Parameter(scale * torch.randn(special, vector_dim))
        self.translator: nn.Linear | None = None
        if map != "none":
            self.translator = nn.Linear(vector_dim, vector_dim, bias=False)
            nn.init.orthogonal_(self.translator.weight)
            if matrix is not None:
                self.translator.weight.data.copy_(torch.from_numpy(matrix))

    def forward(self, batch: TextBatch) -> Tokens:
        # Ids are row numbers: special tokens come first, then the words.
        count = len(self.special)
        special = F.embedding(batch.ids.clamp(max=count - 1), self.special)
        words = self._mapped(F.embedding((batch.ids - count).clamp(min=0), self.vectors))
        chosen = torch.where((batch.ids < count).unsqueeze(-1), special, words)
        return batch.tokens(chosen)

    def table(self) -> Floats:
        """The vectors of `words` after the map, [words, vector_dim]: the input space of the encoder."""
        with torch.no_grad():
            values: Floats = self._mapped(self.vectors).cpu().numpy()
        return values

    def _mapped(self, vectors: Tensor) -> Tensor:
        return vectors if self.translator is None else self.translator(vectors)

"""SMALR's hybrid embedding: frequent words have separate vectors, all others share latent tokens."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import torch
from pydantic import Field
from torch import Tensor

from lingvis.arrays import Floats
from lingvis.bounds import Count
from lingvis.errors import UserError
from lingvis.files import write_json
from lingvis.recipes.schema import Recipe
from lingvis.text.tokenizers.base import Vocabulary
from lingvis.text.words.base import WORDS, WordPart
from lingvis.text.words.latent import Assignment
from lingvis.text.words.space import WordSpace, check_blocks, check_vectors
from lingvis.types import TextBatch, Tokens
from lingvis.untrusted import read_json


@WORDS.register("hybrid", "separate vectors for frequent words, shared latent tokens for the others (SMALR)")
class HybridWords(WordPart):
    """ids [B, L] -> [B, L, dim] (Burns et al. 2020, section 3.1, HEM).

    The first `own` words of each language have separate vectors, which pass through the linear layer of the
    language. Every other word has the vector of ONE latent token: the choice of the token is fixed, its vector is
    trained. Tokens without a word are dropped. own = 0 is the language-agnostic baseline (LA). Special tokens have
    vectors of the universal space.

    vectors: the start of the own vectors, as in `universal`, reduced to vector_dim by PCA. assignment: from the
    pre-training. folder: instead of both, the folder of a saved model, whose weights the caller loads.
    """

    FILE = "latent.json"
    row_of: Tensor

    @classmethod
    def problems(cls, recipe: Recipe) -> Iterator[str]:
        """The latent tokens need pre-training."""
        if recipe.pretraining.name != "latent":
            yield (
                f"text.words hybrid starts from latent tokens, but pretraining.name is {recipe.pretraining.name}; "
                "set pretraining.name = latent, or choose another text.words.name"
            )

    def __init__(
        self,
        *,
        vocabulary: Vocabulary,
        vectors: Floats | None = None,
        assignment: Assignment | None = None,
        folder: Path | None = None,
        own: Annotated[int, Field(ge=0)] = 5000,
        vector_dim: Count = 50,
        dim: Count,
    ) -> None:
        super().__init__()
        check_blocks(vocabulary, "hybrid")
        self.dim, special = dim, len(vocabulary.special)
        own_ids = _own_ids(vocabulary, own)
        if assignment is not None:
            if assignment.vectors.shape[1] != dim:
                raise UserError(
                    f"text.words.dim is {dim}, but the latent tokens have {assignment.vectors.shape[1]} dimensions; "
                    "make the dim of text.words and of pretraining equal"
                )
            used, rows = _rows(vocabulary, own_ids, assignment)
            self.latent = len(used)
        elif folder is not None:
            self.latent = _stored_tokens(folder / self.FILE)
            rows = torch.zeros(vocabulary.size, dtype=torch.int64)
        else:
            raise UserError(
                "text.words hybrid has no latent tokens to start from; set pretraining.name = latent"
            )
        start = None
        if vectors is not None:
            start = check_vectors(torch.from_numpy(vectors), vocabulary, vector_dim)[own_ids]
        self.space = WordSpace(
            shared=special + self.latent,
            own=[min(own, end - first) for first, end in vocabulary.blocks],
            vector_dim=vector_dim,
            dim=dim,
            vectors=start,
            lender=vocabulary.lender,
        )
        if assignment is not None:
            with torch.no_grad():
                self.space.shared[special:] = assignment.vectors[used].to(self.space.shared)
        self.register_buffer("row_of", rows)

    def save(self, folder: Path) -> None:
        """Write the number of latent tokens, which the shapes of the weights depend on."""
        write_json(folder / self.FILE, {"latent": self.latent})

    @property
    def per_language(self) -> bool:
        """True if some words have separate vectors: they pass through one linear layer per language."""
        return self.space.project is not None

    @property
    def table_values(self) -> int:
        """Number of values in the word table of a deployed model."""
        return self.space.table_values

    @property
    def trained_vectors(self) -> Tensor | None:
        """The vectors of words with separate vectors."""
        return None if self.space.project is None else self.space.vectors

    def forward(self, batch: TextBatch) -> Tokens:
        return batch.tokens(self.space(self.row_of[batch.ids], batch.runs, batch.languages))


def _own_ids(vocabulary: Vocabulary, own: int) -> Tensor:
    """Ids of the words with separate vectors, language by language."""
    ids = [torch.arange(first, min(first + own, end)) for first, end in vocabulary.blocks]
    return torch.cat(ids)


def _rows(vocabulary: Vocabulary, own_ids: Tensor, assignment: Assignment) -> tuple[Tensor, Tensor]:
    """The used latent tokens, ascending, and the row of each id; rows: special tokens, latent tokens, own words."""
    special = len(vocabulary.special)
    shares = torch.ones(vocabulary.size, dtype=torch.bool)
    shares[:special] = False
    shares[own_ids] = False
    used, places = torch.unique(assignment.token_of.cpu()[shares], return_inverse=True)
    rows = torch.arange(vocabulary.size)
    rows[shares] = special + places
    rows[own_ids] = special + len(used) + torch.arange(len(own_ids))
    return used, rows


def _stored_tokens(file: Path) -> int:
    try:
        latent = read_json(file)["latent"]
        if type(latent) is not int or latent < 0:
            raise ValueError(f"latent must be a number of tokens, got {latent!r}")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{file} is damaged ({error}); restore the file or train again") from error
    return latent

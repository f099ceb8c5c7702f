"""Trained word vectors stay near the pre-trained ones that they started from."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from lingvis.errors import UserError
from lingvis.terms.base import TERMS, Step, Term


@TERMS.register("word_anchor", "word vectors stay near their start values (MULE)")
class WordAnchor(Term):
    """|W - W0|^2 / 2 over the table of word vectors, in the program of MULE (Kim et al. 2020) with weight 5e-7.

    word_table: returns W, the trained vectors [words, dim]. W0 is their value when the term is built, which is the same
    in a resumed run.
    """

    start: Tensor

    def __init__(self, *, word_table: Callable[[], Tensor | None]) -> None:
        super().__init__()
        table = word_table()
        if table is None:
            raise UserError(
                "term word_anchor keeps word vectors near stored ones, but text.words has none to train; set its weight to "
                "0, or text.words.name = universal"
            )
        self._table = word_table
        self.register_buffer("start", table.detach().clone(), persistent=False)

    def forward(self, step: Step) -> Tensor:
        table = self._table()
        assert table is not None
        return (table - self.start).square().sum() / 2

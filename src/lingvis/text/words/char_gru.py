"""charGRU: words from the last state of a GRU over their letters."""

from __future__ import annotations

from torch import Tensor, nn

from lingvis.bounds import Count
from lingvis.layers.recurrent import MaskedGRU
from lingvis.text.tokenizers.base import Vocabulary
from lingvis.text.words.base import WORDS
from lingvis.text.words.spelled import SpelledWordPart
from lingvis.types import SpelledWords


@WORDS.register("char_gru", "words from the last state of a GRU over their letters")
class CharacterGRU(SpelledWordPart):
    """Letter vectors [words, word_length, letter_dim] -> last state [words, dim]; no letters: zero.

    charGRU of Wehrmann et al. 2019.
    """

    def __init__(self, *, vocabulary: Vocabulary, letter_dim: Count = 24, dim: Count = 300) -> None:
        super().__init__(vocabulary=vocabulary, dim=dim)
        self.letters = nn.Embedding(vocabulary.letters, letter_dim, padding_idx=0)
        self.gru = MaskedGRU(input_dim=letter_dim, hidden=dim, bidirectional=False)

    def compose(self, words: SpelledWords) -> Tensor:
        mask = words.letters > 0
        states = self.gru(self.letters(words.letters), mask)
        last = (mask.sum(dim=1) - 1).clamp(min=0)
        ends: Tensor = states.gather(1, last[:, None, None].expand(-1, 1, self.dim)).squeeze(1)
        return ends

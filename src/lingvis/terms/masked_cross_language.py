"""Masked cross-language modelling: a sentence helps to restore the hidden words of its translation."""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lingvis.bounds import Share
from lingvis.pooling.simple import Last
from lingvis.recipes.rules import chunk_problems
from lingvis.recipes.schema import Recipe
from lingvis.terms.base import TERMS, Step, Term, Views
from lingvis.types import Tokens


@TERMS.register("masked_pairs", "two languages restore each other's hidden words (SMALR)")
class MaskedCrossLanguage(Term):
    """|| l2(Sm_i + S'_i) - l2(S_i) || + the same for j, for the sentences of every two languages i < j.

    Of several sentences of one language about a picture, the first is used; a picture that lacks a sentence in one
    of two languages does not count for that pair. p: the share of words that `hide_words` hides.

    Burns et al. 2020, Eq. 2: (S'_i, S'_j) = FC(concat(Sm_i, Sm_j)), with one FC for all language pairs. S is the
    average and the recurrent representation (supplement 7.4) before and after the multimodal model (Sec.
    3.3), each with a separate FC. Averages leave hidden words out, recurrent representations have the mask token
    in their place; the recurrent representation of words is the last state of an LSTM and a linear layer, both
    used here only. The paper does not specify how the parts are summed and whether S_i is a fixed target: here it
    is the mean over pictures, language pairs and representations, and S_i is learnt too.
    """

    def __init__(self, *, word_dim: int, dim: int, language_count: int, p: Share = 0.2) -> None:
        super().__init__()
        self.p = p
        self.language_count = language_count
        self.recurrent = nn.LSTM(word_dim, word_dim, batch_first=True)
        self.last = Last()
        self.project = nn.Linear(word_dim, word_dim)
        self.restore = nn.ModuleList(_Restore(size) for size in (word_dim, word_dim, dim, dim))

    @classmethod
    def problems(cls, recipe: Recipe) -> Iterator[str]:
        """Neither pseudo captions nor names of classes can be in the batch: the term hides words of every sentence."""
        if recipe.pseudo.name != "none":
            yield (
                f"pseudo.name is {recipe.pseudo.name}, but term masked_pairs hides words of human captions in every "
                "batch; leave out one of them"
            )
        if recipe.data.classes:
            yield (
                "data.classes is true, but term masked_pairs hides words of human captions in every batch; leave out "
                "one of them"
            )
        yield from chunk_problems(recipe, "term masked_pairs encodes")

    @property
    def rereads(self) -> bool:
        """True: the term needs the sentences with words hidden."""
        return True

    def forward(self, step: Step) -> Tensor:
        reading = step.reread(self.p)
        found = first_rows(step.groups, step.langs, step.columns.group_count(), self.language_count)
        first, second = torch.triu_indices(found.shape[1], found.shape[1], offset=1, device=found.device)
        counted = (found[:, first] >= 0) & (found[:, second] >= 0)
        rows = found.clamp(min=0)
        levels = zip(
            self.restore, self._levels(reading.hidden, rows), self._levels(reading.whole, rows), strict=True
        )
        costs = [restore(hidden, target, first, second) for restore, hidden, target in levels]
        cost = torch.stack(costs).mean(dim=0)
        return torch.where(counted, cost, 0.0).sum() / counted.sum().clamp(min=1)

    def _levels(self, views: Views, rows: Tensor) -> tuple[Tensor, ...]:
        """The four representations of the sentences in rows [G, N]: [G, N, word dim] twice, then [G, N, dim] twice.

        The LSTM reads these alone, about half of the sentences.
        """
        flat = rows.flatten()
        states = self.recurrent(views.words.values[flat].float())[0]
        recurrent = self.project(self.last(Tokens(states, views.words.mask[flat])))
        levels = (views.word_average[flat], recurrent, views.sentence_average[flat], views.sentence[flat])
        return tuple(level.float().unflatten(0, rows.shape) for level in levels)


class _Restore(nn.Module):
    """Eq. 2 for one representation: masked and whole [G, N, D], languages first and second [P] -> [G, P]."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.missing = nn.Linear(2 * dim, 2 * dim)

    def forward(self, masked: Tensor, whole: Tensor, first: Tensor, second: Tensor) -> Tensor:
        # Each half of the layer is applied once per sentence, not once per pair.
        left, right = self.missing.weight.chunk(2, dim=1)
        both = F.linear(masked, left, self.missing.bias)[:, first] + F.linear(masked, right)[:, second]
        target = F.normalize(whole, dim=-1)
        of_first, of_second = both.chunk(2, dim=-1)
        cost = _distance(masked[:, first] + of_first, target[:, first])
        return cost + _distance(masked[:, second] + of_second, target[:, second])


def _distance(vectors: Tensor, unit: Tensor) -> Tensor:
    # The norm, unlike the root of a sum of squares, has a finite gradient (zero) where the two are equal.
    distance: Tensor = torch.linalg.vector_norm(F.normalize(vectors, dim=-1) - unit, dim=-1)
    return distance


def first_rows(groups: Tensor, langs: Tensor, group_count: int, language_count: int) -> Tensor:
    """Row of the first sentence about each picture in each language, -1 where there is none, [group_count, languages].

    groups and langs int64 [T]: picture and language of each sentence; group_count: at least the number of pictures.
    """
    ascending, order = groups.sort(stable=True)
    is_first = torch.ones_like(groups, dtype=torch.bool)
    is_first[1:] = ascending[1:] != ascending[:-1]
    picture = torch.empty_like(groups).scatter_(0, order, is_first.cumsum(dim=0) - 1)
    rows = torch.full((group_count * language_count,), len(groups), device=groups.device)
    every = torch.arange(len(groups), device=groups.device)
    rows.scatter_reduce_(0, picture * language_count + langs, every, reduce="amin")
    return torch.where(rows < len(groups), rows, -1).view(group_count, language_count)


def hide_words(ids: Tensor, mask: Tensor, special: Tensor, p: float) -> Tensor:
    """Which words to hide, bool [T, L]: each with probability `p`, never special tokens, never all of a sentence.

    ids int64 [T, L], mask bool [T, L], special int64 [S], all on one device. The word with the highest draw
    always stays visible: a sentence never loses all words, and a one-word sentence none.
    """
    words = mask & ~torch.isin(ids, special)
    draws = torch.rand(ids.shape, device=ids.device)
    highest = draws.masked_fill(~words, -1.0).argmax(dim=1, keepdim=True)
    return (draws < p).scatter(1, highest, False) & words

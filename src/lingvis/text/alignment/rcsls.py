"""A linear map that serves retrieval: relaxed CSLS (Joulin et al. 2018), with step halving."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from lingvis.arrays import Floats, Ints
from lingvis.device import choose_device
from lingvis.text.alignment.neighbours import blocks, top_k
from lingvis.text.alignment.procrustes import orthogonal

# Of lengths 1 and 5 and 5 to 20 steps the best on words set aside: results/alignment/accuracy.json.
STEPS = 15
FIRST_STEP = 1.0
TINY_STEP = 1e-4


@dataclass(frozen=True, slots=True)
class Alignment:
    """A map from one word space into another: mapped = prepared vectors @ matrix.T.

    matrix: float32 [d, d]; pairs: how many it was fitted to; objective: its value at the start and after each
    step that was tried and kept or taken back; steps: the lengths of those steps. Procrustes makes no steps.
    """

    matrix: Floats
    pairs: int
    objective: list[float] = field(default_factory=list)
    steps: list[float] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class RcslsObjective:
    """Value and gradient of the objective at a matrix M [d, d], for n pairs (a, b) of matched vectors.

    Joulin et al. 2018, eq. 6: mean(-2 aᵀMᵀb + r(Ma, B) + r(b, MA)), r(x, Y) the mean inner product of x with its
    k nearest in Y. The Translator poster prints r(b, A); the mapped source vectors MA are meant, as b and A
    are in different spaces.

    source [s, d], target [t, d]: all vectors of both languages; pairs: int64 [n, 2], rows of the two. As
    bᵀMa = (Mᵀb)ᵀa, both kinds of neighbours are those of some mapped vectors in a table that is not mapped:
    there is no mapped copy of a language, and a word with several translations is looked up once.
    """

    source: Tensor
    target: Tensor
    pairs: Tensor
    k: int

    def __call__(self, matrix: Tensor) -> tuple[float, Tensor]:
        """The value, and the gradient [d, d] while each word keeps its neighbours."""
        forth, forth_slope = self._neighbours(matrix, self.source, self.pairs[:, 0], self.target)
        back, back_slope = self._neighbours(matrix.T, self.target, self.pairs[:, 1], self.source)
        slope = forth_slope + back_slope.T
        value = forth + back
        for here in blocks(len(self.pairs)):
            one, other = self.source[self.pairs[here, 0]], self.target[self.pairs[here, 1]]
            value -= 2 * float(((one @ matrix.T) * other).sum())
            slope -= 2 * other.T @ one
        return value / len(self.pairs), slope / len(self.pairs)

    def _neighbours(self, matrix: Tensor, own: Tensor, rows: Tensor, table: Tensor) -> tuple[float, Tensor]:
        """Sum over `rows` of own of the mean inner product with the nearest of table, and its gradient."""
        rows, counts = torch.unique(rows, return_counts=True)
        value, slope = 0.0, torch.zeros_like(matrix)
        for here in blocks(len(rows)):
            vectors = own[rows[here]]
            scores, nearest = top_k(vectors @ matrix.T, table, self.k)
            weights = counts[here].to(vectors.dtype)
            value += float((scores.mean(dim=1) * weights).sum())
            slope += table[nearest].mean(dim=1).T @ (vectors * weights[:, None])
        return value, slope


def rcsls(
    source: Floats,
    target: Floats,
    pairs: Ints,
    *,
    k: int = 10,
    spectral: bool = False,
    steps: int = STEPS,
    device: str | None = None,
    on_step: Callable[[float], None] = lambda objective: None,
) -> Alignment:
    """Fit a map from prepared vectors source [s, d] to target [t, d] by pairs, int64 [n, 2] of row numbers.

    k: nearest neighbours; spectral: keep the singular values at most 1; steps: at most so many are tried.
    `on_step` is called with the objective after each.
    """
    where = choose_device(device)
    all_source, all_target = (torch.from_numpy(values).to(where) for values in (source, target))
    rows = torch.from_numpy(pairs).to(where)
    objective = RcslsObjective(all_source, all_target, rows, k)
    start = orthogonal(all_source, all_target, rows)
    matrix, values, lengths = descend(objective, start, steps=steps, spectral=spectral, on_step=on_step)
    return Alignment(matrix.cpu().numpy(), len(pairs), values, lengths)


def descend(
    objective: Callable[[Tensor], tuple[float, Tensor]],
    matrix: Tensor,
    *,
    steps: int,
    spectral: bool,
    first_step: float = FIRST_STEP,
    halving: bool = True,
    on_step: Callable[[float], None] = lambda objective: None,
) -> tuple[Tensor, list[float], list[float]]:
    """Go down the gradient from matrix; the matrix reached, the objective at all matrices tried, the steps.

    A step that makes the objective worse is taken back and the next ones are half as long; without halving, for
    comparison, every step is kept.
    """
    value, slope = objective(matrix)
    values, lengths = [value], list[float]()
    step = first_step
    while len(lengths) < steps and step > TINY_STEP:
        tried = matrix - step * slope
        if spectral:
            tried = clip_spectrum(tried)
        tried_value, tried_slope = objective(tried)
        values.append(tried_value)
        lengths.append(step)
        on_step(tried_value)
        if tried_value < value or not halving:
            matrix, value, slope = tried, tried_value, tried_slope
        else:
            step /= 2
    return matrix, values, lengths


def clip_spectrum(matrix: Tensor) -> Tensor:
    """The nearest matrix without a singular value above 1.

    By the eigenvectors V of MᵀM, as float64: a decomposition of M itself can fail where many singular values
    are equal, and after a first clip they are.
    """
    squares, vectors = torch.linalg.eigh(matrix.T.double() @ matrix.double())
    shrink = squares.clamp(min=1).rsqrt()
    clipped: Tensor = (matrix.double() @ (vectors * shrink) @ vectors.T).float()
    return clipped

"""A linear map optimised for retrieval: relaxed CSLS (Joulin et al. 2018), with step halving."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from lingvis.arrays import Floats, Ints
from lingvis.device import choose_device
from lingvis.text.alignment.neighbours import blocks, top_k
from lingvis.text.alignment.procrustes import orthogonal

# Best on held-out words among first steps 1 and 5 and 5 to 20 steps: record accuracy of results/alignment/runs.jsonl.
STEPS = 15
FIRST_STEP = 1.0
TINY_STEP = 1e-4


def _ignore(objective: float) -> None:
    """Do nothing after a step."""


@dataclass(frozen=True, slots=True)
class RcslsOptions:
    """Options of RCSLS.

    k: number of nearest neighbours; spectral: keep all singular values at 1 or below; steps: number of steps to
    try; on_step: called with the value of the objective after each step.
    """

    k: int = 10
    spectral: bool = False
    steps: int = STEPS
    on_step: Callable[[float], None] = _ignore


DEFAULT_OPTIONS = RcslsOptions()


@dataclass(frozen=True, slots=True)
class Alignment:
    """A map from one word space into another: mapped = prepared vectors @ matrix.T.

    matrix: float32 [d, d]; pairs: number of pairs it was fitted to; objective: its value at the start and after
    each step tried, whether kept or undone; steps: the lengths of the steps tried. Procrustes has no steps.
    """

    matrix: Floats
    pairs: int
    objective: list[float] = field(default_factory=list)
    steps: list[float] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class RcslsObjective:
    """Value and gradient of the RCSLS objective at a matrix M [d, d], for n pairs (a, b) of matched vectors.

    Joulin et al. 2018, eq. 6: mean(-2 aᵀMᵀb + r(Ma, B) + r(b, MA)), with r(x, Y) the mean inner product of x
    with its k nearest in Y. The Translator poster prints r(b, A) but means the mapped source vectors MA, since b
    and A are in different spaces.

    source [s, d], target [t, d]: all vectors of both languages; pairs: int64 [n, 2], rows of the two. Because
    bᵀMa = (Mᵀb)ᵀa, both searches look up a few mapped vectors in a table that is not mapped: no mapped copy of a
    language is needed, and a word with several translations is looked up once.
    """

    source: Tensor
    target: Tensor
    pairs: Tensor
    k: int

    def __call__(self, matrix: Tensor) -> tuple[float, Tensor]:
        """The value, and the gradient [d, d] with the neighbours of each word held fixed."""
        forth, forth_slope = self._neighbours(matrix, self.source, self.pairs[:, 0], self.target)
        back, back_slope = self._neighbours(matrix.T, self.target, self.pairs[:, 1], self.source)
        slope = forth_slope + back_slope.T
        value = forth + back
        for part in blocks(len(self.pairs)):
            source, target = self.source[self.pairs[part, 0]], self.target[self.pairs[part, 1]]
            value -= 2 * float(((source @ matrix.T) * target).sum())
            slope -= 2 * target.T @ source
        return value / len(self.pairs), slope / len(self.pairs)

    def _neighbours(
        self, matrix: Tensor, vectors: Tensor, rows: Tensor, table: Tensor
    ) -> tuple[float, Tensor]:
        """Sum over vectors[rows], mapped, of the mean inner product with the k nearest of table, and its gradient."""
        rows, counts = torch.unique(rows, return_counts=True)
        value, slope = 0.0, torch.zeros_like(matrix)
        for part in blocks(len(rows)):
            block = vectors[rows[part]]
            scores, nearest = top_k(block @ matrix.T, table, self.k)
            weights = counts[part].to(block.dtype)
            value += float((scores.mean(dim=1) * weights).sum())
            slope += table[nearest].mean(dim=1).T @ (block * weights[:, None])
        return value, slope


def rcsls(
    source: Floats,
    target: Floats,
    pairs: Ints,
    options: RcslsOptions = DEFAULT_OPTIONS,
    *,
    device: str | None = None,
) -> Alignment:
    """Fit a map from prepared vectors source [s, d] to target [t, d] by pairs, int64 [n, 2] of row numbers."""
    where = choose_device(device)
    all_source, all_target = (torch.from_numpy(values).to(where) for values in (source, target))
    rows = torch.from_numpy(pairs).to(where)
    objective = RcslsObjective(all_source, all_target, rows, options.k)
    start = orthogonal(all_source, all_target, rows)
    matrix, values, lengths = descend(objective, start, options)
    return Alignment(matrix.cpu().numpy(), len(pairs), values, lengths)


def descend(
    objective: Callable[[Tensor], tuple[float, Tensor]],
    matrix: Tensor,
    options: RcslsOptions = DEFAULT_OPTIONS,
    *,
    first_step: float = FIRST_STEP,
    halving: bool = True,
) -> tuple[Tensor, list[float], list[float]]:
    """Descend from matrix; returns the matrix reached, the objective at every matrix tried and the step lengths.

    A step that makes the objective worse is undone, and later steps are half as long. Without halving, for
    comparison, every step is kept.
    """
    value, slope = objective(matrix)
    values, lengths = [value], list[float]()
    step = first_step
    while len(lengths) < options.steps and step > TINY_STEP:
        tried = matrix - step * slope
        if options.spectral:
            tried = clip_spectrum(tried)
        tried_value, tried_slope = objective(tried)
        values.append(tried_value)
        lengths.append(step)
        options.on_step(tried_value)
        if tried_value < value or not halving:
            matrix, value, slope = tried, tried_value, tried_slope
        else:
            step /= 2
    return matrix, values, lengths


def clip_spectrum(matrix: Tensor) -> Tensor:
    """The nearest matrix whose singular values are all at most 1.

    Uses the eigenvectors V of MᵀM in float64: a decomposition of M itself can fail when many singular values are
    equal, and after a first clip they are.
    """
    squares, vectors = torch.linalg.eigh(matrix.T.double() @ matrix.double())
    shrink = squares.clamp(min=1).rsqrt()
    clipped: Tensor = (matrix.double() @ (vectors * shrink) @ vectors.T).float()
    return clipped

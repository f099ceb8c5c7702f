"""How often the nearest word of the other language is a translation of a word."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from lingvis.arrays import Floats, Ints
from lingvis.device import choose_device
from lingvis.text.alignment.neighbours import blocks, top_k


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Percent of `words` source words whose nearest target word is a translation, by cosine (nn) and by CSLS."""

    words: int
    nn: float
    csls: float


def accuracy(
    matrix: Floats,
    source: Floats,
    target: Floats,
    pairs: Ints,
    *,
    k: int = 10,
    device: str | None = None,
) -> Accuracy:
    """Look up the source words of pairs among all targets; pairs: int64 [n, 2], rows of prepared source and target.

    CSLS (Conneau et al. 2018, eq. 3) subtracts from the score of each target word the mean cosine of its k nearest
    mapped source words, so that words close to everything win less often. A word with several translations is
    correct when any of them ranks first.
    """
    chosen = choose_device(device)
    m, a, b = (torch.from_numpy(values).to(chosen) for values in (matrix, source, target))
    scale = _inverse_lengths(m, a)
    hubness = torch.cat([top_k(b[block] @ m, a, k, scale=scale)[0].mean(dim=1) for block in blocks(len(b))])
    answers: dict[int, set[int]] = {}
    for word, translation in pairs.tolist():
        answers.setdefault(word, set()).add(translation)
    words = list(answers)
    right = {"nn": 0, "csls": 0}
    for block in blocks(len(words)):
        mapped = a[words[block]] @ m.T
        mapped /= mapped.norm(dim=1, keepdim=True).clamp(min=1e-12)
        # The other mean of CSLS, over neighbours of the source word, is the same for all targets.
        nearest = {"nn": top_k(mapped, b, 1)[1], "csls": top_k(2 * mapped, b, 1, less=hubness)[1]}
        for measure, rows in nearest.items():
            hits = zip(words[block], rows[:, 0].tolist(), strict=True)
            right[measure] += sum(row in answers[word] for word, row in hits)
    return Accuracy(len(words), *(100 * right[measure] / len(words) for measure in ("nn", "csls")))


def _inverse_lengths(matrix: Tensor, vectors: Tensor) -> Tensor:
    """1 / |Ma| of each row a; 0 for rows without length, such as words without a vector."""
    lengths = torch.cat([(vectors[block] @ matrix.T).norm(dim=1) for block in blocks(len(vectors))])
    return torch.where(lengths > 1e-12, 1 / lengths.clamp(min=1e-12), 0.0)

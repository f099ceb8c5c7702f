"""How often the nearest word of the other language is a translation."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from lingvis.arrays import Floats, Ints
from lingvis.device import choose_device
from lingvis.text.alignment.neighbours import blocks, top_k


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Percent of `words` source words whose first word is one of their translations: by cosine, and by CSLS."""

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
    """Look up the source words of pairs, int64 [n, 2] of rows of prepared source and target, among all targets.

    CSLS (Conneau et al. 2018, eq. 3) takes from each target word the mean cosine of its k nearest mapped source
    words, so that words near to everything win less often. A word with several translations is right when
    any of them comes first.
    """
    where = choose_device(device)
    m, a, b = (torch.from_numpy(values).to(where) for values in (matrix, source, target))
    scale = _inverse_lengths(m, a)
    crowded = torch.cat([top_k(b[here] @ m, a, k, scale=scale)[0].mean(dim=1) for here in blocks(len(b))])
    answers: dict[int, set[int]] = {}
    for word, translation in pairs.tolist():
        answers.setdefault(word, set()).add(translation)
    words = list(answers)
    right = {"nn": 0, "csls": 0}
    for here in blocks(len(words)):
        mapped = a[words[here]] @ m.T
        mapped /= mapped.norm(dim=1, keepdim=True).clamp(min=1e-12)
        # The mean cosine of a source word with its own nearest is the same for all targets.
        found = {"nn": top_k(mapped, b, 1)[1], "csls": top_k(2 * mapped, b, 1, less=crowded)[1]}
        for way, rows in found.items():
            hits = zip(words[here], rows[:, 0].tolist(), strict=True)
            right[way] += sum(row in answers[word] for word, row in hits)
    return Accuracy(len(words), *(100 * right[way] / len(words) for way in ("nn", "csls")))


def _inverse_lengths(matrix: Tensor, vectors: Tensor) -> Tensor:
    """1 / |Ma| of each row a; 0 where that has no length, as for words without a vector."""
    lengths = torch.cat([(vectors[here] @ matrix.T).norm(dim=1) for here in blocks(len(vectors))])
    return torch.where(lengths > 1e-12, 1 / lengths.clamp(min=1e-12), 0.0)

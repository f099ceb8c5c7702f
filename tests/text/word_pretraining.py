"""Pre-training of words on batches made by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from lingvis.training.pretraining import WordPretraining, pretrain
from lingvis.training.sampling import Sampler
from lingvis.types import TextBatch


class InTurn(Sampler):
    """One epoch: every batch once, in its order."""

    def __init__(self, count: int) -> None:
        self._count = count

    def batch_count(self) -> int:
        return self._count

    def epoch(self, seed: int, epoch: int) -> list[NDArray[np.int64]]:
        return [np.array([number]) for number in range(self._count)]


def pretrain_on(
    words: nn.Module,
    batches: Sequence[tuple[TextBatch, Tensor]],
    *,
    objective: Callable[[Tensor, Tensor], Tensor],
    lr: float,
    frozen: Sequence[str] = (),
) -> list[float]:
    """The loss of every step."""
    losses: list[float] = []

    def noted(scores: Tensor, positives: Tensor) -> Tensor:
        loss = objective(scores, positives)
        losses.append(loss.item())
        return loss

    task = WordPretraining(words, read=lambda rows: batches[int(rows[0])], objective=noted)
    pretrain(task, InTurn(len(batches)), epochs=1, lr=lr, seed=0, frozen=frozen)
    return losses

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from lingvis.objectives.top_triplet import TopTriplet

MARGIN = 0.3


def naive(
    scores: Tensor, positives: Tensor, *, hardest: int, image_weight: float, text_weight: float
) -> float:
    total, pairs = 0.0, 0
    images, texts = scores.shape
    for i in range(images):
        for t in range(texts):
            if not positives[i, t]:
                continue
            pairs += 1
            row = [float(scores[i, u]) for u in range(texts) if not positives[i, u]]
            column = [float(scores[j, t]) for j in range(images) if not positives[j, t]]
            for weight, values in ((image_weight, row), (text_weight, column)):
                top = sorted((value for value in values if value > -torch.inf), reverse=True)[:hardest]
                if top:
                    costs = [max(0.0, MARGIN + value - float(scores[i, t])) for value in top]
                    total += weight * sum(costs) / len(top)
    return total / pairs


def batch(seed: int) -> tuple[Tensor, Tensor]:
    """Six images, nine texts, several positives in rows and columns, some pairs that take no part."""
    generator = torch.Generator().manual_seed(seed)
    scores = torch.rand(6, 9, generator=generator, dtype=torch.float64)
    fate = torch.rand(6, 9, generator=generator)
    return scores.masked_fill(fate > 0.8, -torch.inf), fate < 0.25


@pytest.mark.parametrize("hardest", [1, 3, 100])
@pytest.mark.parametrize("seed", range(3))
def test_equals_a_naive_loop(seed: int, hardest: int) -> None:
    scores, positives = batch(seed)
    objective = TopTriplet(margin=MARGIN, hardest=hardest, image_weight=0.7, text_weight=1.5)
    expected = naive(scores, positives, hardest=hardest, image_weight=0.7, text_weight=1.5)
    assert float(objective(scores, positives)) == pytest.approx(expected)


def test_gradient() -> None:
    generator = torch.Generator().manual_seed(1)
    scores = torch.rand(5, 8, generator=generator, dtype=torch.float64, requires_grad=True)
    positives = torch.arange(5).unsqueeze(1) == torch.tensor([0, 0, 1, 2, 2, 2, 3, 4])
    objective = TopTriplet(margin=MARGIN, hardest=3, text_weight=1.5)
    assert torch.autograd.gradcheck(lambda s: objective(s, positives), (scores,))


@pytest.mark.parametrize("positive", [True, False])
def test_without_negatives_or_positives_it_is_zero_with_a_gradient(positive: bool) -> None:
    scores = torch.tensor([[0.3, 0.1]], requires_grad=True)
    loss = TopTriplet(margin=MARGIN, hardest=10)(scores, torch.full((1, 2), positive))
    loss.backward()
    assert float(loss.detach()) == 0.0
    assert torch.equal(scores.grad, torch.zeros(1, 2))  # type: ignore[arg-type]


def test_rows_that_fill_up_change_nothing() -> None:
    scores, positives = batch(2)
    more = torch.cat([scores, torch.full((2, 9), -torch.inf, dtype=scores.dtype)]).requires_grad_()
    objective = TopTriplet(margin=MARGIN, hardest=3)
    loss = objective(more, torch.cat([positives, torch.zeros(2, 9, dtype=torch.bool)]))
    (grad,) = torch.autograd.grad(loss, more)
    assert float(loss.detach()) == pytest.approx(float(objective(scores, positives)))
    assert torch.isfinite(grad).all()

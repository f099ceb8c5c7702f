from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from lingvis.objectives.base import OBJECTIVES
from lingvis.objectives.hardness import hardness
from lingvis.objectives.ranking import Ranking, hinge_all, hinge_hardest
from lingvis.types import Clock

MARGIN = 0.2


def naive(scores: Tensor, positives: Tensor, *, hardest: bool, margin: float = MARGIN) -> float:
    total = 0.0
    images, texts = scores.shape
    for i in range(images):
        for t in range(texts):
            if not positives[i, t]:
                continue
            row = [
                max(0.0, margin + float(scores[i, u] - scores[i, t]))
                for u in range(texts)
                if not positives[i, u]
            ]
            column = [
                max(0.0, margin + float(scores[j, t] - scores[i, t]))
                for j in range(images)
                if not positives[j, t]
            ]
            for costs in (row, column):
                if costs:
                    total += max(costs) if hardest else sum(costs)
    return total


def batch(seed: int) -> tuple[Tensor, Tensor]:
    """Five images, eleven texts, between one and four texts an image; the last image has none."""
    generator = torch.Generator().manual_seed(seed)
    owner = torch.tensor([0, 0, 0, 0, 1, 1, 2, 2, 2, 3, 3])
    scores = torch.rand(5, 11, generator=generator, dtype=torch.float64) * 2 - 1
    return scores, torch.arange(5).unsqueeze(1) == owner


@pytest.mark.parametrize("seed", range(5))
def test_hinges_equal_a_naive_loop(seed: int) -> None:
    scores, positives = batch(seed)
    assert float(hinge_all(scores, positives, MARGIN)) == pytest.approx(
        naive(scores, positives, hardest=False)
    )
    assert float(hinge_hardest(scores, positives, MARGIN)) == pytest.approx(
        naive(scores, positives, hardest=True)
    )


@pytest.mark.parametrize("seed", range(5))
def test_hinges_of_many_positives_and_pairs_that_take_no_part(seed: int) -> None:
    """Several positives in rows and in columns, as between sentences; a third of the rest is left out."""
    generator = torch.Generator().manual_seed(seed)
    scores = torch.rand(9, 7, generator=generator, dtype=torch.float64)
    fate = torch.rand(9, 7, generator=generator)
    positives = fate < 0.4
    scores = scores.masked_fill(fate > 0.8, -torch.inf).requires_grad_()
    for function, hardest in ((hinge_all, False), (hinge_hardest, True)):
        loss = function(scores, positives, MARGIN)
        (grad,) = torch.autograd.grad(loss, scores)
        assert float(loss.detach()) == pytest.approx(naive(scores.detach(), positives, hardest=hardest))
        assert torch.isfinite(grad).all()
        assert (grad[fate > 0.8] == 0).all()


def test_negatives_exactly_the_margin_below_and_scores_of_any_size() -> None:
    """Whole numbers and a margin of one: many hinges stand at their kink, where both countings must agree."""
    _, positives = batch(0)
    scores = torch.randint(-20, 20, (5, 11), generator=torch.Generator().manual_seed(4)).double()
    loss = hinge_all(scores, positives, 1.0)
    assert float(loss) == naive(scores, positives, hardest=False, margin=1.0)
    ties = scores.unsqueeze(1) + 1 == scores.unsqueeze(2)
    assert (ties & positives.unsqueeze(2) & ~positives.unsqueeze(1)).any()


def test_the_gradient_of_all_hinges_is_that_of_the_written_out_sum() -> None:
    scores, positives = batch(3)
    scores.requires_grad_()
    in_rows = (MARGIN + scores.unsqueeze(1) - scores.unsqueeze(2)).clamp(min=0)
    in_columns = (MARGIN + scores.T.unsqueeze(1) - scores.T.unsqueeze(2)).clamp(min=0)
    in_rows = in_rows * (positives.unsqueeze(2) & ~positives.unsqueeze(1))
    in_columns = in_columns * (positives.T.unsqueeze(2) & ~positives.T.unsqueeze(1))
    (expected,) = torch.autograd.grad(in_rows.sum() + in_columns.sum(), scores)
    (grad,) = torch.autograd.grad(hinge_all(scores, positives, MARGIN), scores)
    torch.testing.assert_close(grad, expected)


def test_a_score_that_is_no_number_is_not_hidden() -> None:
    scores, positives = batch(0)
    for function in (hinge_all, hinge_hardest):
        assert function(scores.index_fill(0, torch.tensor([1]), torch.nan), positives, MARGIN).isnan()


@pytest.mark.parametrize("function", [hinge_all, hinge_hardest])
def test_gradients(function: object) -> None:
    scores, positives = batch(0)
    scores.requires_grad_()
    assert torch.autograd.gradcheck(lambda s: function(s, positives, MARGIN), (scores,))  # type: ignore[operator]


def test_a_row_without_negatives_adds_nothing_and_has_finite_gradients() -> None:
    scores = torch.tensor([[0.3, 0.1]], requires_grad=True)
    positives = torch.ones(1, 2, dtype=torch.bool)
    loss = hinge_hardest(scores, positives, MARGIN) + hinge_all(scores, positives, MARGIN)
    loss.backward()  # type: ignore[no-untyped-call]
    assert float(loss.detach()) == 0.0
    assert scores.grad is not None
    assert torch.isfinite(scores.grad).all()


def test_a_picture_that_scores_minus_infinity_is_nobodys_negative() -> None:
    scores, positives = batch(2)
    more = torch.cat([scores, torch.full((2, 11), -torch.inf, dtype=scores.dtype)]).requires_grad_()
    none = torch.cat([positives, torch.zeros(2, 11, dtype=torch.bool)])
    for function in (hinge_all, hinge_hardest):
        loss = function(more, none, MARGIN)
        (grad,) = torch.autograd.grad(loss, more)
        assert float(loss.detach()) == pytest.approx(float(function(scores, positives, MARGIN)))
        assert torch.isfinite(grad).all()


def test_equal_scores_cost_twice_the_margin_a_pair() -> None:
    positives = torch.eye(128, dtype=torch.bool)
    loss = hinge_hardest(torch.full((128, 128), 0.7), positives, MARGIN)
    assert float(loss) == pytest.approx(2 * 128 * MARGIN, rel=1e-5)  # 51.2: where a collapsed model sticks
    loss = hinge_all(torch.full((128, 128), 0.7), positives, MARGIN)
    assert float(loss) == pytest.approx(2 * 128 * 127 * MARGIN, rel=1e-5)


@pytest.mark.parametrize(
    ("name", "clock", "expected"),
    [
        ("all", Clock(1000, 20), 0.0),
        ("hardest", Clock(0, 0), 1.0),
        ("warmup", Clock(999, 0), 0.0),
        ("warmup", Clock(1000, 1), 1.0),
        ("exponential", Clock(0, 0), 0.0),
        ("exponential", Clock(510, 3), 0.99005),
        ("linear", Clock(125, 0), 0.25),
        ("linear", Clock(900, 0), 1.0),
    ],
)
def test_hardness_over_time(name: str, clock: Clock, expected: float) -> None:
    k = hardness(name, warmup_epochs=1, base=0.991, ramp_steps=500)  # type: ignore[arg-type]
    assert k(clock) == pytest.approx(expected, abs=1e-4)


def test_mixture_is_weighted_and_evaluating_twice_changes_nothing() -> None:
    scores, positives = batch(1)
    objective = Ranking(margin=MARGIN, schedule="linear", ramp_steps=100)
    clock = Clock(step=30)
    expected = 0.7 * naive(scores, positives, hardest=False) + 0.3 * naive(scores, positives, hardest=True)
    assert float(objective(scores, positives, clock)) == pytest.approx(expected)
    assert float(objective(scores, positives, clock)) == pytest.approx(expected)


def test_every_registered_objective_prefers_the_right_pairs() -> None:
    positives = torch.eye(6, dtype=torch.bool)
    right = positives.float() * 2 - 1
    options: dict[str, dict[str, Any]] = {
        "ranking": {"margin": MARGIN, "schedule": "hardest"},
        "top_triplet": {"margin": MARGIN, "hardest": 2},
        "contrastive": {"temperature": 0.1},
        "distilled": {"temperature": 0.1},
    }
    for entry in OBJECTIVES:
        objective = entry.factory(**options[entry.name])
        assert float(objective(right, positives)) < float(objective(-right, positives))

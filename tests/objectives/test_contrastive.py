from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from lingvis.errors import UserError
from lingvis.objectives.contrastive import Contrastive


def naive(scores: Tensor, positives: Tensor, tau: float) -> float:
    total, pairs = 0.0, 0
    images, texts = scores.shape
    for i in range(images):
        for t in range(texts):
            if not positives[i, t]:
                continue
            pairs += 1
            own = math.exp(float(scores[i, t]) / tau)
            row = sum(math.exp(float(scores[i, u]) / tau) for u in range(texts) if not positives[i, u])
            column = sum(math.exp(float(scores[j, t]) / tau) for j in range(images) if not positives[j, t])
            total -= (math.log(own / (own + row)) + math.log(own / (own + column))) / 2
    return total / pairs


def batch(seed: int) -> tuple[Tensor, Tensor]:
    """Six images, nine texts, several positives in rows and columns, some pairs that take no part."""
    generator = torch.Generator().manual_seed(seed)
    scores = torch.rand(6, 9, generator=generator, dtype=torch.float64)
    fate = torch.rand(6, 9, generator=generator)
    return scores.masked_fill(fate > 0.8, -torch.inf), fate < 0.25


@pytest.mark.parametrize("tau", [0.05, 0.5])
@pytest.mark.parametrize("seed", range(3))
def test_equals_a_naive_loop(seed: int, tau: float) -> None:
    scores, positives = batch(seed)
    assert float(Contrastive(temperature=tau)(scores, positives)) == pytest.approx(
        naive(scores, positives, tau)
    )


def test_with_one_positive_each_it_is_cross_entropy_both_ways() -> None:
    scores = torch.rand(7, 7, generator=torch.Generator().manual_seed(0))
    target = torch.arange(7)
    ways = [torch.nn.functional.cross_entropy(logits, target) for logits in (scores / 0.07, scores.T / 0.07)]
    loss = Contrastive(temperature=0.07)(scores, torch.eye(7, dtype=torch.bool))
    torch.testing.assert_close(loss, sum(ways) / 2)


def test_gradients_of_scores_and_temperature() -> None:
    scores, positives = batch(1)
    objective = Contrastive(temperature=0.2, learned=True).double()
    assert objective.position is not None
    real = scores.nan_to_num(neginf=0.0).requires_grad_()

    def loss(values: Tensor, position: Tensor) -> Tensor:
        masked = values.masked_fill(scores.isneginf(), -torch.inf)
        found: Tensor = torch.func.functional_call(objective, {"position": position}, (masked, positives))
        return found

    assert torch.autograd.gradcheck(loss, (real, objective.position.detach().requires_grad_()))


@pytest.mark.parametrize("learned", [True, False])
def test_rows_without_positives_or_negatives_give_finite_gradients(learned: bool) -> None:
    """A row that fills up, a row with nothing but positives, a column that takes no part."""
    inf = -torch.inf
    scores = torch.tensor([[inf, inf, inf], [0.4, 0.2, inf], [inf, inf, inf]], requires_grad=True)
    positives = torch.tensor([[0, 0, 0], [1, 1, 0], [0, 0, 0]], dtype=torch.bool)
    objective = Contrastive(temperature=0.07, learned=learned)
    loss = objective(scores, positives)
    loss.backward()
    assert float(loss.detach()) == 0.0
    for leaf in (scores, *objective.parameters()):
        assert leaf.grad is not None
        assert torch.equal(leaf.grad, torch.zeros_like(leaf))


def test_rows_that_fill_up_change_nothing() -> None:
    scores, positives = batch(2)
    more = torch.cat([scores, torch.full((2, 9), -torch.inf, dtype=scores.dtype)])
    none = torch.cat([positives, torch.zeros(2, 9, dtype=torch.bool)])
    objective = Contrastive(temperature=0.1)
    torch.testing.assert_close(objective(more, none), objective(scores, positives))


def test_a_learned_temperature_starts_where_told_and_stays_within_its_bounds() -> None:
    objective = Contrastive(temperature=0.07, learned=True).requires_grad_(False)
    scores, positives = batch(0)
    assert float(objective.temperature) == pytest.approx(0.07)
    fixed = Contrastive(temperature=0.07)
    assert float(objective(scores, positives)) == pytest.approx(float(fixed(scores, positives)), rel=1e-5)
    assert not list(fixed.parameters())
    assert objective.position is not None
    for position, bound in ((-50.0, 0.005), (50.0, 1.0)):
        torch.nn.init.constant_(objective.position, position)
        assert float(objective.temperature) == pytest.approx(bound)


@pytest.mark.parametrize("temperature", [0.005, 1.0, 10.0])
def test_a_learned_temperature_out_of_bounds_is_refused(temperature: float) -> None:
    with pytest.raises(UserError, match=r"between 0\.005 and 1\.0, got"):
        Contrastive(temperature=temperature, learned=True)

"""Terms that imitate a teacher, against loops."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional as F

from lingvis.objectives import Contrastive
from lingvis.terms import Origin, Step, TeacherDistance, TeacherMatching

from .steps import make_step

GROUPS = [0, 1, 0, 2, 1, 9]
TAUGHT = [0, 1, 2, 4]  # sentences with a target: 3 has none, 5 is a pseudo caption


def make_taught_step() -> Step:
    torch.manual_seed(0)
    text_emb = F.normalize(torch.randn(6, 4, dtype=torch.float64), dim=-1).requires_grad_()
    targets = F.normalize(torch.randn(6, 4, dtype=torch.float64), dim=-1)
    targets[3] = 0
    return make_step(
        text_emb,
        groups=GROUPS,
        langs=[0, 0, 1, 1, 1, 0],
        origin=[Origin.HUMAN] * 2 + [Origin.TEXT_ONLY] * 3 + [Origin.PSEUDO],
        targets=targets,
    )


def test_the_distance_is_the_mean_over_sentences_with_a_target() -> None:
    step = make_taught_step()
    assert step.targets is not None
    texts, targets = step.text_emb.tolist(), step.targets.tolist()
    total = 0.0
    for row in TAUGHT:
        squared = sum((a - b) ** 2 for a, b in zip(texts[row], targets[row], strict=True))
        total += squared / 2 / len(TAUGHT)
    loss = TeacherDistance()(step)
    assert float(loss.detach()) == pytest.approx(total)
    (gradient,) = torch.autograd.grad(loss, step.text_emb)
    assert gradient[TAUGHT].abs().sum(dim=1).min() > 0
    assert not gradient[[3, 5]].any()


def test_matching_equals_a_loop_over_pairs_of_targets_and_sentences() -> None:
    step = make_taught_step()
    assert step.targets is not None
    tau, costs = 0.2, []
    texts, targets = step.text_emb.tolist(), step.targets.tolist()

    def score(target: int, text: int) -> float:
        return float(sum(a * b for a, b in zip(targets[target], texts[text], strict=True))) / tau

    for target in TAUGHT:
        for text in TAUGHT:
            if GROUPS[target] != GROUPS[text]:
                continue
            right = math.exp(score(target, text))
            others = [each for each in TAUGHT if GROUPS[each] != GROUPS[target]]
            in_row = sum(math.exp(score(target, each)) for each in others)
            in_column = sum(math.exp(score(each, text)) for each in others)
            costs += [-math.log(right / (right + in_row)), -math.log(right / (right + in_column))]
    loss = TeacherMatching(objective=Contrastive(temperature=tau))(step)
    assert float(loss.detach()) == pytest.approx(sum(costs) / len(costs))
    (gradient,) = torch.autograd.grad(loss, step.text_emb)
    assert gradient.isfinite().all()
    assert not gradient[[3, 5]].any()


def test_a_model_that_maps_all_sentences_to_one_point_has_the_blind_value() -> None:
    step = make_taught_step()
    term = TeacherMatching(objective=Contrastive(temperature=0.2))
    blind = term.blind(step)
    # Every pair has two negatives of the same score, in its row and in its column.
    assert blind is not None and float(blind) == pytest.approx(math.log(3))


def test_a_step_without_any_target_costs_nothing() -> None:
    step = make_step(torch.randn(3, 4), groups=[0, 1, 2], targets=torch.zeros(3, 4))
    assert float(TeacherDistance()(step)) == 0
    assert float(TeacherMatching(objective=Contrastive(temperature=0.2))(step)) == 0

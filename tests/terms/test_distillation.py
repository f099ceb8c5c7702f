"""Distillation against a loop."""

from __future__ import annotations

import math

import pytest
import torch

from lingvis.terms import Distillation, Origin
from lingvis.terms.distillation import soft_cross_entropy

from .steps import make_step


def test_cross_entropy_equals_a_naive_loop_and_skips_absent_rows() -> None:
    scores, taught = torch.randn(4, 3, dtype=torch.float64), torch.randn(4, 3, dtype=torch.float64)
    scores[2] = -torch.inf  # a picture without a sentence here
    scores.requires_grad_()
    rows = [0, 1, 3]
    tau, total = 0.3, 0.0

    def cost(own: list[float], wanted: list[float]) -> float:
        shares = [math.exp(each / tau) for each in wanted]
        whole = math.log(sum(math.exp(each / tau) for each in own))
        return -sum(w / sum(shares) * (o / tau - whole) for w, o in zip(shares, own, strict=True))

    own, wanted = scores.detach().tolist(), taught.tolist()
    total += sum(cost(own[i], wanted[i]) for i in rows) / len(rows) / 2
    columns = [([own[i][t] for i in rows], [wanted[i][t] for i in rows]) for t in range(3)]
    total += sum(cost(*each) for each in columns) / 3 / 2
    loss = soft_cross_entropy(scores, taught, tau)
    assert float(loss.detach()) == pytest.approx(total)
    loss.backward()  # type: ignore[no-untyped-call]
    assert scores.grad is not None and scores.grad.isfinite().all()
    assert (scores.grad[2] == 0).all()


def test_the_cost_is_lowest_where_the_scores_are_the_teachers() -> None:
    taught = torch.randn(5, 6, dtype=torch.float64)
    scores = taught.clone().requires_grad_()
    soft_cross_entropy(scores, taught, 0.1).backward()  # type: ignore[no-untyped-call]
    torch.testing.assert_close(scores.grad, torch.zeros(5, 6, dtype=torch.float64))


def test_teachers_may_have_another_precision() -> None:
    torch.manual_seed(0)
    scores, taught = torch.randn(3, 4, dtype=torch.float64), torch.randn(3, 4)
    scores[1] = -torch.inf
    assert torch.equal(
        soft_cross_entropy(scores, taught, 0.1), soft_cross_entropy(scores, taught.double(), 0.1)
    )


def test_only_pseudo_captions_and_their_pictures_count() -> None:
    torch.manual_seed(0)
    image_emb, text_emb, taught = torch.randn(4, 3), torch.randn(5, 3), torch.randn(4, 5)
    step = make_step(
        text_emb,
        groups=[0, 1, 2, 2, 3],
        origin=[Origin.HUMAN] * 2 + [Origin.PSEUDO] * 3,
        image_emb=image_emb,
        teacher_scores=taught,
    )
    expected = soft_cross_entropy(image_emb[2:] @ text_emb[2:].T, taught[2:, 2:], 0.2)
    torch.testing.assert_close(Distillation(temperature=0.2)(step), expected)
    assert float(Distillation(temperature=0.2)(step.of(Origin.HUMAN))) == 0.0

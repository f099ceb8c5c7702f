"""The six discriminators of A3VSE against loops, and the gradient that is turned round behind them."""

from __future__ import annotations

import math

import pytest
import torch

from lingvis.terms import Origin, Step
from lingvis.terms.domain_adversaries import PAIRS, DomainAdversaries
from lingvis.terms.gradient_reversal import ramp
from lingvis.types import Clock

from .steps import make_step

DIM, STEPS = 4, 100
WEIGHTS = {"intra": [0.2, 0.1], "cross": [0.5, 0.4], "transitive": [0.3, 0.25]}


def made(weights: dict[str, list[float]] = WEIGHTS) -> DomainAdversaries:
    torch.manual_seed(0)
    intra, cross, transitive = (weights[kind] for kind in ("intra", "cross", "transitive"))
    return DomainAdversaries(
        dim=DIM, total_steps=STEPS, hidden=6, intra=intra, cross=cross, transitive=transitive
    )


Domains = dict[str, torch.Tensor]


def origins() -> Domains:
    generator = torch.Generator().manual_seed(1)
    sizes = {"image": 3, "text": 5, "image_only": 2, "pseudo": 4}
    return {
        name: torch.randn(size, DIM, generator=generator).requires_grad_() for name, size in sizes.items()
    }


def step_of(domains: Domains, step: int) -> Step:
    """Three pictures with five human captions, two with four pseudo captions, and one that fills up the batch."""
    fill = torch.zeros(1, DIM)
    return make_step(
        torch.cat([domains["text"], domains["pseudo"]]),
        groups=[0, 0, 1, 2, 2, 3, 3, 4, 4],
        origin=[Origin.HUMAN] * 5 + [Origin.PSEUDO] * 4,
        image_emb=torch.cat([domains["image"], domains["image_only"], fill]),
        clock=Clock(step=step),
    )


def naive(adversaries: DomainAdversaries, domains: Domains, weights: dict[str, list[float]]) -> float:
    total = 0.0
    for kind, pairs in PAIRS.items():
        for (first, second), weight in zip(pairs, weights[kind], strict=True):
            if weight == 0:
                continue
            judge = adversaries.discriminators[f"{first}_{second}"]
            right = [1 / (1 + math.exp(-judge(each).item())) for each in domains[first]]
            wrong = [1 / (1 + math.exp(-judge(each).item())) for each in domains[second]]
            total -= weight * sum(math.log(p) for p in right) / len(right)
            total -= weight * sum(math.log(1 - p) for p in wrong) / len(wrong)
    return total


def test_equals_equations_4_to_8_by_loops() -> None:
    adversaries, domains = made(), origins()
    found = adversaries(step_of(domains, 50))
    assert found.item() == pytest.approx(naive(adversaries, domains, WEIGHTS), rel=1e-5)
    assert len(adversaries.discriminators) == 6


def test_a_weight_of_nothing_leaves_a_discriminator_out() -> None:
    weights = {**WEIGHTS, "cross": [0.0, 0.0]}
    adversaries, domains = made(weights), origins()
    assert set(adversaries.discriminators) == {
        "image_image_only",
        "text_pseudo",
        "image_pseudo",
        "image_only_text",
    }
    assert adversaries(step_of(domains, 0)).item() == pytest.approx(
        naive(adversaries, domains, weights), rel=1e-5
    )


def test_a_step_without_pseudo_captions_costs_nothing() -> None:
    assert made()(step_of(origins(), 50).of(Origin.HUMAN)).item() == 0.0


def _grad(values: torch.Tensor) -> torch.Tensor:
    assert values.grad is not None
    return values.grad.clone()


@pytest.mark.parametrize("step", [0, 30, 100])
def test_encoders_get_the_opposite_gradient_times_the_ramp(step: int) -> None:
    adversaries, domains = made(), origins()
    adversaries(step_of(domains, step)).backward()
    turned = [_grad(domains[name]) for name in ("image", "text", "image_only", "pseudo")]
    judges = [parameter.grad.clone() for parameter in adversaries.parameters() if parameter.grad is not None]
    plain = origins()
    adversaries.zero_grad()
    loss = torch.zeros(())
    for kind, pairs in PAIRS.items():
        for (first, second), weight in zip(pairs, WEIGHTS[kind], strict=True):
            judge = adversaries.discriminators[f"{first}_{second}"]
            loss = loss - weight * torch.sigmoid(judge(plain[first])).log().mean()
            loss = loss - weight * (1 - torch.sigmoid(judge(plain[second]))).log().mean()
    torch.autograd.backward(loss)
    strength = ramp(Clock(step=step), STEPS, 10.0)
    assert strength == pytest.approx(2 / (1 + math.exp(-10 * step / STEPS)) - 1)
    for found, name in zip(turned, ("image", "text", "image_only", "pseudo"), strict=True):
        torch.testing.assert_close(found, -strength * _grad(plain[name]), atol=1e-6, rtol=1e-4)
    for found, parameter in zip(judges, adversaries.parameters(), strict=True):
        torch.testing.assert_close(found, parameter.grad, atol=1e-6, rtol=1e-4)

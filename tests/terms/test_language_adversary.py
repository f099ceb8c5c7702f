"""The language adversary: its loss by hand, and the gradient reversal."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F

from lingvis.terms.language_adversary import LanguageAdversary
from lingvis.types import Clock

from .test_sentence_pairs import LANGS, sentences


def adversary() -> LanguageAdversary:
    torch.manual_seed(0)
    return LanguageAdversary(word_dim=3, language_count=3, total_steps=200)


@pytest.mark.parametrize(("step", "expected"), [(0, 0.0), (20, 0.46212), (100, 0.98661), (900, 0.99991)])
def test_strength_of_the_adversary_over_time(step: int, expected: float) -> None:
    assert adversary().strength(Clock(step=step)) == pytest.approx(expected, abs=1e-5)


def test_adversary_turns_the_gradient_for_features_but_not_for_its_classifier() -> None:
    step, term = sentences(3, Clock(step=20)), adversary()
    average = step.word_average.requires_grad_()
    loss = term(step)
    logits = average @ term.classifier.weight.T + term.classifier.bias
    by_hand = sum(
        math.log(sum(math.exp(float(value)) for value in row)) - float(row[lang])
        for row, lang in zip(logits.detach(), LANGS, strict=True)
    )
    assert float(loss.detach()) == pytest.approx(by_hand / 10, rel=1e-5)
    loss.backward()
    # The derivative of the cross entropy: (softmax - one-hot) / rows.
    error = (logits.softmax(dim=1) - F.one_hot(step.langs, 3)).detach() / 10
    torch.testing.assert_close(term.classifier.weight.grad, error.T @ average.detach())
    torch.testing.assert_close(term.classifier.bias.grad, error.sum(dim=0))
    # Scaled by lambda once: 0.46212, not its square.
    torch.testing.assert_close(
        average.grad, -0.462117 * (error @ term.classifier.weight.detach()), rtol=1e-4, atol=1e-7
    )

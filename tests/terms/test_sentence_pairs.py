from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from lingvis.objectives.contrastive import Contrastive
from lingvis.objectives.ranking import Ranking
from lingvis.objectives.top_triplet import TopTriplet
from lingvis.terms.language_adversary import LanguageAdversary
from lingvis.terms.sentence_pairs import SentencePairs
from lingvis.types import Clock, Sentences

MARGIN = 0.4
GROUPS = [0, 0, 0, 1, 1, 2, 2, 2, 2, 3]
LANGS = [0, 0, 1, 0, 2, 0, 1, 1, 2, 1]


def sentences(seed: int) -> Sentences:
    generator = torch.Generator().manual_seed(seed)
    emb = F.normalize(torch.randn(10, 4, generator=generator), dim=1)
    average = torch.randn(10, 3, generator=generator)
    return Sentences(emb, average, torch.tensor(GROUPS), torch.tensor(LANGS))


def meet(a: int, b: int, languages: str) -> bool:
    return languages == "any" or (LANGS[a] == LANGS[b]) == (languages == "same")


def naive_ranking(vectors: Tensor, languages: str) -> float:
    """Every pair once, each of its two sentences against all sentences about other pictures."""
    total = 0.0
    for a in range(10):
        for b in range(a + 1, 10):
            if GROUPS[a] != GROUPS[b] or not meet(a, b, languages):
                continue
            pair = F.cosine_similarity(vectors[a], vectors[b], dim=0)
            for query in (a, b):
                for other in range(10):
                    if GROUPS[other] != GROUPS[query] and meet(query, other, languages):
                        score = F.cosine_similarity(vectors[query], vectors[other], dim=0)
                        total += max(0.0, float(MARGIN + score - pair))
    return total


@pytest.mark.parametrize("languages", ["same", "different", "any"])
@pytest.mark.parametrize("on", ["sentence", "average"])
def test_pairs_equal_a_naive_loop(on: Any, languages: Any) -> None:
    step = sentences(1)
    term = SentencePairs(objective=Ranking(margin=MARGIN, schedule="all"), on=on, languages=languages)
    vectors = step.emb if on == "sentence" else step.average
    assert float(term(step, Clock())) == pytest.approx(naive_ranking(vectors, languages), rel=1e-5)


def test_two_captions_of_every_picture_give_the_cross_language_batch_of_liwe() -> None:
    """Captions in two languages: the term is the objective over the one's scores against the other's."""
    generator = torch.Generator().manual_seed(0)
    first, second = F.normalize(torch.randn(2, 6, 5, generator=generator), dim=-1)
    step = Sentences(
        torch.cat([first, second]),
        torch.zeros(12, 1),
        torch.arange(6).repeat(2),
        torch.arange(2).repeat_interleave(6),
    )
    objective = Ranking(margin=0.2, schedule="exponential", base=0.91)
    term = SentencePairs(objective=objective, on="sentence", languages="different")
    clock = Clock(step=7)
    expected = objective(first @ second.T, torch.eye(6, dtype=torch.bool), clock)
    torch.testing.assert_close(term(step, clock), expected)


@pytest.mark.parametrize(
    "objective",
    [
        Ranking(margin=MARGIN, schedule="linear", ramp_steps=10),
        TopTriplet(margin=MARGIN, hardest=2),
        Contrastive(temperature=0.1, learned=True),
    ],
    ids=lambda objective: type(objective).__name__,
)
def test_pairs_without_a_positive_are_zero_with_a_graph(objective: torch.nn.Module) -> None:
    step = sentences(2)
    emb = step.emb.requires_grad_()
    alone = replace(step, emb=emb, groups=torch.arange(10))
    loss = SentencePairs(objective=objective, on="sentence", languages="any")(alone, Clock(step=5))
    loss.backward()
    assert float(loss.detach()) == 0.0
    assert emb.grad is not None
    assert torch.equal(emb.grad, torch.zeros(10, 4))


def test_a_better_arrangement_costs_less() -> None:
    step = sentences(0)
    apart = F.normalize(torch.eye(4)[step.groups] + 0.1 * step.emb, dim=1)
    term = SentencePairs(objective=TopTriplet(margin=0.05, hardest=10), on="sentence", languages="different")
    assert float(term(replace(step, emb=apart), Clock())) == 0.0
    assert float(term(step, Clock())) > 0.1


def adversary() -> LanguageAdversary:
    torch.manual_seed(0)
    return LanguageAdversary(word_dim=3, language_count=3, total_steps=200)


@pytest.mark.parametrize(("step", "expected"), [(0, 0.0), (20, 0.46212), (100, 0.98661), (900, 0.99991)])
def test_strength_of_the_adversary_over_time(step: int, expected: float) -> None:
    assert adversary().strength(Clock(step=step)) == pytest.approx(expected, abs=1e-5)


def test_adversary_turns_the_gradient_for_features_but_not_for_its_classifier() -> None:
    step, term, clock = sentences(3), adversary(), Clock(step=20)
    average = step.average.requires_grad_()
    loss = term(step, clock)
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

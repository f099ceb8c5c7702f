from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from lingvis.objectives.base import Objective
from lingvis.objectives.contrastive import Contrastive
from lingvis.objectives.ranking import Ranking
from lingvis.objectives.top_triplet import TopTriplet
from lingvis.terms import Origin, Step
from lingvis.terms.sentence_pairs import SentencePairs
from lingvis.types import Clock

from .steps import make_step

MARGIN = 0.4
GROUPS = [0, 0, 0, 1, 1, 2, 2, 2, 2, 3]
LANGS = [0, 0, 1, 0, 2, 0, 1, 1, 2, 1]


def sentences(seed: int, clock: Clock = Clock()) -> Step:  # noqa: B008
    generator = torch.Generator().manual_seed(seed)
    emb = F.normalize(torch.randn(10, 4, generator=generator), dim=1)
    average = torch.randn(10, 3, generator=generator)
    return make_step(emb, groups=GROUPS, langs=LANGS, word_average=average, clock=clock)


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
    vectors = step.text_emb if on == "sentence" else step.word_average
    assert float(term(step)) == pytest.approx(naive_ranking(vectors, languages), rel=1e-5)


def naive_pair_of_languages(vectors: Tensor, first: int, second: int) -> tuple[float, int]:
    """Sum of hinges and number of positives between the sentences of two languages, or of one and itself."""
    total, pairs = 0.0, 0
    of_first = [n for n in range(10) if LANGS[n] == first]
    of_second = [n for n in range(10) if LANGS[n] == second]
    for a in of_first:
        for b in of_second:
            if GROUPS[a] != GROUPS[b] or (first == second and a >= b):
                continue
            pairs += 1
            pair = F.cosine_similarity(vectors[a], vectors[b], dim=0)
            for query, others in ((a, of_second), (b, of_first)):
                for other in others:
                    if GROUPS[other] != GROUPS[query]:
                        score = F.cosine_similarity(vectors[query], vectors[other], dim=0)
                        total += max(0.0, float(MARGIN + score - pair))
    return total, pairs


@pytest.mark.parametrize("languages", ["same", "different"])
@pytest.mark.parametrize("on", ["sentence", "average"])
def test_languages_apart_are_the_mean_over_languages_or_their_pairs(on: Any, languages: Any) -> None:
    step = sentences(3)
    order = torch.tensor(sorted(range(10), key=lambda n: LANGS[n]))  # as in a batch
    term = SentencePairs(
        objective=Ranking(margin=MARGIN, schedule="all"), on=on, languages=languages, languages_apart=True
    )
    vectors = step.text_emb if on == "sentence" else step.word_average
    which = [(0, 1), (0, 2), (1, 2)] if languages == "different" else [(0, 0), (1, 1), (2, 2)]
    values = [value for value, pairs in (naive_pair_of_languages(vectors, *each) for each in which) if pairs]
    assert len(values) == (
        3 if languages == "different" else 2
    )  # no two sentences of language 2 belong together
    expected = sum(values) / len(values)
    assert float(term(step)) == pytest.approx(expected, rel=1e-5)
    grouped = make_step(
        step.text_emb[order],
        groups=[GROUPS[n] for n in order],
        langs=[LANGS[n] for n in order],
        word_average=step.word_average[order],
    )
    assert float(term(grouped)) == pytest.approx(expected, rel=1e-5)


def test_two_captions_of_every_picture_give_the_cross_language_batch_of_liwe() -> None:
    """Captions in two languages: the term is the objective over the one's scores against the other's."""
    generator = torch.Generator().manual_seed(0)
    first, second = F.normalize(torch.randn(2, 6, 5, generator=generator), dim=-1)
    clock = Clock(step=7)
    step = make_step(torch.cat([first, second]), groups=[*range(6)] * 2, langs=[0] * 6 + [1] * 6, clock=clock)
    objective = Ranking(margin=0.2, schedule="exponential", base=0.91)
    term = SentencePairs(objective=objective, on="sentence", languages="different")
    expected = objective(first @ second.T, torch.eye(6, dtype=torch.bool), clock)
    torch.testing.assert_close(term(step), expected)


@pytest.mark.parametrize(
    "objective",
    [
        Ranking(margin=MARGIN, schedule="linear", ramp_steps=10),
        TopTriplet(margin=MARGIN, hardest=2),
        Contrastive(temperature=0.1, learned=True),
    ],
    ids=lambda objective: type(objective).__name__,
)
def test_pairs_without_a_positive_are_zero_with_a_graph(objective: Objective) -> None:
    step = sentences(2, Clock(step=5))
    emb = step.text_emb.requires_grad_()
    alone = replace(step, text_emb=emb, groups=torch.arange(10))
    loss = SentencePairs(objective=objective, on="sentence", languages="any")(alone)
    loss.backward()
    assert float(loss.detach()) == 0.0
    assert emb.grad is not None
    assert torch.equal(emb.grad, torch.zeros(10, 4))


def test_a_better_arrangement_costs_less() -> None:
    step = sentences(0)
    apart = F.normalize(torch.eye(4)[step.groups] + 0.1 * step.text_emb, dim=1)
    term = SentencePairs(objective=TopTriplet(margin=0.05, hardest=10), on="sentence", languages="different")
    assert float(term(replace(step, text_emb=apart))) == 0.0
    assert float(term(step)) > 0.1


def test_pseudo_captions_take_no_part() -> None:
    step = sentences(1)
    origin = step.columns.origin.copy()
    origin[[3, 6]] = Origin.PSEUDO
    term = SentencePairs(objective=Ranking(margin=MARGIN, schedule="all"), on="sentence", languages="any")
    kept = [n for n in range(10) if n not in (3, 6)]
    without = make_step(
        step.text_emb[kept], groups=[GROUPS[n] for n in kept], langs=[LANGS[n] for n in kept], clock=Clock()
    )
    marked = replace(step, columns=replace(step.columns, origin=origin))
    torch.testing.assert_close(term(marked), term(without))

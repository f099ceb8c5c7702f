"""Terms of classes against loops."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from lingvis.objectives.contrastive import Contrastive
from lingvis.terms import ClassNames, ClassScores, ClassStep, Origin, Step

from .steps import make_step

TAU = 0.3
# Sentences of classes 0, 1, 2, 2; the second names classes 1 and 2 ("bird").
CLASS_OF = [0, 1, 2, 2]
NAMED = [[0], [1, 2], [2], [2]]


def class_step(seed: int = 0) -> Step:
    generator = torch.Generator().manual_seed(seed)
    text_emb = torch.randn(6, 4, generator=generator)
    step = make_step(
        text_emb,
        groups=[0, 1, *(9 + each for each in CLASS_OF)],
        origin=[Origin.HUMAN] * 2 + [Origin.CLASS] * 4,
        image_emb=torch.randn(2, 4, generator=generator),
    )
    classes = ClassStep(
        image_emb=torch.randn(3, 4, generator=generator),
        positives=torch.arange(3).unsqueeze(1) == torch.tensor(CLASS_OF),
        named=torch.tensor([[k in NAMED[s] for s in range(4)] for k in range(3)]),
        scores=torch.randn(2, 7, generator=generator),
        known=torch.randn(2, 7, generator=generator).half(),
    )
    return replace(step, classes=classes)


def test_names_are_compared_with_classes_they_do_not_name() -> None:
    step = class_step()
    assert step.classes is not None
    scores = (step.classes.image_emb @ step.text_emb[2:].T / TAU).tolist()
    total = 0.0
    for sentence, own in enumerate(CLASS_OF):
        wrong = [k for k in range(3) if k not in NAMED[sentence]]
        others = [s for s in range(4) if own not in NAMED[s]]
        score = math.exp(scores[own][sentence])
        total -= math.log(score / (score + sum(math.exp(scores[k][sentence]) for k in wrong)))
        total -= math.log(score / (score + sum(math.exp(scores[own][s]) for s in others)))
    term = ClassNames(objective=Contrastive(temperature=TAU))
    assert float(term(step)) == pytest.approx(total / (2 * len(CLASS_OF)), rel=1e-5)


def test_classes_are_kept_by_the_cross_entropy_with_the_known_ones() -> None:
    step = class_step()
    assert step.classes is not None
    total = 0.0
    for now, before in zip(step.classes.scores.tolist(), step.classes.known.float().tolist(), strict=True):
        whole = math.log(sum(math.exp(each / 2.0) for each in now))
        shares = [math.exp(each / 2.0) for each in before]
        total -= sum(
            share / sum(shares) * (each / 2.0 - whole) for share, each in zip(shares, now, strict=True)
        )
    assert float(ClassScores(temperature=2.0)(step)) == pytest.approx(total / 2, rel=1e-4)


def test_repeated_pictures_that_fill_up_a_batch_do_not_count() -> None:
    step = class_step()
    assert step.classes is not None
    rows = torch.tensor([0, 1, 0, 0])
    classes = replace(step.classes, scores=step.classes.scores[rows], known=step.classes.known[rows])
    positives = torch.cat([step.positives, torch.zeros_like(step.positives)])
    filled = replace(step, image_emb=step.image_emb[rows], positives=positives, classes=classes)
    term = ClassScores(temperature=2.0)
    torch.testing.assert_close(term(filled), term(step))


def test_other_sentences_do_not_matter() -> None:
    step = class_step()
    changed = replace(step, text_emb=torch.cat([torch.zeros(2, 4), step.text_emb[2:]]))
    term = ClassNames(objective=Contrastive(temperature=TAU))
    assert torch.equal(term(step), term(changed))

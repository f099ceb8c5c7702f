"""The instance loss of DPC against loops, and what it is not for."""

from __future__ import annotations

import math

import pytest
import torch

from lingvis.errors import UserError
from lingvis.terms import Instances, Origin
from lingvis.training.validate import load_recipe

from .steps import make_step

DIM, PICTURES, TEMPERATURE = 4, 7, 0.5


def cost(term: Instances, vector: torch.Tensor, picture: int) -> float:
    scores = [float(row @ vector) / TEMPERATURE for row in term.classifier.weight.detach()]
    return math.log(sum(map(math.exp, scores))) - scores[picture]


def test_equals_the_paper_by_loops() -> None:
    """Three pictures, 0 to 2, of seven; one that fills up the batch, and a sentence without a picture."""
    torch.manual_seed(0)
    term = Instances(dim=DIM, picture_count=PICTURES, temperature=TEMPERATURE)
    image_emb, text_emb = torch.randn(4, DIM), torch.randn(6, DIM)
    groups = [0, 0, 1, 2, 2, 9]
    step = make_step(
        text_emb,
        groups=groups,
        origin=[Origin.HUMAN] * 5 + [Origin.TEXT_ONLY],
        image_emb=image_emb,
    )
    pictures = [cost(term, image_emb[picture], picture) for picture in range(3)]
    sentences = [cost(term, text_emb[place], groups[place]) for place in range(5)]
    expected = sum(pictures) / 3 + sum(sentences) / 5
    assert term(step).item() == pytest.approx(expected, rel=1e-5)


def test_a_similarity_of_many_vectors_is_refused() -> None:
    with pytest.raises(UserError, match=r"term instances classifies one vector per picture, but .*cross_att"):
        load_recipe("dpc", ["similarity.name=cross_attention"])

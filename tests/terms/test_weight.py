"""Weights of terms: over epochs, and the shares of the terms of MULE and SMALR with 2 and with 10 languages."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from lingvis.errors import UserError
from lingvis.model.build import make_part
from lingvis.objectives import OBJECTIVES
from lingvis.recipes.schema import Part, TermPart
from lingvis.terms import TERMS, Term, TermWeight, WordAnchor
from lingvis.training.validate import load_recipe
from lingvis.types import Clock

from .steps import make_step

PICTURES = 4


def test_a_weight_rises_by_equal_amounts_at_the_beginning_of_epochs_after_the_plateau() -> None:
    rising = TermWeight(2.0, (2, 5))
    assert [rising.at(Clock(epoch=epoch, learning_since=0)) for epoch in range(8)] == [
        0,
        0,
        0.5,
        1,
        1.5,
        2,
        2,
        2,
    ]
    assert [rising.at(Clock(epoch=epoch, learning_since=4)) for epoch in range(4, 10)] == [
        0,
        0,
        0.5,
        1,
        1.5,
        2,
    ]
    assert [rising.at(Clock(epoch=epoch)) for epoch in (0, 30)] == [0, 0]
    assert TermWeight(2.0, (0, 1)).at(Clock(epoch=4, learning_since=4)) == 1
    assert [TermWeight(2.0).at(Clock(epoch=epoch)) for epoch in (0, 7)] == [2, 2]


def blind_value(part: TermPart, languages: int) -> float:
    """The weighted value of a term for a model that maps everything to one point: every hinge is its margin."""
    langs = [lang for lang in range(languages) for _ in range(2 * PICTURES)]
    groups = [picture for _ in range(languages) for picture in range(PICTURES) for _ in range(2)]
    same = torch.ones(len(langs), 3) / 3**0.5
    step = make_step(same, groups=groups, langs=langs, image_emb=same[:PICTURES], word_average=same)
    options = part.options
    objective = make_part(OBJECTIVES, Part(**options.pop("objective")))
    term: Term = make_part(TERMS, Part(name=part.name, **options), objective=objective)
    return part.weight * float(term(step))


@pytest.mark.parametrize("recipe", ["mule", "hem", "la", "smalr"])
@pytest.mark.parametrize("languages", [2, 10])
def test_terms_across_languages_keep_their_share(recipe: str, languages: int) -> None:
    """The mean over languages, and over pairs of languages, as in the program of MULE."""
    terms = load_recipe(recipe).terms
    shares = {
        name: blind_value(terms[name], languages)
        for name in ("matching", "neighbours", "across", "across_words")
    }
    # 1 x 0.05 for pictures and 1.5 x 0.05 for sentences as queries; two queries of 0.05 for a pair of sentences.
    expected = {"matching": 0.125, "neighbours": 0.05 * 0.1, "across": 0.1, "across_words": 0.1}
    assert shares == pytest.approx(expected, rel=1e-4)
    assert terms["adversary"].weight == 1e-6


def test_the_sum_over_languages_would_weigh_the_matching_more_with_every_language() -> None:
    part = load_recipe("mule", ["terms.matching.over_languages=sum"]).terms["matching"]
    assert blind_value(part, 10) == pytest.approx(5 * blind_value(part, 2))


def test_the_sentence_as_query_has_the_larger_weight() -> None:
    for recipe in ("embn", "par_embn", "mule", "la", "hem", "smalr"):
        objective = load_recipe(recipe).terms["matching"].options["objective"]
        assert (objective["image_weight"], objective["text_weight"]) == (1.0, 1.5)


def test_an_anchor_is_half_the_squared_distance_from_the_start() -> None:
    table = nn.Parameter(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    anchor = WordAnchor(word_table=lambda: table)
    step = make_step(torch.zeros(1, 3), groups=[0])
    assert float(anchor(step).detach()) == 0.0
    table.data += torch.tensor([[1.0, 0.0], [0.0, -3.0]])
    loss: Tensor = anchor(step)
    loss.backward()  # type: ignore[no-untyped-call]
    assert float(loss.detach()) == pytest.approx((1 + 9) / 2)
    assert table.grad is not None and table.grad.tolist() == [[1, 0], [0, -3]]
    assert not anchor.state_dict() and not list(anchor.parameters())
    with pytest.raises(UserError, match="none to train"):
        WordAnchor(word_table=lambda: None)


@pytest.mark.parametrize("rises", ["[3]", "[5,5]", "[6,2]", "[1,2,3]"])
def test_a_weight_that_cannot_rise_is_a_sentence(rises: str) -> None:
    with pytest.raises(UserError, match="the first below the second"):
        load_recipe("mule", [f"terms.across.rises={rises}"])


@pytest.mark.parametrize("change", ["rises=[0,4]", "hidden=0.2"])
def test_terms_rise_only_where_a_term_shows_the_plateau(change: str) -> None:
    with pytest.raises(UserError, match=r"terms\.\w+\.rises counts epochs from the end of the first plateau"):
        load_recipe("mule", [f"terms.matching.{change}"])


def test_pairs_of_any_languages_are_not_apart() -> None:
    with pytest.raises(UserError, match=r"terms\.across\.languages_apart is true"):
        load_recipe("mule", ["terms.across.languages=any"])

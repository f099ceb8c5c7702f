"""The matching term against loops: languages apart, origins, hidden words, and the value of a blind model."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from lingvis.objectives.ranking import Ranking
from lingvis.terms import Columns, Matching, Origin, Rereading, Step, Views
from lingvis.types import Tokens

from .steps import make_step

HUMAN, ALONE, PSEUDO = Origin.HUMAN, Origin.TEXT_ONLY, Origin.PSEUDO
MARGIN = 0.2
# Three pictures with human captions in two languages, one sentence without a picture, two pseudo captions.
GROUPS = [0, 1, 2, 9, 0, 1, 3, 4]
LANGS = [0, 0, 0, 1, 1, 1, 0, 0]
ORIGIN = [HUMAN, HUMAN, HUMAN, ALONE, HUMAN, HUMAN, PSEUDO, PSEUDO]


def step(seed: int = 0) -> Step:
    generator = torch.Generator().manual_seed(seed)
    image_emb = torch.randn(5, 4, generator=generator)
    text_emb = torch.randn(8, 4, generator=generator)
    return make_step(text_emb, groups=GROUPS, langs=LANGS, origin=ORIGIN, image_emb=image_emb)


def naive(scores: Tensor, columns: list[int]) -> float:
    """The sum of all hinges of the sentences in `columns`, pictures without one of them left out."""
    pictures = sorted({GROUPS[column] for column in columns})
    total = 0.0
    for column in columns:
        own = GROUPS[column]
        for other in columns:
            if GROUPS[other] != own:
                total += max(0.0, MARGIN + float(scores[own, other] - scores[own, column]))
        for picture in pictures:
            if picture != own:
                total += max(0.0, MARGIN + float(scores[picture, column] - scores[own, column]))
    return total


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        ({}, [[0, 1, 2, 4, 5]]),
        ({"languages_apart": True}, [[0, 1, 2], [4, 5]]),
        ({"of": "pseudo"}, [[6, 7]]),
    ],
)
def test_matching_equals_a_naive_loop(options: dict[str, object], parts: list[list[int]]) -> None:
    term = Matching(objective=Ranking(margin=MARGIN, schedule="all"), **options)  # type: ignore[arg-type]
    batch = step()
    expected = sum(naive(batch.scores, columns) for columns in parts)
    assert expected > 0
    assert float(term(batch)) == pytest.approx(expected, rel=1e-5)
    blind = term.blind(batch)
    assert (blind is None) == (term.of == "pseudo")  # a collapse is looked for on human captions
    if blind is not None:
        assert float(blind) == pytest.approx(sum(naive(torch.zeros(5, 8), columns) for columns in parts))


def test_pictures_described_alike_are_neither_positives_nor_negatives_of_a_pseudo_caption() -> None:
    batch = step()
    pseudo = batch.of(PSEUDO)
    first, second = (int(group) for group in pseudo.groups)
    alike = pseudo.positives.clone()
    alike[second, 0] = alike[first, 1] = True  # both captions have the same words
    term = Matching(objective=Ranking(margin=MARGIN, schedule="all"), of="pseudo")
    assert float(term(pseudo)) > 0
    assert float(term(replace(pseudo, positives=alike))) == 0.0
    half = pseudo.positives.clone()
    half[second, 0] = True
    expected = sum(
        max(0.0, MARGIN + float(pseudo.scores[i, t] - pseudo.scores[second, 1]))
        for i, t in ((first, 1), (second, 0))
        if not half[i, t]
    ) + max(0.0, MARGIN + float(pseudo.scores[first, 1] - pseudo.scores[first, 0]))
    assert float(term(replace(pseudo, positives=half))) == pytest.approx(expected, rel=1e-5)


def test_the_mean_over_languages_leaves_out_those_without_a_picture() -> None:
    objective = Ranking(margin=MARGIN, schedule="all")
    term = Matching(objective=objective, languages_apart=True, over_languages="mean")
    batch = step()
    expected = (naive(batch.scores, [0, 1, 2]) + naive(batch.scores, [4, 5])) / 2
    assert float(term(batch)) == pytest.approx(expected, rel=1e-5)
    alone = make_step(
        batch.text_emb[:4],
        groups=GROUPS[:4],
        langs=LANGS[:4],
        origin=ORIGIN[:4],
        image_emb=batch.image_emb,
    )
    assert float(term(alone)) == pytest.approx(naive(batch.scores, [0, 1, 2]), rel=1e-5)


def test_a_step_without_the_sentences_is_zero() -> None:
    human = step().of(HUMAN, ALONE)
    assert float(Matching(objective=Ranking(margin=MARGIN, schedule="all"), of="pseudo")(human)) == 0.0


def test_hidden_words_are_read_once_and_compared_in_place_of_the_whole_sentences() -> None:
    asked: list[float] = []
    batch = step()
    masked_emb = torch.randn(8, 4, generator=torch.Generator().manual_seed(3))
    empty = Views(Tokens(torch.zeros(0), torch.zeros(0)), *(torch.zeros(0) for _ in range(3)))

    def reread(p: float) -> Rereading:
        asked.append(p)
        return Rereading(masked_emb, empty, empty)

    human = make_step(
        batch.text_emb[:6],
        groups=GROUPS[:6],
        langs=LANGS[:6],
        origin=ORIGIN[:6],
        image_emb=batch.image_emb,
        reread=lambda p: replace(reread(p), text_emb=masked_emb[:6]),
    )
    term = Matching(objective=Ranking(margin=MARGIN, schedule="all"), hidden=0.3)
    assert term.rereads
    assert float(term(human)) == pytest.approx(
        naive(batch.image_emb @ masked_emb.T, [0, 1, 2, 4, 5]), rel=1e-5
    )
    assert asked == [0.3]
    assert term.blind(human) is None


def test_parts_of_a_step() -> None:
    batch = replace(step(), pair_values={"some": torch.arange(40.0).reshape(5, 8)})
    assert batch.of(*Origin) is batch
    human, alone, pseudo = batch.of(HUMAN), batch.of(ALONE), batch.of(PSEUDO)
    assert (len(human), len(alone), len(pseudo)) == (5, 1, 2)
    for part, places in ((human, [0, 1, 2, 4, 5]), (alone, [3]), (pseudo, [6, 7])):
        assert torch.equal(part.text_emb, batch.text_emb[places])
        assert torch.equal(part.positives, batch.positives[:, places])
        assert torch.equal(part.scores, part.image_emb @ batch.text_emb[places].T)
        assert part.groups.tolist() == part.columns.groups.tolist() == [GROUPS[place] for place in places]
        assert part.langs.tolist() == part.columns.langs.tolist() == [LANGS[place] for place in places]
        assert torch.equal(part.pair_values["some"], batch.pair_values["some"][:, places])
    with pytest.raises(ValueError, match="all of its sentences"):
        pseudo.reread(0.2)
    assert isinstance(pseudo.columns, Columns)

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from lingvis.terms import Rereading, Views
from lingvis.terms.masked_cross_language import MaskedCrossLanguage, first_rows, hide_words
from lingvis.types import Tokens

from .steps import make_step

WORD, DIM = 3, 5
LENGTHS = [4, 2, 3, 1, 4, 2, 3, 4]
PLACES = [[0, 1, 2], [3, -1, 4], [-1, -1, 5], [7, 6, -1]]  # of each picture, the sentence in each language


def views(seed: int, dtype: torch.dtype = torch.float32) -> Views:
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator).to(dtype)

    mask = torch.arange(4) < torch.tensor(LENGTHS).unsqueeze(1)
    return Views(Tokens(draw(8, 4, WORD), mask), draw(8, WORD), draw(8, DIM), draw(8, DIM))


def module(languages: int = 3) -> MaskedCrossLanguage:
    torch.manual_seed(0)
    return MaskedCrossLanguage(word_dim=WORD, dim=DIM, language_count=languages)


def cost(term: MaskedCrossLanguage, whole: Views, masked: Views, places: list[list[int]] = PLACES) -> Tensor:
    """The term's value for sentences about the pictures and in the languages that `places` says."""
    groups, langs = [9] * 8, [0] * 8
    for group, rows in enumerate(places):
        for lang, row in enumerate(rows):
            if row >= 0:
                groups[row], langs[row] = group, lang
    value: Tensor = term(
        make_step(
            torch.zeros(8, 1),
            groups=groups,
            langs=langs,
            reread=lambda p: Rereading(torch.zeros(8, 1), whole, masked),
        )
    )
    return value


def naive(term: MaskedCrossLanguage, whole: Views, masked: Views) -> float:
    """Eq. 2, one pair of sentences and one representation at a time."""

    def recurrent(view: Views, row: int) -> Tensor:
        states = term.recurrent(view.words.values[row : row + 1, : LENGTHS[row]])[0]
        projected: Tensor = term.project(states[0, -1])
        return projected

    def levels(view: Views, row: int) -> list[Tensor]:
        return [view.word_average[row], recurrent(view, row), view.sentence_average[row], view.sentence[row]]

    costs = []
    for picture in PLACES:
        for i in range(3):
            for j in range(i + 1, 3):
                if picture[i] < 0 or picture[j] < 0:
                    continue
                pair = 0.0
                for level in range(4):
                    hidden = [levels(masked, picture[n])[level] for n in (i, j)]
                    target = [levels(whole, picture[n])[level] for n in (i, j)]
                    missing = term.restore[level].missing(torch.cat(hidden)).chunk(2)  # type: ignore[operator]
                    for part in range(2):
                        restored = hidden[part] + missing[part]
                        gap = restored / restored.norm() - target[part] / target[part].norm()
                        pair += float(gap.norm().detach())
                costs.append(pair / 4)
    return sum(costs) / len(costs)


def test_equals_a_naive_loop() -> None:
    term = module()
    loss = float(cost(term, views(1), views(2)).detach())
    assert loss == pytest.approx(naive(term, views(1), views(2)), rel=1e-5)


def test_a_sentence_without_a_partner_and_padding_do_not_count() -> None:
    term = module()
    whole = views(1)
    words = whole.words.values.requires_grad_()
    for leaf in (whole.sentence, whole.word_average):
        leaf.requires_grad_()
    cost(term, whole, views(2)).backward()  # type: ignore[no-untyped-call]
    for leaf in (whole.sentence, whole.word_average, words):
        assert leaf.grad is not None
        assert torch.equal(leaf.grad[5], torch.zeros_like(leaf[5]))  # alone with its picture
        assert all(leaf.grad[row].abs().sum() > 0 for row in (0, 1, 2, 3, 4, 6, 7))
    assert words.grad is not None
    assert torch.equal(words.grad[~whole.words.mask], torch.zeros(int((~whole.words.mask).sum()), WORD))


def test_the_first_sentence_of_a_language_about_a_picture_is_found() -> None:
    groups, langs = torch.tensor([7, 3, 3, 7, 3, 7]), torch.tensor([0, 1, 1, 0, 0, 2])
    found = first_rows(groups, langs, 3, 3)
    assert found.tolist() == [[4, 1, -1], [0, -1, 5], [-1, -1, -1]]


def test_every_parameter_learns_and_learning_restores() -> None:
    term, whole, masked = module(), views(1), views(2)
    optimizer = torch.optim.Adam(term.parameters(), lr=0.02)
    before = float(cost(term, whole, masked).detach())
    for _ in range(60):
        optimizer.zero_grad()
        cost(term, whole, masked).backward()  # type: ignore[no-untyped-call]
        assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in term.parameters())
        optimizer.step()
    assert float(cost(term, whole, masked).detach()) < before / 2


def test_gradient() -> None:
    term, whole, masked = module(), views(1), views(2)
    sentence = masked.sentence.clone().requires_grad_()
    (grad,) = torch.autograd.grad(cost(term, whole, replace(masked, sentence=sentence)), sentence)
    step = 1e-2
    for row, column in ((0, 0), (2, 3), (7, 4)):
        ends = []
        for shift in (step, -step):
            moved = masked.sentence.clone()
            moved[row, column] += shift
            ends.append(float(cost(term, whole, replace(masked, sentence=moved)).detach()))
        assert abs((ends[0] - ends[1]) / (2 * step) - float(grad[row, column])) < 1e-3


def test_a_perfect_restoration_has_finite_gradients() -> None:
    """Nothing hidden and nothing added: every distance is zero, where a root would have no gradient."""
    term = module()
    for restore in term.restore:
        for parameter in restore.parameters():
            torch.nn.init.zeros_(parameter)
    loss = cost(term, views(1), views(1))
    loss.backward()  # type: ignore[no-untyped-call]
    assert float(loss.detach()) == 0.0
    assert all(p.grad is not None and torch.isfinite(p.grad).all() for p in term.parameters())


def test_no_pair_at_all_is_zero_with_a_graph() -> None:
    for languages, places in ((2, [[0, -1], [-1, 3]]), (1, [[0], [-1]])):
        loss = cost(module(languages), views(1), views(2), places)
        assert float(loss.detach()) == 0.0
        assert loss.requires_grad


def test_inputs_of_reduced_precision_are_taken() -> None:
    term = module()
    exact = float(cost(term, views(1), views(2)).detach())
    rough = float(cost(term, views(1, torch.bfloat16), views(2, torch.bfloat16)).detach())
    assert rough != exact
    assert abs(rough - exact) < 0.02


SPECIAL = torch.tensor([0, 1, 2, 3, 4])


def drawn(p: float, words: int, rows: int = 4000) -> tuple[Tensor, Tensor]:
    """Hidden places of sentences start, `words` words, unknown, end, two of padding; and which are words."""
    torch.manual_seed(0)
    row = torch.tensor([2, *range(10, 10 + words), 1, 3, 0, 0])
    mask = torch.arange(len(row)) < words + 3
    hidden = hide_words(row.repeat(rows, 1), mask.repeat(rows, 1), SPECIAL, p)
    return hidden, (row >= 10)


def test_hidden_words_are_words_and_as_many_as_asked() -> None:
    hidden, words = drawn(0.2, 8)
    assert hidden.dtype == torch.bool
    assert not hidden[:, ~words].any()
    shares = hidden[:, words].float().mean(dim=0)
    assert ((shares - 0.2).abs() < 0.025).all()  # four standard deviations of 4,000 draws


def test_one_word_always_stays() -> None:
    hidden, words = drawn(1.0, 3)
    left = (~hidden[:, words]).sum(dim=1)
    assert (left == 1).all()
    assert ((~hidden[:, words]).float().mean(dim=0) > 0.3).all()  # any of them, not always the same
    hidden, _ = drawn(0.9, 1)
    assert not hidden.any()
    hidden, _ = drawn(0.9, 0)
    assert not hidden.any()
    hidden, _ = drawn(0.0, 5)
    assert not hidden.any()


def test_padding_is_never_hidden_even_where_its_id_is_a_word() -> None:
    mask = torch.tensor([[True, True, False, False]])
    for seed in range(50):
        torch.manual_seed(seed)
        hidden = hide_words(torch.tensor([[10, 11, 12, 13]]), mask, SPECIAL, 1.0)
        assert hidden[0, :2].sum() == 1
        assert not hidden[0, 2:].any()

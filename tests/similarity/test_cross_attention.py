"""Stacked cross attention against the formulas of the paper, one pair at a time."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from lingvis.errors import UserError
from lingvis.similarity import cross_attention
from lingvis.similarity.cross_attention import CrossAttention
from lingvis.training.validate import load_recipe
from lingvis.types import Tokens

VARIANTS: list[dict[str, Any]] = [
    {"direction": "t2i", "lambda1": 9.0, "aggregation": "mean"},
    {"direction": "t2i", "lambda1": 9.0, "aggregation": "logsumexp", "lambda2": 6.0},
    {"direction": "i2t", "lambda1": 4.0, "aggregation": "mean"},
    {"direction": "i2t", "lambda1": 4.0, "aggregation": "logsumexp", "lambda2": 5.0},
]
SIZES = [3, 1, 5, 2]  # regions of four pictures
LENGTHS = [2, 6, 1, 4, 3]  # words of five sentences
DIM = 6
variants = pytest.mark.parametrize("options", VARIANTS, ids=lambda o: f"{o['direction']}-{o['aggregation']}")


def sets(sizes: list[int], seed: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(size, DIM, generator=generator, dtype=torch.float64) for size in sizes]


def padded(vectors: list[Tensor], *, more: int = 0) -> Tokens:
    """Behind the last vector comes noise, which nobody may look at."""
    longest = max(map(len, vectors)) + more
    values = torch.randn(len(vectors), longest, DIM, dtype=torch.float64)
    mask = torch.zeros(len(vectors), longest, dtype=torch.bool)
    for row, each in enumerate(vectors):
        values[row, : len(each)] = each
        mask[row, : len(each)] = True
    return Tokens(values, mask)


def cosine(a: list[float], b: list[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True)) / (math.hypot(*a) * math.hypot(*b))


def naive(regions: Tensor, words: Tensor, options: dict[str, Any]) -> float:
    """Equations 1 to 9 for one picture and one sentence, with the attended vectors written out."""
    v, e = regions.tolist(), words.tolist()
    s = [[cosine(region, word) for word in e] for region in v]
    attending, attended = (e, v) if options["direction"] == "t2i" else (v, e)
    if options["direction"] == "t2i":
        s = [list(row) for row in zip(*s, strict=True)]  # rows attend
    positive = [[max(0.0, value) for value in row] for row in s]
    norms = [math.hypot(*(row[j] for row in positive)) for j in range(len(attended))]
    relevance = []
    for query, row in zip(attending, positive, strict=True):
        powers = [
            math.exp(options["lambda1"] * (x / n if n else 0.0)) for x, n in zip(row, norms, strict=True)
        ]
        weights = [power / sum(powers) for power in powers]
        # The attended vector is made of unit vectors, as both sides are of unit length.
        units = [[x / math.hypot(*vector) for x in vector] for vector in attended]
        vector = [sum(w * u[d] for w, u in zip(weights, units, strict=True)) for d in range(DIM)]
        relevance.append(cosine(query, vector))
    if options["aggregation"] == "mean":
        return sum(relevance) / len(relevance)
    lambda2: float = options["lambda2"]
    return math.log(sum(math.exp(lambda2 * r) for r in relevance)) / lambda2


@variants
@pytest.mark.parametrize("block", [1, 60, 2**24])
def test_scores_equal_the_formulas_whatever_the_padding_and_the_block(
    options: dict[str, Any], block: int
) -> None:
    images, texts = sets(SIZES, 0), sets(LENGTHS, 1)
    measure = CrossAttention(**options, block=block)
    left, right = measure.prepare_images(padded(images)), measure.prepare_texts(padded(texts, more=3))
    scores = measure(left, right)
    expected = [[naive(image, text, options) for text in texts] for image in images]
    torch.testing.assert_close(scores, torch.tensor(expected), atol=1e-5, rtol=1e-5)
    alone = measure(measure.prepare_images(padded(images[:1])), measure.prepare_texts(padded(texts[2:3])))
    torch.testing.assert_close(alone, scores[:1, 2:3])


def test_the_variants_differ() -> None:
    images, texts = padded(sets(SIZES, 0)), padded(sets(LENGTHS, 1))
    found = []
    for options in VARIANTS:
        measure = CrossAttention(**options)
        found.append(measure(measure.prepare_images(images), measure.prepare_texts(texts)))
    for first in range(4):
        for second in range(first):
            assert (found[first] - found[second]).abs().max() > 0.05


@variants
@pytest.mark.parametrize("block", [40, 2**24])
def test_gradients_are_those_of_the_scores(options: dict[str, Any], block: int) -> None:
    measure = CrossAttention(**options, block=block)
    left, right = (padded(sets(sizes, seed)) for sizes, seed in (([2, 3], 2), ([3, 1], 3)))

    def score(regions: Tensor, words: Tensor) -> Tensor:
        sides = [
            (values / values.norm(dim=-1, keepdim=True)).masked_fill(~tokens.mask.unsqueeze(-1), 0.0)
            for values, tokens in ((regions, left), (words, right))
        ]
        return measure(*sides)  # type: ignore[no-any-return]

    inputs = tuple(tokens.values.clone().requires_grad_() for tokens in (left, right))
    assert torch.autograd.gradcheck(score, inputs)
    gradients = torch.autograd.grad(score(*inputs).sum(), inputs)
    for gradient, tokens in zip(gradients, (left, right), strict=True):
        assert (gradient[~tokens.mask] == 0).all()
        assert (gradient[tokens.mask].abs().sum(dim=-1) > 1e-6).all()


def test_values_of_the_paper() -> None:
    words, regions = load_recipe("scan_t2i"), load_recipe("scan_i2t")
    assert words.similarity.options == {"direction": "t2i", "lambda1": 9.0, "aggregation": "mean"}
    assert regions.similarity.options == {
        "direction": "i2t",
        "lambda1": 4.0,
        "aggregation": "logsumexp",
        "lambda2": 5.0,
    }
    for recipe in (words, regions):
        assert recipe.text.encoder.options == {"dim": 1024, "bidirectional": True}
        assert recipe.text.words.options == {"dim": 300}
        objective = recipe.terms["matching"].options["objective"]
        assert objective == {"name": "ranking", "margin": 0.2, "schedule": "hardest"}
        assert (recipe.optimizer.name, recipe.optimizer.lr, recipe.training.clip) == ("adam", 2e-4, 2.0)
        assert (recipe.training.epochs, recipe.schedule.epochs, recipe.training.batch_size) == (30, [15], 128)


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        (
            "image.pooling.name=gpo",
            "image.pooling.name is gpo, but similarity cross_attention compares all vectors",
        ),
        ("text.pooling.name=last", "never pools them; set text.pooling.name = mean"),
        ("text.head={name = 'linear', dim = 1024}", "set text.head.name = none"),
        (
            "terms.mine={name = 'pairs', weight = 1, on = 'sentence', languages = 'any', "
            "objective = {name = 'contrastive', temperature = 0.1}}",
            "terms.mine compares sentences by one vector each, but similarity cross_attention makes none",
        ),
        ("similarity.lambda1=0", "similarity.lambda1"),
        ("similarity.direction=both", "similarity.direction"),
    ],
)
def test_choices_that_would_have_no_effect_are_refused(override: str, sentence: str) -> None:
    with pytest.raises(UserError) as caught:
        load_recipe("scan_t2i", [override])
    assert sentence in str(caught.value)
    assert load_recipe("scan_t2i", ["similarity.name=cosine", "image.pooling.name=gpo"])


@pytest.mark.parametrize("grad", [True, False])
def test_no_block_is_larger_than_allowed(grad: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    made = cross_attention.attended_cosines

    def watch(queries: Tensor, context: Tensor, lambda1: float) -> Tensor:
        seen.append(queries.shape[0] * queries.shape[1] * context.shape[0] * context.shape[1])
        return made(queries, context, lambda1)

    monkeypatch.setattr(cross_attention, "attended_cosines", watch)
    left, right = torch.randn(40, 7, DIM, requires_grad=grad), torch.randn(90, 5, DIM)
    measure = CrossAttention(block=5000)
    scores = measure(left, right)
    assert max(seen) <= 5000
    assert sum(seen) == 40 * 7 * 90 * 5
    assert len(seen) < 60  # the blocks are filled, too
    if grad:
        scores.sum().backward()
        assert sum(seen) == 2 * 40 * 7 * 90 * 5  # each was computed again, instead of kept


def test_opposite_vectors_and_empty_sets_stay_finite() -> None:
    up = torch.tensor([[[1.0, 0.0]]])
    for options in VARIANTS:
        measure = CrossAttention(**options)
        sides = [up, -up, torch.zeros(1, 1, 2), torch.tensor([[[1.0, 0.0], [-1.0, 0.0]]])]
        for left in sides:
            for right in sides:
                leaf = left.clone().requires_grad_()
                score = measure(leaf, right)
                score.sum().backward()
                assert torch.isfinite(score).all()
                assert leaf.grad is not None and torch.isfinite(leaf.grad).all()
        assert float(measure(up, up)) == pytest.approx(1.0)
        assert float(measure(up, -up)) == pytest.approx(-1.0)

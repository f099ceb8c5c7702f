"""DAN's attention in steps against loops over sets, steps and vectors."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from lingvis.pooling import MemoryAttention
from lingvis.types import Tokens

DIM, STEPS, HIDDEN = 5, 2, 4


def made(*, project: bool) -> MemoryAttention:
    torch.manual_seed(0)
    return MemoryAttention(dim=DIM, steps=STEPS, hidden=HIDDEN, project=project).double()


def sets() -> Tokens:
    generator = torch.Generator().manual_seed(1)
    values = torch.randn(4, 6, DIM, generator=generator, dtype=torch.float64)
    mask = torch.rand(4, 6, generator=generator) < 0.6
    mask[:, 1] = True
    return Tokens(values, mask)


def weight(layers: nn.ModuleList, step: int) -> Tensor:
    layer = layers[step]
    assert isinstance(layer, nn.Linear)
    return layer.weight


def steps_by_loops(pooling: MemoryAttention, vectors: list[Tensor]) -> list[Tensor]:
    """v^(0) to v^(K) of Nam et al. 2017, before they get unit length."""

    def project(place: int, vector: Tensor) -> Tensor:
        if pooling.projections is None:
            return vector
        layer = pooling.projections[place]
        assert isinstance(layer, nn.Linear)
        return torch.tanh(layer.weight @ vector + layer.bias)

    results = [project(0, sum(vectors[1:], start=vectors[0]) / len(vectors))]
    for step in range(STEPS):
        memory = sum(results[1:], start=results[0])
        scores = []
        for vector in vectors:
            local = torch.tanh(weight(pooling.local, step) @ vector)
            context = torch.tanh(weight(pooling.context, step) @ memory)
            scores.append((weight(pooling.score, step)[0] * local * context).sum().item())
        total = sum(map(math.exp, scores))
        attended = torch.zeros(DIM, dtype=torch.float64)
        for score, vector in zip(scores, vectors, strict=True):
            attended = attended + math.exp(score) / total * vector
        results.append(project(1 + step, attended))
    return results


@pytest.mark.parametrize("project", [True, False])
def test_equals_the_paper_by_loops(project: bool) -> None:
    pooling, tokens = made(project=project), sets()
    found = pooling(tokens)
    assert found.shape == (4, (1 + STEPS) * DIM)
    for row in range(4):
        vectors = [v for v, valid in zip(tokens.values[row], tokens.mask[row], strict=True) if valid]
        expected = [result / result.norm() for result in steps_by_loops(pooling, vectors)]
        torch.testing.assert_close(found[row], torch.cat(expected))


def test_the_cosine_of_pooled_vectors_is_the_mean_over_steps() -> None:
    pictures, sentences = made(project=True)(sets()), made(project=False)(sets())
    cosine = nn.functional.cosine_similarity(pictures[0], sentences[1], dim=0)
    steps = [
        nn.functional.cosine_similarity(v, u, dim=0)
        for v, u in zip(pictures[0].split(DIM), sentences[1].split(DIM), strict=True)
    ]
    torch.testing.assert_close(cosine, sum(steps[1:], start=steps[0]) / len(steps))


def test_masked_vectors_and_the_order_never_count() -> None:
    pooling, tokens = made(project=True), sets()
    other = tokens.values.masked_fill(~tokens.mask.unsqueeze(-1), float("nan")).requires_grad_()
    found = pooling(Tokens(other, tokens.mask))
    torch.testing.assert_close(found, pooling(tokens))
    (gradient,) = torch.autograd.grad(found[:, 0].sum(), other)
    assert (gradient[~tokens.mask] == 0).all() and torch.isfinite(gradient).all()
    order = torch.randperm(6)
    torch.testing.assert_close(pooling(Tokens(tokens.values[:, order], tokens.mask[:, order])), found)


def test_number_types_stay_and_the_gradient_is_right() -> None:
    tokens = sets()
    half = made(project=True).float()(Tokens(tokens.values.bfloat16(), tokens.mask))
    assert half.dtype == torch.bfloat16
    torch.testing.assert_close(half.double(), made(project=True)(tokens), atol=0.03, rtol=0)
    pooling, some = made(project=True), tokens.values[:2, :3].clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda values: pooling(Tokens(values, tokens.mask[:2, :3])), (some,))

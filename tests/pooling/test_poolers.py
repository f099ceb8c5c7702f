"""Every pooler against a naive loop, and one contract over all that are registered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from lingvis.errors import UserError
from lingvis.pooling import POOLERS
from lingvis.types import Tokens

DIM = 5
VARIANTS: list[tuple[str, dict[str, Any]]] = [
    # `memory` returns several vectors of unit length side by side: test_memory.py.
    *[(name, {}) for name in POOLERS.names() if name not in ("attention", "memory")],
    ("attention", {"dim": DIM, "heads": 1, "hidden": 4}),
    ("kmax", {"k": 2}),
    ("gpo", {"position": "index", "max_size": 4}),
    ("gpo", {"decoder": "transformer"}),
    ("gpo", {"decoder": "mlp"}),
    ("gpo", {"position": "index", "decoder": "interpolate"}),
    ("gpo", {"per_dimension": True, "dim": DIM}),
    ("gpo", {"position": "index", "decoder": "interpolate", "per_dimension": True, "dim": DIM}),
    ("gpo", {"feature_conditioned": True, "dim": DIM}),
    ("gpo", {"decoder": "mlp", "feature_conditioned": True, "per_dimension": True, "dim": DIM}),
]
IDS = [" ".join([name, *(f"{key}={value}" for key, value in options.items())]) for name, options in VARIANTS]
every_pooler = pytest.mark.parametrize(("name", "options"), VARIANTS, ids=IDS)


def build(name: str, options: dict[str, Any]) -> nn.Module:
    torch.manual_seed(0)
    pooler = POOLERS.get(name)(**options)
    with torch.no_grad():
        for parameter in pooler.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.3)  # no default may hide behind zeros
    return pooler


def sets(batch: int = 6, length: int = 7, *, dtype: torch.dtype = torch.float32) -> Tokens:
    """Ragged sets with holes: valid vectors are scattered, one row is full and one has a single vector."""
    generator = torch.Generator().manual_seed(1)
    values = torch.randn(batch, length, DIM, generator=generator, dtype=torch.float64).to(dtype)
    mask = torch.rand(batch, length, generator=generator) < 0.6
    mask[:, 2] = True
    mask[0] = True
    mask[1] = torch.arange(length) == 2
    return Tokens(values, mask)


def rows(tokens: Tokens) -> list[list[list[float]]]:
    """The valid vectors of each set as lists."""
    return [values[mask].tolist() for values, mask in zip(tokens.values, tokens.mask, strict=True)]


def mean(vectors: list[list[float]]) -> list[float]:
    return [sum(column) / len(column) for column in zip(*vectors, strict=True)]


def largest(vectors: list[list[float]]) -> list[float]:
    return [max(column) for column in zip(*vectors, strict=True)]


def two_largest(vectors: list[list[float]]) -> list[float]:
    return mean([list(column) for column in zip(*[sorted(c)[-2:] for c in zip(*vectors)], strict=True)])  # noqa: B905


NAIVE: list[tuple[str, dict[str, Any], Callable[[list[list[float]]], list[float]]]] = [
    ("mean", {}, mean),
    ("max", {}, largest),
    ("kmax", {"k": 2}, two_largest),
    ("kmax", {"k": 100}, mean),
    ("first", {}, lambda vectors: vectors[0]),
    ("last", {}, lambda vectors: vectors[-1]),
]


@pytest.mark.parametrize(("name", "options", "naive"), NAIVE)
def test_equals_naive_loop(
    name: str, options: dict[str, Any], naive: Callable[[list[list[float]]], list[float]]
) -> None:
    tokens = sets()
    expected = torch.tensor([naive(vectors) for vectors in rows(tokens)])
    torch.testing.assert_close(build(name, options)(tokens), expected)


@every_pooler
def test_contract(name: str, options: dict[str, Any]) -> None:
    for dtype in (torch.float32, torch.bfloat16, torch.float64):
        pooler = build(name, options).to(torch.float64 if dtype == torch.float64 else torch.float32)
        for batch, length in ((6, 7), (3, 11), (2, 1), (1, 300)):
            mask = torch.ones(batch, length, dtype=torch.bool)
            tokens = Tokens(torch.randn(batch, length, DIM).to(dtype), mask)
            pooled = pooler(tokens)
            assert pooled.shape == (batch, DIM)
            assert pooled.dtype == dtype
            assert torch.isfinite(pooled).all()


@every_pooler
def test_a_single_vector_is_returned_as_it_is(name: str, options: dict[str, Any]) -> None:
    tokens = sets()
    torch.testing.assert_close(build(name, options)(tokens)[1], tokens.values[1, 2])


@every_pooler
@pytest.mark.parametrize("training", [True, False])
def test_masked_positions_and_padding_do_not_matter(
    name: str, options: dict[str, Any], training: bool
) -> None:
    pooler, tokens = build(name, options).train(training), sets()
    for fill in (1e30, -1e30, torch.nan):
        values = tokens.values.masked_fill(~tokens.mask.unsqueeze(-1), fill).requires_grad_()
        padded = Tokens(
            torch.cat([values, torch.full((6, 4, DIM), fill)], dim=1),
            torch.cat([tokens.mask, torch.zeros(6, 4, dtype=torch.bool)], dim=1),
        )
        pooled = pooler(padded)
        torch.testing.assert_close(pooled, pooler(tokens))
        (grad,) = torch.autograd.grad(pooled.square().sum(), values)
        assert (grad[~tokens.mask] == 0).all()
        assert torch.isfinite(grad).all()


@every_pooler
def test_set_poolers_ignore_the_order(name: str, options: dict[str, Any]) -> None:
    if name in ("first", "last"):
        pytest.skip("these read the order")
    pooler, tokens = build(name, options), sets()
    order = torch.randperm(7)
    shuffled = Tokens(tokens.values[:, order], tokens.mask[:, order])
    torch.testing.assert_close(pooler(shuffled), pooler(tokens))


@every_pooler
def test_gradients(name: str, options: dict[str, Any]) -> None:
    pooler, tokens = build(name, options).double(), sets(3, 4, dtype=torch.float64)
    parameters = list(pooler.parameters())

    def pooled(values: Tensor, *_: Tensor) -> Tensor:
        result: Tensor = pooler(Tokens(values, tokens.mask))
        return result

    assert torch.autograd.gradcheck(pooled, (tokens.values.requires_grad_(), *parameters), fast_mode=True)


@every_pooler
def test_a_value_that_is_not_finite_is_never_hidden(name: str, options: dict[str, Any]) -> None:
    pooler, tokens = build(name, options), sets()
    tokens.values[:, 2, 0] = torch.nan
    with torch.set_grad_enabled(name == "gpo"):
        pooled = pooler(tokens)
    assert not torch.isfinite(pooled[1, 0])
    if name not in ("first", "last"):
        assert not torch.isfinite(pooled[:, 0]).any()


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("kmax", {"k": 0}, "at least 1, got 0"),
        ("gpo", {"position": "word"}, "'word'; choose one of: index, sincos"),
        ("gpo", {"decoder": "lstm"}, "'lstm'; choose one of: bigru, interpolate, mlp, transformer"),
        ("gpo", {"decoder": "interpolate"}, "set position to 'index'"),
        ("gpo", {"position": "index", "decoder": "interpolate", "knots": 1}, "at least 2 knots, got 1"),
        ("gpo", {"per_dimension": True}, "needs 'dim'"),
        ("gpo", {"code_dim": 7}, "even dimension, got 7"),
    ],
)
def test_bad_options_are_refused(name: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=words):
        POOLERS.get(name)(**options)

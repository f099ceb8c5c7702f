"""GPO's kernels against sorting in float32; they run on a GPU, or anywhere with TRITON_INTERPRET=1 and Triton installed."""

from __future__ import annotations

import os
from itertools import product

import pytest
import torch
from torch import Tensor

from lingvis.pooling.fused import fuses, weigh_sorted
from lingvis.pooling.gpo import GPO, weigh
from lingvis.pooling.sorting import sort_features
from lingvis.types import Tokens

CUDA = torch.cuda.is_available()
DEVICE = "cuda" if CUDA else "cpu"
NARROW = (torch.float16, torch.bfloat16)


@pytest.fixture
def kernels() -> None:
    """Skip where the kernels cannot run."""
    pytest.importorskip("triton")
    if not CUDA and os.environ.get("TRITON_INTERPRET") != "1":
        pytest.skip("needs an NVIDIA GPU")


def distinct(batch: int, length: int, dim: int, dtype: torch.dtype) -> Tokens:
    """Sets with holes whose values differ within each dimension, so that their order is unique."""
    generator = torch.Generator().manual_seed(length)
    order = torch.rand(batch, length, dim, generator=generator).argsort(dim=1)
    values = (order - length // 2).to(dtype) / 16
    mask = torch.rand(batch, length, generator=generator) < 0.7
    mask[:, 0] = True
    mask[0] = True
    mask[1, 1:] = False
    return Tokens(values.to(DEVICE), mask.to(DEVICE))


def sorted_reference(tokens: Tokens, weights: Tensor) -> Tensor:
    ordered = sort_features(Tokens(tokens.values.float(), tokens.mask))
    return weigh(ordered, weights.unsqueeze(1))


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize(
    ("dtype", "shape"), [*product(NARROW, ((3, 1, 7), (4, 5, 20), (3, 37, 70), (3, 128, 33)))]
)
def test_equals_sorting_forwards_and_backwards(dtype: torch.dtype, shape: tuple[int, int, int]) -> None:
    tokens = distinct(*shape, dtype)
    rank = torch.arange(shape[1], device=DEVICE)
    weights = torch.rand(shape[:2], device=DEVICE) * (rank < tokens.lengths.unsqueeze(1))
    upper = torch.randn(shape[0], shape[2], device=DEVICE).to(dtype)
    gradients = []
    for pool in (weigh_sorted, sorted_reference):
        own = tokens.values.detach().requires_grad_(), weights.detach().requires_grad_()
        pooled = pool(Tokens(own[0], tokens.mask), own[1])
        pooled.backward(upper.to(pooled.dtype))  # type: ignore[no-untyped-call]
        gradients.append((pooled.float(), own[0].grad, own[1].grad))
    (pooled, of_values, of_weights), (expected, expected_values, expected_weights) = gradients
    assert of_values is not None and expected_values is not None
    torch.testing.assert_close(pooled, expected, rtol=1e-2, atol=1e-3)
    torch.testing.assert_close(of_values.float(), expected_values.float(), rtol=1e-2, atol=1e-3)
    torch.testing.assert_close(of_weights, expected_weights, rtol=1e-4, atol=1e-4)
    assert (of_values[~tokens.mask] == 0).all()


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("dtype", NARROW)
def test_ties_share_their_weight_and_odd_values_keep_their_order(dtype: torch.dtype) -> None:
    infinite, nothing = float("inf"), float("nan")
    values = torch.tensor([[1.0, -infinite, -0.0], [1.0, 2.0, 0.0], [0.5, infinite, nothing]], dtype=dtype)
    tokens = Tokens(values.unsqueeze(0).to(DEVICE), torch.ones(1, 3, dtype=torch.bool, device=DEVICE))
    first = torch.tensor([[1.0, 0.0, 0.0]], device=DEVICE)
    second = torch.tensor([[0.0, 1.0, 0.0]], device=DEVICE)
    assert weigh_sorted(Tokens(tokens.values[..., :1], tokens.mask), first).item() == 1.0
    assert weigh_sorted(Tokens(tokens.values[..., :1], tokens.mask), second).item() == 1.0
    assert weigh_sorted(Tokens(tokens.values[..., 2:], tokens.mask), first).isnan().item()


@pytest.mark.usefixtures("kernels")
@pytest.mark.skipif(not CUDA, reason="the choice of the kernels needs an NVIDIA GPU")
def test_gpo_is_the_same_with_the_kernels() -> None:
    torch.manual_seed(0)
    pooler = GPO().to(DEVICE)
    tokens = distinct(8, 21, 48, torch.bfloat16)
    assert fuses(tokens)
    wide = Tokens(tokens.values.float(), tokens.mask)
    assert not fuses(wide)
    torch.testing.assert_close(pooler(tokens).float(), pooler(wide), rtol=1e-2, atol=1e-2)


def test_values_in_full_precision_or_on_the_host_are_sorted_by_torch() -> None:
    values = torch.zeros(1, 4, 2)
    mask = torch.ones(1, 4, dtype=torch.bool)
    assert not fuses(Tokens(values, mask))
    assert not fuses(Tokens(values.bfloat16(), mask))

"""GPO: its parts against loops, its table of weights, its fast sort."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from lingvis.pooling import GPO
from lingvis.pooling.coefficients import Coefficients, InterpolatedScores, SinCosCode
from lingvis.pooling.sorting import sort_features
from lingvis.types import Tokens


def sets(batch: int, length: int, dim: int = 6, *, dtype: torch.dtype = torch.float32) -> Tokens:
    """Random sets with holes; values repeat, so that there are ties."""
    generator = torch.Generator().manual_seed(2)
    values = (torch.randn(batch, length, dim, generator=generator, dtype=torch.float64) * 4).round() / 4
    mask = torch.rand(batch, length, generator=generator) < 0.7
    mask[:, 0] = True
    return Tokens(values.to(dtype), mask)


def naive_gpo(pooler: GPO, tokens: Tokens) -> Tensor:
    """One set at a time: its own weights, each dimension sorted by Python."""
    pooled = []
    for values, mask in zip(tokens.values, tokens.mask, strict=True):
        count = int(mask.sum())
        weights = pooler.coefficients(torch.tensor([count]), count)[0, 0]
        columns = [sorted(column, reverse=True) for column in values[mask].T.tolist()]
        pooled.append(torch.stack([(weights * torch.tensor(column)).sum() for column in columns]))
    return torch.stack(pooled)


def test_the_paper_has_12704_parameters() -> None:
    assert sum(parameter.numel() for parameter in GPO().parameters()) == 12_704


@pytest.mark.parametrize("batch", [9, 3], ids=["table", "per set"])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("decoder", ["bigru", "transformer", "mlp"])
def test_equals_naive_loop(batch: int, training: bool, decoder: str) -> None:
    torch.manual_seed(0)
    pooler, tokens = GPO(decoder=decoder).train(training), sets(batch, 6)  # type: ignore[arg-type]
    expected = naive_gpo(pooler, tokens)
    torch.testing.assert_close(pooler(tokens), expected)
    with torch.no_grad():
        torch.testing.assert_close(pooler(tokens), expected)


@pytest.mark.parametrize("per_dimension", [False, True])
def test_a_curve_weighs_a_set_as_the_pooler_does(per_dimension: bool) -> None:
    torch.manual_seed(0)
    pooler = GPO(start="random", per_dimension=per_dimension, dim=3)
    for size in (1, 5):
        curve = pooler.curve(size)
        assert curve.shape == (size,) and float(curve.sum()) == pytest.approx(1)
        for rank in range(size):
            values = torch.full((1, size, 3), -1.0)  # sorted: 1 for the largest values up to this rank
            values[0, : rank + 1] = 1.0
            whole = torch.ones(1, size, dtype=torch.bool)
            pooled = float(pooler(Tokens(values, whole)).mean().detach())
            assert pooled == pytest.approx(2 * float(curve[: rank + 1].sum()) - 1, abs=1e-5)


def test_zero_scores_make_it_the_mean() -> None:
    pooler, tokens = GPO(), sets(5, 8)
    torch.nn.init.zeros_(pooler.coefficients.decoder.get_parameter("score.weight"))
    expected = torch.stack([v[m].mean(0) for v, m in zip(tokens.values, tokens.mask, strict=True)])
    torch.testing.assert_close(pooler(tokens), expected)


def test_gradients_do_not_depend_on_the_table() -> None:
    torch.manual_seed(0)
    pooler, tokens = GPO(), sets(9, 6)
    table = torch.autograd.grad(pooler(tokens).square().sum(), list(pooler.parameters()))
    halves = [Tokens(tokens.values[part], tokens.mask[part]) for part in (slice(0, 5), slice(5, 9))]
    parts = [pooler(half).square().sum() for half in halves]  # both smaller than the sets: no table
    for ours, expected in zip(table, torch.autograd.grad(sum(parts), list(pooler.parameters())), strict=True):
        torch.testing.assert_close(ours, expected, rtol=1e-4, atol=1e-5)


def test_sincos_code_by_hand() -> None:
    code = SinCosCode(dim=4)(3, torch.zeros(1, dtype=torch.float64))
    expected = [[math.sin(p), math.cos(p), math.sin(p / 100), math.cos(p / 100)] for p in range(3)]
    torch.testing.assert_close(code, torch.tensor(expected, dtype=torch.float64))


def test_interpolated_scores_by_hand() -> None:
    scores = InterpolatedScores(knots=3, outputs=1)
    scores.knots.data = torch.tensor([[0.0], [10.0], [30.0]])
    mask = torch.arange(5) < torch.tensor([[5], [4], [3], [2], [1]])
    got = scores(mask).squeeze(-1)
    expected: list[list[float]] = [[0, 5, 10, 20, 30], [0, 20 / 3, 50 / 3, 30], [0, 10, 30], [0, 30], [0]]
    for row, numbers in zip(got, expected, strict=True):
        torch.testing.assert_close(row[: len(numbers)], torch.tensor(numbers, dtype=torch.float32))


def test_weights_sum_to_one_and_vanish_past_the_length() -> None:
    lengths = torch.tensor([1, 3, 150])
    for position, decoder in (("sincos", "bigru"), ("index", "transformer"), ("index", "interpolate")):
        weights = Coefficients(position=position, decoder=decoder, outputs=2)(lengths, 150)
        torch.testing.assert_close(weights.sum(-1), torch.ones(3, 2))
        assert weights[1, :, 3:].abs().sum() == 0


def test_kept_weights_follow_every_change_of_the_parameters() -> None:
    torch.manual_seed(0)
    pooler, other, tokens = GPO().eval(), GPO().eval(), sets(4, 6)
    with torch.no_grad():
        first, changed = pooler(tokens), other(tokens)
        assert not torch.allclose(first, changed)
        assert list(pooler._kept) == [6]
        kept = pooler._kept[6]
        torch.testing.assert_close(pooler(tokens), first)
        assert pooler._kept[6] is kept  # used again, not computed again

        parent = torch.nn.ModuleDict({"pool": pooler})
        parent.load_state_dict({f"pool.{name}": value for name, value in other.state_dict().items()})
        torch.testing.assert_close(pooler(tokens), changed)
        parent.double()
        assert pooler(Tokens(tokens.values.double(), tokens.mask)).dtype == torch.float64
        parent.float().train()
        assert not pooler._kept
    assert not any("kept" in name for name in pooler.state_dict())


def test_a_step_in_evaluation_mode_is_seen() -> None:
    torch.manual_seed(0)
    pooler, tokens = GPO().eval(), sets(4, 6)
    optimiser = torch.optim.SGD(pooler.parameters(), lr=1.0)
    with torch.no_grad():
        before = pooler(tokens)
    torch.autograd.backward(pooler(tokens).sum())
    optimiser.step()
    with torch.no_grad():
        assert not torch.allclose(pooler(tokens), before)
        torch.testing.assert_close(pooler(tokens), naive_gpo(pooler, tokens))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64])
def test_sort_equals_python(dtype: torch.dtype) -> None:
    tokens = sets(5, 9, dtype=dtype)
    tokens.values[0, 0] = torch.tensor([0.0, -0.0, 1e-7, -1e-7, 6e4, -6e4])
    expected = torch.zeros(5, 6, 9, dtype=dtype)
    for row in range(5):
        for column in range(6):
            numbers = sorted(tokens.values[row, tokens.mask[row], column].tolist(), reverse=True)
            expected[row, column, : len(numbers)] = torch.tensor(numbers, dtype=dtype)
    torch.testing.assert_close(sort_features(tokens), expected, rtol=0, atol=0)
    watched = Tokens(tokens.values.clone().requires_grad_(), tokens.mask)
    torch.testing.assert_close(sort_features(watched).detach(), expected, rtol=0, atol=0)


def test_sort_gradient_goes_to_the_value_that_was_taken() -> None:
    tokens = sets(5, 9)
    values = tokens.values.requires_grad_()
    weight = torch.randn(5, 6, 9)
    (grad,) = torch.autograd.grad((sort_features(Tokens(values, tokens.mask)) * weight).sum(), values)
    for row in range(5):
        valid = [i for i in range(9) if tokens.mask[row, i]]
        for column in range(6):
            numbers = values.detach()[row, valid, column].tolist()
            taken = sorted(range(len(valid)), key=numbers.__getitem__, reverse=True)
            for rank, which in enumerate(taken):
                if numbers.count(numbers[which]) == 1:  # among ties any order is right
                    assert grad[row, valid[which], column] == weight[row, column, rank]
            total = weight[row, column, : len(valid)].sum()
            torch.testing.assert_close(grad[row, valid, column].sum(), total, rtol=1e-4, atol=1e-5)


def test_autocast_keeps_the_weights_in_float32() -> None:
    torch.manual_seed(0)
    pooler, tokens = GPO(), sets(9, 6)
    expected = pooler(tokens)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert pooler.weights(tokens.lengths, tokens.mask.shape[1]).dtype == torch.float32
        torch.testing.assert_close(pooler(tokens), expected)


def test_exports_with_free_batch_and_length() -> None:
    class Whole(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.pool = GPO(decoder="mlp")  # torch's own GRU unrolls a plain export to a fixed length

        def forward(self, values: Tensor, mask: Tensor) -> Tensor:
            result: Tensor = self.pool(Tokens(values, mask))
            return result

    torch.manual_seed(0)
    whole, tokens = Whole().eval(), sets(4, 6)
    batch, length = torch.export.Dim("batch", min=2, max=64), torch.export.Dim("length", min=2, max=100)
    shapes = {"values": {0: batch, 1: length}, "mask": {0: batch, 1: length}}
    with torch.no_grad():
        program = torch.export.export(whole, (tokens.values, tokens.mask), dynamic_shapes=shapes)
        other = sets(7, 12)
        torch.testing.assert_close(
            program.module()(other.values, other.mask), whole(other.values, other.mask)
        )

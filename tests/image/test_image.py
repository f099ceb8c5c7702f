from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from lingvis.image import table as table_module
from lingvis.image.augment import IMAGE_AUGMENTS, DropVectors, DropVectorsScaled
from lingvis.image.encoders import IMAGE_ENCODERS, MLP, ResidualMLP
from lingvis.image.table import FeatureTable
from lingvis.layers.normalization import MaskedBatchNorm
from lingvis.types import Tokens

OPTIONS: dict[str, dict[str, float]] = {
    "linear": {},
    "residual_mlp": {"hidden": 4},
    "mlp": {"hidden": 4, "dropout": 0.0},
}


def ragged(seed: int = 0) -> Tokens:
    generator = torch.Generator().manual_seed(seed)
    mask = torch.rand(6, 9, generator=generator) < 0.6
    mask[:, 3] = True
    return Tokens(torch.randn(6, 9, 8, generator=generator), mask)


def test_masked_batch_norm_equals_batch_norm_of_the_valid_vectors() -> None:
    tokens = ragged()
    masked, plain = MaskedBatchNorm(8), nn.BatchNorm1d(8)
    for _ in range(2):
        got = masked(tokens.values, tokens.mask)[tokens.mask]
        torch.testing.assert_close(got, plain(tokens.values[tokens.mask]))
    torch.testing.assert_close(masked.running_mean, plain.running_mean)
    torch.testing.assert_close(masked.running_var, plain.running_var)
    masked.eval(), plain.eval()
    got = masked(tokens.values, tokens.mask)[tokens.mask]
    torch.testing.assert_close(got, plain(tokens.values[tokens.mask]))


def test_masked_batch_norm_computes_in_the_numbers_of_its_statistics() -> None:
    tokens = ragged()
    exact = MaskedBatchNorm(8).double()
    values = tokens.values.double().requires_grad_()
    assert torch.autograd.gradcheck(lambda given: exact(given, tokens.mask)[tokens.mask], (values,))
    half, single = MaskedBatchNorm(8), MaskedBatchNorm(8)
    rough = tokens.values.bfloat16()
    half(rough, tokens.mask)
    single(rough.float(), tokens.mask)
    assert half.running_var is not None and half.running_var.dtype == torch.float32
    assert torch.equal(half.running_var, single.running_var)  # type: ignore[arg-type]


def test_residual_mlp_is_the_sum_of_both_branches_one_vector_at_a_time() -> None:
    encoder = ResidualMLP(input_dim=8, dim=5, hidden=4).eval()
    tokens = ragged()
    got = encoder(tokens).values
    for b in range(6):
        for k in range(9):
            x = tokens.values[b, k]
            hidden = (
                encoder.inner(x) / (1 + encoder.norm.eps) ** 0.5
            )  # fresh running statistics: mean 0, var 1
            expected = encoder.linear.linear(x) + encoder.outer(hidden.relu())
            left_out = torch.zeros(5)  # on a CPU, with gradients
            torch.testing.assert_close(got[b, k], expected if tokens.mask[b, k] else left_out)


def test_mlp_equals_layers_over_the_valid_vectors() -> None:
    torch.manual_seed(0)
    encoder = MLP(input_dim=8, dim=5, hidden=4, dropout=0.5)
    plain = nn.Sequential(nn.Linear(8, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 5))
    state = encoder.state_dict()
    for place, name in ((0, "inner"), (3, "outer")):
        plain[place].load_state_dict({key: state[f"{name}.{key}"] for key in ("weight", "bias")})
    tokens = ragged()
    with torch.no_grad():
        plain(tokens.values[tokens.mask])  # one training step of statistics on each side
        encoder(tokens)
        encoder.eval(), plain.eval()
        got = encoder(tokens)
        torch.testing.assert_close(got.values[tokens.mask], plain(tokens.values[tokens.mask]))
    assert torch.equal(got.mask, tokens.mask)
    assert got.values.shape == (6, 9, 5)


@pytest.mark.parametrize("name", ["mlp", "residual_mlp"])
def test_dropout_acts_in_training_only(name: str) -> None:
    options = {**OPTIONS[name], "dropout": 0.9}
    encoder = IMAGE_ENCODERS.get(name)(input_dim=8, dim=5, **options)
    tokens = ragged()
    assert not torch.equal(encoder(tokens).values, encoder(tokens).values)
    encoder.eval()
    assert torch.equal(encoder(tokens).values, encoder(tokens).values)


def test_padding_does_not_change_what_an_encoder_learns_from() -> None:
    for entry in IMAGE_ENCODERS:
        options = {} if entry.name == "none" else {"dim": 5, **OPTIONS[entry.name]}
        torch.manual_seed(0)
        encoder = entry.factory(input_dim=8, **options)
        tokens = ragged()
        other = Tokens(tokens.values.masked_fill(~tokens.mask.unsqueeze(-1), 1e3), tokens.mask)
        torch.testing.assert_close(encoder(tokens).values[tokens.mask], encoder(other).values[tokens.mask])


def test_drop_keeps_the_asked_share_and_never_empties_a_set() -> None:
    torch.manual_seed(0)
    tokens = Tokens(torch.zeros(2000, 10, 1), torch.ones(2000, 10, dtype=torch.bool))
    kept = DropVectors(p=0.2)(tokens).mask.float().mean()
    assert float(kept) == pytest.approx(0.8, abs=0.01)
    alone = DropVectors(p=1.0)(ragged())
    assert alone.lengths.tolist() == [1] * 6
    assert not (alone.mask & ~ragged().mask).any()


def test_scaled_drop_draws_its_probability_per_picture() -> None:
    torch.manual_seed(0)
    tokens = Tokens(torch.zeros(4000, 50, 1), torch.ones(4000, 50, dtype=torch.bool))
    dropped = 1 - DropVectorsScaled(p=0.2)(tokens).mask.float().mean(dim=1)
    # u <= 0.2 drops nothing; otherwise 0.2 u, whose mean is the integral of 0.2 u from 0.2 to 1 = 0.096.
    assert float(dropped.mean()) == pytest.approx(0.096, abs=0.004)
    assert float((dropped == 0).float().mean()) > 0.2


def test_augmentations_rest_in_evaluation() -> None:
    tokens = ragged()
    for entry in IMAGE_AUGMENTS:
        options = {} if entry.name == "none" else {"p": 0.9}
        assert entry.factory(**options).eval()(tokens) is tokens


@pytest.mark.parametrize("sizes", [[3, 3, 3, 3], [1, 4, 2, 5]])
def test_table_serves_ragged_sets_as_a_naive_loop_would(sizes: list[int]) -> None:
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    values = np.arange(sum(sizes) * 2, dtype=np.float16).reshape(-1, 2)
    rows = np.array([2, 0, 3])  # the table serves a part of the store in its own order
    table = FeatureTable(values=values, offsets=offsets, rows=rows, device=torch.device("cpu"))
    asked = np.array([1, 2, 2])
    tokens = table.batch(asked)
    for position, row in enumerate(rows[asked]):
        expected = values[offsets[row] : offsets[row + 1]]
        assert tokens.values.dtype == torch.float32
        np.testing.assert_array_equal(tokens.values[position][tokens.mask[position]].numpy(), expected)
        assert int(tokens.lengths[position]) == sizes[row]


def test_sets_are_copied_to_a_device_in_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_module, "SETS_PER_COPY", 2)
    offsets = np.array([0, 1, 5, 7, 12, 13])
    values = np.arange(26, dtype=np.float16).reshape(13, 2)
    rows = np.array([3, 0, 2, 4, 1])
    starts, sizes = offsets[:-1][rows], np.diff(offsets)[rows]
    copied = table_module._copy(values, starts, sizes, torch.device("cpu"))
    expected = np.concatenate([values[offsets[row] : offsets[row + 1]] for row in rows])
    np.testing.assert_array_equal(copied.numpy(), expected)

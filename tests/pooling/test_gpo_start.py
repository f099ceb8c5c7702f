from __future__ import annotations

import pytest
import torch
from torch import Tensor

from lingvis.pooling import GPO
from lingvis.pooling.gpo import LEAN


def weights(start: str, decoder: str, size: int, seed: int = 0) -> Tensor:
    torch.manual_seed(seed)
    pooler = GPO(start=start, decoder=decoder)  # type: ignore[arg-type]
    with torch.no_grad():
        found: Tensor = pooler.coefficients(torch.tensor([size]), size)[0, 0]
    return found


@pytest.mark.parametrize("decoder", ["bigru", "transformer", "mlp"])
@pytest.mark.parametrize("size", [2, 13, 49])
def test_a_mean_start_is_the_mean(decoder: str, size: int) -> None:
    torch.testing.assert_close(weights("mean", decoder, size), torch.full((size,), 1 / size))


@pytest.mark.parametrize("seed", range(3))
def test_a_leaning_start_prefers_the_larger_values_about_as_much_as_asked(seed: int) -> None:
    for size in (13, 49):
        found = weights("lean", "bigru", size, seed)
        share = torch.arange(size) / (size - 1)
        wanted = torch.softmax(-LEAN * share, dim=0)
        assert float((found - wanted).abs().sum()) < 0.35  # the regression is a fit, not the curve itself
        assert found[: size // 4].sum() > 2 * found[-(size // 4) :].sum()


def test_a_random_start_differs_by_seed() -> None:
    assert not torch.allclose(weights("random", "bigru", 20, 0), weights("random", "bigru", 20, 1))

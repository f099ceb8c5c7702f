from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from lingvis.training.average import WeightAverage


def model_with_statistics() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))


def one_step(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    optimizer.zero_grad()
    model(torch.randn(5, 3)).square().sum().backward()
    optimizer.step()


def snapshot(model: nn.Module) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in model.state_dict().items()}


def test_the_average_equals_a_naive_loop_over_all_weights_and_statistics() -> None:
    model, decay = model_with_statistics(), 0.6
    average = WeightAverage(model, decay)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    expected = snapshot(model)
    for step in range(1, 13):
        one_step(model, optimizer)
        average.update(step)
        # 2/11, 3/12, ... rises to the asked decay: (1 + step) / (10 + step) is 0.6 at step 12.5.
        now = min(decay, (1 + step) / (10 + step))
        for name, value in model.state_dict().items():
            if value.is_floating_point():
                expected[name] = now * expected[name] + (1 - now) * value
    assert set(average.state) == {name for name, value in expected.items() if value.is_floating_point()}
    for name, value in average.state.items():
        torch.testing.assert_close(value, expected[name])
    assert "1.running_var" in average.state


def test_applied_weights_are_put_back_even_after_an_error() -> None:
    model = model_with_statistics()
    average = WeightAverage(model, 0.9)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    one_step(model, optimizer)
    average.update(1)
    before = snapshot(model)
    model.eval()
    inputs = torch.randn(2, 3)
    outside = model(inputs)
    with average.applied():
        for name, value in average.state.items():
            assert torch.equal(model.state_dict()[name], value)
            assert not torch.equal(value, before[name])
        assert not torch.allclose(model(inputs), outside)
    with pytest.raises(KeyboardInterrupt), average.applied():
        raise KeyboardInterrupt
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name])
    assert torch.equal(model(inputs), outside)


def test_without_decay_the_model_itself_is_measured() -> None:
    model = model_with_statistics()
    average = WeightAverage(model, 0.0)
    one_step(model, torch.optim.Adam(model.parameters(), lr=0.1))
    average.update(1)
    before = snapshot(model)
    with average.applied():
        for name, value in model.state_dict().items():
            assert torch.equal(value, before[name])
    assert average.state == {}

"""Optimisers with parameter groups, and the learning rate over time."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeVar

import torch
from torch import nn

from lingvis.errors import UserError

T = TypeVar("T")
Schedule = Callable[[int, int], float]


def make_optimizer(
    parameters: Mapping[str, nn.Parameter],
    *,
    name: str,
    lr: float,
    weight_decay: float,
    factors: Mapping[str, float],
    frozen_epochs: Mapping[str, int] = MappingProxyType({}),
) -> torch.optim.Optimizer:
    """Adam or AdamW; `factors` scales the rate of parameters by name prefix, the longest prefix wins.

    A factor of 0 freezes: such parameters are left out and get no gradient, like the frozen weights of a part.
    frozen_epochs: the same for the first epochs only, see `begin_epoch`. Each group keeps its scale as `factor`, so
    that `set_rate` can change `lr` at every step.
    """
    groups: dict[tuple[float, int], list[nn.Parameter]] = {}
    for key, parameter in parameters.items():
        factor = _by_prefix(factors, key, 1.0)
        parameter.requires_grad_(parameter.requires_grad and factor > 0)
        if parameter.requires_grad:
            groups.setdefault((factor, _by_prefix(frozen_epochs, key, 0)), []).append(parameter)
    for name_of_key, values in (("factors", factors), ("frozen_epochs", frozen_epochs)):
        unused = [prefix for prefix in values if not any(covers(prefix, key) for key in parameters)]
        if unused:
            parts = sorted({".".join(key.split(".")[:2]) for key in parameters})
            raise UserError(
                f"optimizer.{name_of_key} names {', '.join(unused)}, which no parameter has; choose from: "
                f"{', '.join(parts)}"
            )
    if not groups:
        raise UserError(
            "optimizer.factors freezes every parameter; leave at least one part with a factor above 0"
        )
    kind = torch.optim.AdamW if name == "adamw" else torch.optim.Adam
    device = next(iter(parameters.values())).device
    on_gpu = device.type == "cuda"
    return kind(
        [
            # On a GPU the rate is a tensor, so that a recorded step sees its changes.
            {
                "params": params,
                "factor": factor,
                "frozen_epochs": epochs,
                "lr": torch.tensor(lr, device=device) if on_gpu else lr,
            }
            for (factor, epochs), params in groups.items()
        ],
        weight_decay=weight_decay,
        fused=on_gpu,
        capturable=on_gpu,
    )


def make_schedule(
    name: str,
    *,
    lr: float,
    epochs: Sequence[int],
    factor: float,
    warmup_epochs: Sequence[int],
    total_epochs: int,
    steps_per_epoch: int,
    last: float = 0.0,
) -> Schedule:
    """(step, epoch) -> learning rate, as described in `lingvis.recipes.schema.ScheduleSection`."""

    def rate(step: int, epoch: int) -> float:
        share = (step - epoch * steps_per_epoch + 1) / steps_per_epoch if epoch in warmup_epochs else 1.0
        if name == "step":
            return share * lr * factor ** sum(epoch >= at for at in epochs)
        falling = 0.5 * (1 + math.cos(math.pi * step / (total_epochs * steps_per_epoch)))
        return share * lr * (last + (1 - last) * falling)

    return rate


def set_rate(optimizer: torch.optim.Optimizer, lr: float) -> None:
    """Set the learning rate of every group; groups with a `factor` get it multiplied."""
    for group in optimizer.param_groups:
        rate = lr * group.get("factor", 1.0)
        if isinstance(group["lr"], torch.Tensor):
            group["lr"].fill_(rate)
        else:
            group["lr"] = rate


def begin_epoch(optimizer: torch.optim.Optimizer, epoch: int) -> None:
    """Freeze the parameters that stay as they are in this epoch, and train the others."""
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            parameter.requires_grad_(epoch >= group.get("frozen_epochs", 0))


def _by_prefix(values: Mapping[str, T], key: str, default: T) -> T:
    """The value of the longest prefix that covers a parameter name."""
    prefix = max((each for each in values if covers(each, key)), key=len, default=None)
    return default if prefix is None else values[prefix]


def covers(prefix: str, key: str) -> bool:
    """Whether a dotted parameter name begins with a prefix of whole components."""
    return key == prefix or key.startswith(prefix + ".")

"""Optimisers with parameter groups, and the learning rate over time."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import torch
from torch import nn

from lingvis.errors import UserError

Schedule = Callable[[int, int], float]


def make_optimizer(
    parameters: Mapping[str, nn.Parameter],
    *,
    name: str,
    lr: float,
    weight_decay: float,
    factors: Mapping[str, float],
) -> torch.optim.Optimizer:
    """Adam or AdamW; `factors` scales the rate of parameters by name prefix, the longest prefix wins.

    A factor of 0 freezes: such parameters are left out and get no gradient, like the frozen weights of a part.
    Each group keeps its scale as `factor`, so that `set_rate` can change `lr` at every step.
    """
    groups: dict[float, list[nn.Parameter]] = {}
    for key, parameter in parameters.items():
        prefix = max((p for p in factors if covers(p, key)), key=len, default=None)
        factor = 1.0 if prefix is None else factors[prefix]
        parameter.requires_grad_(parameter.requires_grad and factor > 0)
        if parameter.requires_grad:
            groups.setdefault(factor, []).append(parameter)
    unused = [prefix for prefix in factors if not any(covers(prefix, key) for key in parameters)]
    if unused:
        parts = sorted({".".join(key.split(".")[:2]) for key in parameters})
        raise UserError(
            f"optimizer.factors names {', '.join(unused)}, which no parameter has; choose from: {', '.join(parts)}"
        )
    if not groups:
        raise UserError(
            "optimizer.factors freezes every parameter; leave at least one part with a factor above 0"
        )
    kind = torch.optim.AdamW if name == "adamw" else torch.optim.Adam
    fused = next(iter(parameters.values())).device.type == "cuda"
    return kind(
        [{"params": params, "factor": factor} for factor, params in groups.items()],
        lr=lr,
        weight_decay=weight_decay,
        fused=fused,
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
) -> Schedule:
    """(step, epoch) -> learning rate, as described in `lingvis.recipes.schema.ScheduleSection`."""

    def rate(step: int, epoch: int) -> float:
        share = (step - epoch * steps_per_epoch + 1) / steps_per_epoch if epoch in warmup_epochs else 1.0
        if name == "step":
            return share * lr * factor ** sum(epoch >= at for at in epochs)
        return share * lr * 0.5 * (1 + math.cos(math.pi * step / (total_epochs * steps_per_epoch)))

    return rate


def set_rate(optimizer: torch.optim.Optimizer, lr: float) -> None:
    """Set the learning rate of every group; groups with a `factor` get it multiplied."""
    for group in optimizer.param_groups:
        group["lr"] = lr * group.get("factor", 1.0)


def covers(prefix: str, key: str) -> bool:
    """Whether a dotted parameter name begins with a prefix of whole components."""
    return key == prefix or key.startswith(prefix + ".")

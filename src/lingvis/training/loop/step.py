"""One step of training: loss, backward pass, clipping, optimiser."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import nn

from lingvis.arrays import Ints
from lingvis.processes.exchange import average_gradients
from lingvis.training.loop.recorded import RecordedSteps
from lingvis.training.loop.task import Task
from lingvis.training.loop.watch import Loss, StepNumbers
from lingvis.types import Clock


class TrainingStep(Protocol):
    """Changes the weights by one batch."""

    def __call__(self, rows: Ints, clock: Clock) -> StepNumbers:
        """rows: numbers of sentences, as a sampler returns them."""


def make_step(task: Task, optimizer: torch.optim.Optimizer, *, clip: float) -> TrainingStep:
    """The step of a task: recorded as CUDA graphs where the task allows it. clip: as in TrainingPlan."""

    def descend(loss: Loss) -> StepNumbers:
        loss.total.backward()  # type: ignore[no-untyped-call]
        if task.shared:
            average_gradients(task)
        trained = [parameter for parameter in task.parameters() if parameter.grad is not None]
        norm = nn.utils.get_total_norm([each.grad for each in trained if each.grad is not None])
        if clip > 0:
            nn.utils.clip_grads_with_norm_(trained, clip, norm)
        optimizer.step()
        return StepNumbers.of(loss, norm)

    if task.recorded:
        return RecordedSteps(task, optimizer, descend)

    def step(rows: Ints, clock: Clock) -> StepNumbers:
        optimizer.zero_grad(set_to_none=True)
        return descend(task.loss(rows, clock))

    return step

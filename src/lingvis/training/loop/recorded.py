"""CUDA graphs: the step of a small model is hundreds of short kernels that take longer to launch than to run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from lingvis.arrays import Ints
from lingvis.training.loop.task import RecordableLoss, Task
from lingvis.training.loop.watch import Loss, StepNumbers
from lingvis.types import Clock

# A shape is recorded the third time it occurs: a rare one (the last batch of an epoch) is not worth it.
RECORD_AT = 3
# Every recording takes memory: a further one takes the place of the one that was used least recently.
MOST_RECORDINGS = 64


class ScheduledValues:
    """Numbers on the device that change from step to step, by the schedule that computes them."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._tensors: dict[Callable[[Clock], float], Tensor] = {}

    def tensor(self, schedule: Callable[[Clock], float], clock: Clock) -> Tensor:
        """The number of a schedule; a new one has its value at `clock`."""
        if schedule not in self._tensors:
            self._tensors[schedule] = torch.full((), schedule(clock), device=self._device)
        return self._tensors[schedule]

    def set(self, clock: Clock) -> None:
        """Give all numbers their values at `clock`."""
        for schedule, tensor in self._tensors.items():
            tensor.fill_(schedule(clock))


@dataclass(frozen=True, slots=True)
class RecordedClock(Clock):
    """A clock whose values are read on the device, so that a recording sees the values of its replay."""

    scheduled: ScheduledValues | None = None

    def value(self, schedule: Callable[[Clock], float]) -> float | Tensor:
        """The value of a schedule, on the device."""
        assert self.scheduled is not None
        return self.scheduled.tensor(schedule, self)


@dataclass(frozen=True, slots=True)
class Recording:
    """A recorded step, and the tensors that it reads from and writes to."""

    graph: torch.cuda.CUDAGraph
    inputs: Sequence[Tensor]
    numbers: StepNumbers

    def replay(self, inputs: Sequence[Tensor]) -> StepNumbers:
        """Repeat the step with other inputs."""
        for own, given in zip(self.inputs, inputs, strict=True):
            own.copy_(given, non_blocking=True)
        self.graph.replay()
        return replace(self.numbers, values=self.numbers.values.clone())


class RecordedSteps:
    """Whole steps of training, recorded once per shape and replayed: encoding, loss, backward pass and optimiser.

    descend: a loss -> its gradient and a step of the optimiser, whose state must be on the device.
    """

    def __init__(
        self, task: Task, optimizer: torch.optim.Optimizer, descend: Callable[[Loss], StepNumbers]
    ) -> None:
        self._task = task
        self._optimizer = optimizer
        self._descend = descend
        self._seen: Counter[Hashable] = Counter()
        self._recordings: dict[Hashable, Recording] = {}
        device = next(task.parameters()).device
        self._scheduled = ScheduledValues(device)
        self._pool = torch.cuda.graph_pool_handle()

    def __call__(self, rows: Ints, clock: Clock) -> StepNumbers:
        """One step; `rows` as in TrainingStep."""
        step = self._task.recordable(rows, clock)
        # A recording has the gradients of the parameters that were trained when it was made.
        trained = tuple(parameter.requires_grad for parameter in self._task.parameters())
        shape = (step.shape, trained)
        self._scheduled.set(clock)
        if shape not in self._recordings:
            self._seen[shape] += 1
            if not self._worthwhile(shape):
                self._optimizer.zero_grad(set_to_none=True)
                return self._descend(step.loss(step.inputs, self._clock(clock)))
            self._recordings[shape] = self._record(step, clock)
            if len(self._recordings) > MOST_RECORDINGS:
                # To record waits for the device: the oldest recording is not being replayed any more.
                oldest = next(iter(self._recordings))
                del self._recordings[oldest], self._seen[oldest]
        recording = self._recordings[shape] = self._recordings.pop(shape)  # the last one is the latest
        return recording.replay(step.inputs)

    def _clock(self, clock: Clock) -> RecordedClock:
        return RecordedClock(clock.step, clock.epoch, clock.learning_since, self._scheduled)

    def _worthwhile(self, shape: Hashable) -> bool:
        """Whether to record this step: its shape comes again, and everything that is made once exists."""
        if self._seen[shape] < RECORD_AT:
            return False
        # A recorded first step of a parameter would reset its moments at every replay.
        groups = self._optimizer.param_groups
        trained = (each for group in groups for each in group["params"] if each.requires_grad)
        return all(parameter in self._optimizer.state for parameter in trained)

    def _record(self, step: RecordableLoss, clock: Clock) -> Recording:
        """Record one step; nothing is computed yet."""
        inputs = [each.clone() for each in step.inputs]
        self._optimizer.zero_grad(set_to_none=True)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self._pool):
            numbers = self._descend(step.loss(inputs, self._clock(clock)))
        # The gradients lie in the memory of the recordings: no other step may add to them.
        self._optimizer.zero_grad(set_to_none=True)
        return Recording(graph, inputs, numbers)

"""Values that processes which train one model send to one another.

Each encodes a part of a batch, and all compute the same loss. The derivatives of `gathered` and `added_up` are those of
the sum of the losses of all processes, so the mean of the gradients of all processes is the gradient of one loss.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn

from lingvis.processes.group import OtherProcessError, process_count, process_number

T = TypeVar("T")


@contextlib.contextmanager
def _exchange() -> Iterator[None]:
    """Report a lost connection: their starter reports why one ended."""
    try:
        yield
    except (RuntimeError, dist.DistError) as error:
        raise OtherProcessError(f"another process of this training has ended ({error})") from error


@contextlib.contextmanager
def first_process_first() -> Iterator[None]:
    """The others begin this block when the first process has left it; if it fails there, they do not."""
    if process_number():
        _wait_for_all()
    yield
    if not process_number() and process_count() > 1:
        _wait_for_all()


def _wait_for_all() -> None:
    anywhere(False)


def anywhere(here: bool) -> bool:
    """Whether something is true in any process."""
    if process_count() == 1:
        return here
    found = torch.tensor([int(here)])
    with _exchange():
        dist.all_reduce(found, dist.ReduceOp.MAX)
    return bool(found.item())


def from_first(make: Callable[[], T]) -> T:
    """The result of a function that only the first process calls; of JSON values."""
    if process_count() == 1:
        return make()
    content = b"" if process_number() else json.dumps(make()).encode()
    length = torch.tensor([len(content)])
    with _exchange():
        dist.broadcast(length, 0)
        sent = torch.zeros(int(length), dtype=torch.uint8)
        if content:
            sent.copy_(torch.frombuffer(bytearray(content), dtype=torch.uint8))
        dist.broadcast(sent, 0)
    found: T = json.loads(bytes(sent.tolist()))
    return found


def own_share(size: int, number: int, count: int) -> slice:
    """Which of `size` rows belong to one of `count` shares; sizes differ by one at most."""
    least, more = divmod(size, count)
    first = number * least + min(number, more)
    return slice(first, first + least + (number < more))


def gathered(own: Tensor, size: int) -> Tensor:
    """The rows [size, ...] of all processes, in order, from the rows of each: see `own_share`."""
    if not size:
        return own
    if own.dtype == torch.bool:
        return gathered(own.to(torch.uint8), size).bool()
    count = process_count()
    most = -(-size // count)
    padded = torch.cat([own, own.new_zeros(most - len(own), *own.shape[1:])])
    rows: Tensor = _Gather.apply(padded)  # type: ignore[no-untyped-call]
    if size % count == 0:
        return rows
    shares = (own_share(size, number, count) for number in range(count))
    kept = [
        number * most + place
        for number, share in enumerate(shares)
        for place in range(share.stop - share.start)
    ]
    return rows[torch.tensor(kept, device=rows.device)]


def added_up(values: Tensor) -> Tensor:
    """The sum over all processes."""
    return values if process_count() == 1 else _AddUp.apply(values)  # type: ignore[no-untyped-call]


class _Gather(torch.autograd.Function):
    """[N, ...] of each process -> [processes * N, ...]."""

    @staticmethod
    def forward(ctx: Any, own: Tensor) -> Tensor:
        rows = own.new_empty(process_count() * len(own), *own.shape[1:])
        with _exchange():
            dist.all_gather(list(rows.chunk(process_count())), own.contiguous())
        return rows

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        total = gradients[0].clone(memory_format=torch.contiguous_format)
        with _exchange():
            dist.all_reduce(total)
        return total.chunk(process_count())[process_number()]


class _AddUp(torch.autograd.Function):
    """The sum of tensors of one shape."""

    @staticmethod
    def forward(ctx: Any, values: Tensor) -> Tensor:
        total = values.clone(memory_format=torch.contiguous_format)
        with _exchange():
            dist.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        return _AddUp.forward(ctx, gradients[0])


def average_gradients(module: nn.Module) -> None:
    """Give every parameter the mean of its gradients in all processes; one without a gradient counts as zero."""
    parameters = list(module.parameters())
    used = torch.tensor([parameter.grad is not None for parameter in parameters], dtype=torch.uint8)
    with _exchange():
        dist.all_reduce(used, dist.ReduceOp.MAX)
        trained = [
            each for each, anywhere_used in zip(parameters, used.tolist(), strict=True) if anywhere_used
        ]
        flat = torch.cat([_gradient(each).flatten() for each in trained])
        dist.all_reduce(flat)
    flat /= process_count()
    means = torch.split(flat, [each.numel() for each in trained])
    for parameter, mean in zip(trained, means, strict=True):
        parameter.grad = mean.view_as(parameter)


def _gradient(parameter: Tensor) -> Tensor:
    return torch.zeros_like(parameter) if parameter.grad is None else parameter.grad


def tensor_of_first(own: Tensor) -> Tensor:
    """The tensor that the first process has, on the CPU; it may have another shape, but has the same number type."""
    if process_count() == 1:
        return own
    shape = from_first(lambda: list(own.shape))
    found = own.new_empty(shape, device="cpu") if process_number() else own.cpu().contiguous()
    with _exchange():
        dist.broadcast(found, 0)
    return found


def take_weights_of_first(module: nn.Module) -> None:
    """Give a module the weights and buffers that it has in the first process."""
    if process_count() > 1:
        with _exchange():
            for value in module.state_dict().values():
                dist.broadcast(value.view(torch.uint8) if value.dtype == torch.bool else value, 0)

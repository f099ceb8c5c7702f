"""The processes that were started together: their numbers, their devices, and who reports an error."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.rendezvous import rendezvous

from lingvis.device import choose_device
from lingvis.errors import UserError

# Variables of a process that was started together with others.
STARTED = {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}
# With a GPU: what is on the CPU is exchanged without waiting for it.
BACKENDS = "cpu:gloo,cuda:nccl"
# The others wait for the first one while it validates.
LONGEST_WAIT = timedelta(hours=6)
# A process may train several models, one after the other: what was stored for one is not for the next.
_JOINS = itertools.count()


class OtherProcessError(UserError):
    """Another process has failed, and has said why."""


def process_count() -> int:
    """Number of processes that train together."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def process_number() -> int:
    """The number of this process, from 0."""
    return dist.get_rank() if process_count() > 1 else 0


def started_number() -> int:
    """The same before and after `joined`: the number that this process was started with."""
    return int(os.environ["RANK"]) if started_count() > 1 else 0


def started_count() -> int:
    """Number of processes that were started together, by torchrun or in its way."""
    return int(os.environ["WORLD_SIZE"]) if os.environ.keys() >= STARTED else 1


@contextlib.contextmanager
def joined(device: str | None) -> Iterator[torch.device]:
    """Join the processes that were started together, and yield the device of this one; alone, only the device.

    Of several processes with one error, one raises it and the others an OtherProcessError. Only the first one prints.
    """
    if started_count() == 1 or dist.is_initialized():
        yield choose_device(device)
        return
    common, number, count = next(iter(rendezvous("env://")))
    store = dist.PrefixStore(f"lingvis-{next(_JOINS)}", common)  # type: ignore[attr-defined]
    on_gpu = device != "cpu" and torch.cuda.is_available()
    finished = False
    try:
        own = _own_device(device, on_gpu=on_gpu)
        dist.init_process_group(
            BACKENDS if on_gpu else "gloo",
            store=store,
            rank=number,
            world_size=count,
            timeout=LONGEST_WAIT,
        )
        with _silent() if number else contextlib.nullcontext():
            yield own
        finished = True
    except OtherProcessError:
        raise
    except UserError as error:
        if _is_first_to_fail(store):
            raise
        raise OtherProcessError(str(error)) from error
    finally:
        # After an error, NCCL may wait for the others.
        if dist.is_initialized() and (finished or not on_gpu):
            dist.destroy_process_group()


def _own_device(device: str | None, *, on_gpu: bool) -> torch.device:
    """The GPU with this process's number on its machine, or the CPU."""
    if device not in (None, "cpu", "cuda"):
        raise UserError(
            f"device {device!r} is for one process, and {started_count()} were started; use cpu or cuda"
        )
    if not on_gpu:
        return choose_device(device)
    own = choose_device(f"cuda:{os.environ.get('LOCAL_RANK', '0')}")
    torch.cuda.set_device(own)
    return own


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Print nothing in this block."""
    with open(os.devnull, "w", encoding="utf-8") as nothing, contextlib.redirect_stderr(nothing):
        yield


def _is_first_to_fail(store: Any) -> bool:
    try:
        return bool(store.add("failed", 1) == 1)
    except (RuntimeError, dist.DistError):
        return False  # the process that kept the store has ended

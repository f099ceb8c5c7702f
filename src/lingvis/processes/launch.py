"""Start the processes of a training on this machine, one per GPU or with equal shares of the cores."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence

import torch
import torch.distributed as dist

from lingvis.errors import UserError
from lingvis.hardware import core_count

HOST = "127.0.0.1"
SECONDS_BETWEEN_LOOKS = 0.05
SECONDS_TO_END = 10.0  # for the others, after one has failed


def run_processes(arguments: Sequence[str], count: int, *, device: str | None) -> int:
    """Run `lingvis` with these arguments in `count` processes that train together, and return the exit code.

    Only the first one prints. If one fails, all end; a process that was killed raises UserError.
    """
    gpus = 0 if device == "cpu" else torch.cuda.device_count()
    if gpus and count > gpus:
        raise UserError(
            f"processes is {count}, but this machine has {gpus} GPUs; start at most one process per GPU"
        )
    store = dist.TCPStore(HOST, 0, is_master=True, wait_for_workers=False)  # type: ignore[attr-defined]
    together = {
        "OMP_NUM_THREADS": str(max(1, core_count() // count)),
        **loopback(),
        **os.environ,
        **variables(HOST, store.port, count),
    }
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "lingvis", *arguments],
            env={**together, "RANK": str(number), "LOCAL_RANK": str(number)},
        )
        for number in range(count)
    ]
    # Ctrl-C reaches all processes of a terminal: each stops after its step, and this one waits for them. The request to
    # end reaches this one alone.
    before = (
        signal.signal(signal.SIGINT, signal.SIG_IGN),
        signal.signal(signal.SIGTERM, lambda *_: _stop(started)),
    )
    try:
        return _wait(started)
    finally:
        _end(started)
        for number, handler in zip((signal.SIGINT, signal.SIGTERM), before, strict=True):
            signal.signal(number, handler)


def variables(host: str, port: int, count: int) -> dict[str, str]:
    """Variables of all processes whose store is kept outside them, as by torchrun."""
    return {
        "MASTER_ADDR": host,
        "MASTER_PORT": str(port),
        "WORLD_SIZE": str(count),
        "TORCHELASTIC_USE_AGENT_STORE": "True",
    }


def loopback() -> dict[str, str]:
    """Variables that keep the traffic inside this machine."""
    name = next((name for _, name in socket.if_nameindex() if name.startswith("lo")), None)
    return {} if name is None else {"GLOO_SOCKET_IFNAME": name, "NCCL_SOCKET_IFNAME": name}


def _wait(started: Sequence[subprocess.Popen[bytes]]) -> int:
    """The exit code of the first process that fails, or 0."""
    while True:
        codes = [process.poll() for process in started]
        failed = next((number for number, code in enumerate(codes) if code), None)
        if failed is not None:
            return _failure(failed, codes[failed] or 0)
        if None not in codes:
            return 0
        time.sleep(SECONDS_BETWEEN_LOOKS)


def _failure(number: int, code: int) -> int:
    if code < 0:
        raise UserError(
            f"process {number} of the training was ended by signal {-code}; start the training again, with `resume` if "
            "there is a checkpoint, and with smaller batches if memory was full"
        )
    return code


def _stop(started: Sequence[subprocess.Popen[bytes]]) -> None:
    """Do as Ctrl-C does."""
    for process in started:
        process.send_signal(signal.SIGINT)


def _end(started: Sequence[subprocess.Popen[bytes]]) -> None:
    """End what is still running: it waits for a process that has failed."""
    deadline = time.monotonic() + SECONDS_TO_END
    for process in started:
        try:
            process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

"""Several processes that train one model: the same losses and weights as one process, and one report of an error."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from safetensors.torch import load_file

from lingvis.model.folder import CHECKPOINT
from lingvis.processes import exchange
from lingvis.processes.group import BACKENDS
from lingvis.processes.launch import HOST, loopback
from lingvis.training.loop.log import read_log

from .small_runs import weights
from .steps_together import RECIPES, STEPS, WHOLE, take_steps

ROOT = Path(__file__).parents[2]
TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--local-addr", HOST, "--nproc-per-node", "2"]


def start(*arguments: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **loopback()}
    command = [sys.executable, *arguments]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=pipe, stderr=pipe, text=True)


@pytest.fixture(scope="module")
def together(rich_dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with what two processes found together."""
    out = tmp_path_factory.mktemp("together")
    started = start(*TORCHRUN, "-m", "tests.training.steps_together", str(rich_dataset), str(out))
    _, errors = started.communicate(timeout=120)
    assert started.returncode == 0, errors
    return out


@pytest.mark.parametrize("recipe", RECIPES)
def test_two_processes_train_as_one(recipe: str, together: Path, rich_dataset: Path, tmp_path: Path) -> None:
    alone = take_steps(recipe, rich_dataset, tmp_path)
    first, second = (load_file(together / f"{recipe}-{number}.safetensors") for number in range(2))
    assert len(set(alone["losses"].tolist())) == STEPS  # it learns from step to step
    for name, value in alone.items():
        assert torch.allclose(first[name], value, rtol=1e-5, atol=1e-5), name
        assert torch.equal(first[name], second[name]), name


def test_all_processes_take_a_tensor_of_another_size_from_the_first(together: Path) -> None:
    for number in range(2):
        assert load_file(together / f"sent-{number}.safetensors")["sent"].tolist() == [0, 1, 2]


def test_one_of_several_processes_reports_an_error_of_all(together: Path) -> None:
    reports = sorted((together / f"error-{number}").read_text(encoding="utf-8") for number in range(2))
    assert [report.split(":")[0] for report in reports] == ["OtherProcessError", "UserError"]
    assert "similarity.dim is 24, but the dataset has only 19 training pictures" in reports[1]


def test_a_killed_process_ends_all_and_the_run_is_resumed(
    together: Path, rich_dataset: Path, tmp_path: Path
) -> None:
    run, whole = tmp_path / "run", together / "whole"
    command = ["-m", "lingvis", "train", "vse_infinity_region", str(rich_dataset), *WHOLE, "--out", str(run)]
    command += ["--processes", "2", "--device", "cpu"]
    started = start(*command)
    while not (run / CHECKPOINT).exists():
        assert started.poll() is None
        time.sleep(0.01)
    children = Path(f"/proc/{started.pid}/task/{started.pid}/children").read_text().split()
    os.kill(int(children[1]), signal.SIGKILL)
    _, errors = started.communicate(timeout=60)
    assert started.returncode == 2
    assert errors == (
        "lingvis: process 1 of the training was ended by signal 9; start the training again, with --resume if there is a "
        "checkpoint, and with smaller batches if memory was full\n"
    )
    assert not any(Path(f"/proc/{child}").exists() for child in children)

    resumed = start(*command, "--resume")
    printed, errors = resumed.communicate(timeout=120)
    assert resumed.returncode == 0, errors
    assert printed.count("is best, validation mR") == 1  # the first process alone prints
    expected = weights(whole)
    assert all(torch.equal(tensor, expected[name]) for name, tensor in weights(run).items())
    steps = [record["step"] for record in read_log(run) if record["kind"] == "val"]
    assert steps == [record["step"] for record in read_log(whole) if record["kind"] == "val"]
    assert not (run / "lock").exists()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="NCCL needs an NVIDIA GPU")
def test_nccl_exchanges_what_is_on_the_gpu() -> None:
    store = dist.TCPStore(HOST, 0, is_master=True, wait_for_workers=False)  # type: ignore[attr-defined]
    dist.init_process_group(BACKENDS, store=store, rank=0, world_size=1)
    try:
        own = torch.randn(5, 3, device="cuda", requires_grad=True)
        rows = exchange._Gather.apply(own)  # type: ignore[no-untyped-call]
        total = exchange._AddUp.apply(own)  # type: ignore[no-untyped-call]
        (rows.square().sum() + total.sum()).backward()
        torch.testing.assert_close(rows, own)
        torch.testing.assert_close(own.grad, 2 * own + 1)
        layer = torch.nn.Linear(3, 2).cuda()
        layer(rows.detach()).sum().backward()
        assert layer.weight.grad is not None
        expected = layer.weight.grad.clone()
        exchange.average_gradients(layer)
        torch.testing.assert_close(layer.weight.grad, expected)
    finally:
        dist.destroy_process_group()

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
from lingvis.processes.launch import HOST, loopback, variables
from lingvis.training.loop.log import read_log

from .small_runs import REGION, weights
from .steps_together import RECIPES, STEPS, take_steps

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def together(rich_dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with what two processes found together."""
    out = tmp_path_factory.mktemp("together")
    store = dist.TCPStore(HOST, 0, is_master=True, wait_for_workers=False)
    command = [sys.executable, "-m", "tests.training.steps_together", str(rich_dataset), str(out)]
    common = {**os.environ, "OMP_NUM_THREADS": "1", **loopback(), **variables(HOST, store.port, 2)}
    started = [
        subprocess.Popen(command, cwd=ROOT, env={**common, "RANK": number, "LOCAL_RANK": number})
        for number in ("0", "1")
    ]
    assert [process.wait(120) for process in started] == [0, 0]
    return out


@pytest.mark.parametrize("recipe", RECIPES)
def test_two_processes_train_as_one(recipe: str, together: Path, rich_dataset: Path, tmp_path: Path) -> None:
    alone = take_steps(recipe, rich_dataset, tmp_path)
    first, second = (load_file(together / f"{recipe}-{number}.safetensors") for number in range(2))
    assert len(set(alone["losses"].tolist())) == STEPS  # it learns from step to step
    for name, value in alone.items():
        torch.testing.assert_close(
            first[name], value, rtol=1e-5, atol=1e-5, msg=lambda text, n=name: f"{n}: {text}"
        )
        assert torch.equal(first[name], second[name]), name


DROPPING = [*REGION, "text.encoder.dropout=0.3", "training.epochs=6"]


def arguments(dataset: Path, run: Path, *more: str) -> list[str]:
    options = [*DROPPING, "training.checkpoint_seconds=0", "--out", str(run), *more]
    return ["-m", "lingvis", "train", "vse_infinity_region", str(dataset), *options]


def start(*command: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **loopback()}
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_a_killed_process_ends_all_and_the_run_is_resumed(toy_dataset: Path, tmp_path: Path) -> None:
    run, whole = tmp_path / "run", tmp_path / "whole"
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--local-addr", HOST, "--nproc-per-node", "2"]
    uninterrupted = start(sys.executable, *torchrun, *arguments(toy_dataset, whole))
    printed, errors = uninterrupted.communicate(timeout=120)
    assert uninterrupted.returncode == 0, errors
    assert printed.count("is best, validation mR") == 1  # the first process alone prints

    started = start(sys.executable, *arguments(toy_dataset, run, "--processes", "2"))
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

    resumed = start(sys.executable, *arguments(toy_dataset, run, "--processes", "2", "--resume"))
    assert resumed.wait(120) == 0, resumed.communicate()[1]
    expected = weights(whole)
    assert all(torch.equal(tensor, expected[name]) for name, tensor in weights(run).items())
    steps = [record["step"] for record in read_log(run) if record["kind"] == "val"]
    assert steps == [record["step"] for record in read_log(whole) if record["kind"] == "val"]
    assert not (run / "lock").exists()

    # An error that the first process finds alone, and one that all find at the same time.
    for out, more, sentence in (
        (run, [], f"{run} already holds a finished model; choose another folder, or delete it"),
        (tmp_path / "new", ["similarity.dim=24"], "similarity.dim is 24, but the dataset has only "),
    ):
        failed = start(sys.executable, *arguments(toy_dataset, out, "--processes", "2", *more))
        printed, errors = failed.communicate(timeout=60)
        assert failed.returncode == 2 and printed == ""
        assert errors.startswith(f"lingvis: {sentence}") and errors.count("\n") == 1

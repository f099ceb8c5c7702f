"""What benchmarks of many training runs share: doing them side by side, going on with them, keeping their records."""

from __future__ import annotations

import contextlib
import io
import json
import multiprocessing
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any, Protocol

import torch

from lingvis.errors import UserError
from lingvis.hardware import core_count
from lingvis.model.folder import CHECKPOINT, ModelConfig, is_model_folder
from lingvis.progress import ProgressBar
from lingvis.training.run import train
from lingvis.training.validate import load_recipe


class Run(Protocol):
    """Something to be done once, in this process or in another."""

    @property
    def name(self) -> str: ...

    def run(self) -> str:
        """Do it; the answer is a line to print."""
        ...


@contextlib.contextmanager
def workers(at_once: int) -> Iterator[Callable[[Sequence[Run], str], list[str]]]:
    """What does many runs: one after the other here, or in processes that live for all of them.

    A run that ends with a sentence for the user, such as one that collapsed, does not keep the others from being
    done; these sentences are returned.
    """
    if at_once == 1:
        yield _in_turn
        return
    spawn = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(at_once, spawn, _share_cores, (at_once,))

    def together(runs: Sequence[Run], label: str) -> list[str]:
        failed = []
        with ProgressBar(label, len(runs)) as bar:
            for done in as_completed([pool.submit(_run_quietly, run) for run in runs]):
                line, well = done.result()
                bar.advance(1, line)
                failed += [] if well else [line]
        return failed

    try:
        yield together
    finally:
        pool.shutdown(cancel_futures=True)


def raise_failed(failed: Sequence[str]) -> None:
    """Tell which runs have failed, where any has."""
    if failed:
        count = f"{len(failed)} run{'s' if len(failed) > 1 else ''}"
        raise UserError(f"{count} failed, all others are kept:\n" + "\n".join(f"  {line}" for line in failed))


def _in_turn(runs: Sequence[Run], label: str) -> list[str]:
    failed = []
    for number, run in enumerate(runs, start=1):
        line, well = _run(run)
        print(f"{label} {number}/{len(runs)}: {line}", file=sys.stderr, flush=True)
        failed += [] if well else [line]
    return failed


def _run(run: Run) -> tuple[str, bool]:
    """The line of a run, and whether it went well."""
    try:
        return run.run(), True
    except UserError as error:
        return f"{run.name}: {error}", False


def _run_quietly(run: Run) -> tuple[str, bool]:
    """One run, without the progress that it shows when it is alone."""
    with contextlib.redirect_stderr(io.StringIO()):
        return _run(run)


def _share_cores(processes: int) -> None:
    torch.set_num_threads(max(1, core_count() // processes))


def resolved(recipe: str, overrides: Sequence[str]) -> dict[str, Any]:
    """A recipe's values as they are stored."""
    values: dict[str, Any] = json.loads(json.dumps(load_recipe(recipe, overrides).model_dump()))
    return values


def trained(
    recipe: str,
    dataset: Path,
    folder: Path,
    *,
    overrides: Sequence[str],
    dataset_sha256: str,
    device: str | None,
) -> ModelConfig:
    """The configuration of a run's model, trained where it is not there yet, or gone on with."""
    if not is_model_folder(folder):
        resume = (folder / CHECKPOINT).exists()
        train(recipe, dataset, folder, overrides=overrides, resume=resume, device=device)
    config = ModelConfig.read(folder)
    if (config.recipe, config.dataset.sha256) != (resolved(recipe, overrides), dataset_sha256):
        raise UserError(
            f"{folder} was trained with other data or values; choose another --work, or delete that folder"
        )
    return config


def stored_record(file: Path, conditions: Mapping[str, Any]) -> dict[str, Any] | None:
    """The record of an earlier call; one that was made under other conditions is refused."""
    if not file.is_file():
        return None
    try:
        stored: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UserError(f"{file} is damaged ({error}); delete it to measure again") from error
    if {key: stored.get(key) for key in conditions} != conditions:
        raise UserError(f"{file} was measured with other data or values; choose another --out, or delete it")
    return stored

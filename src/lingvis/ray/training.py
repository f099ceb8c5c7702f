"""Training on a cluster: actors that train one model together."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lingvis.errors import UserError
from lingvis.model.folder import ModelConfig
from lingvis.processes.group import OtherProcessError
from lingvis.processes.launch import loopback, variables
from lingvis.progress import note
from lingvis.ray.cluster import Cluster, Placement, load_ray
from lingvis.ray.crew import SECONDS_TO_START
from lingvis.recipes.schema import Recipe
from lingvis.training.loop.log import FILE
from lingvis.training.validate import load_recipe


class TrainingProcess:
    """One of the processes, on a machine of the cluster."""

    def keep_store(self) -> tuple[str, int]:
        """Keep the store through which all processes find one another, and return its address."""
        import torch.distributed as dist

        self._host = load_ray().util.get_node_ip_address()
        self._store = dist.TCPStore(self._host, 0, is_master=True, wait_for_workers=False)  # type: ignore[attr-defined]
        return self._host, self._store.port

    def train(
        self,
        number: int,
        together: dict[str, str],
        recipe: Recipe,
        dataset: str,
        out: str,
        *,
        resume: bool,
        place: Placement,
    ) -> ModelConfig:
        """Train as process `number`."""
        import torch

        from lingvis.training.run import train

        if not Path(dataset).is_dir():
            raise UserError(
                f"{dataset} is not a folder on {socket.gethostname()}; the dataset must have the same path on all machines "
                "of the cluster, such as a shared folder"
            )
        # Ray shows each process its own GPU only.
        os.environ.update({**together, "RANK": str(number), "LOCAL_RANK": "0"})
        torch.set_num_threads(place.cpus)
        return train(recipe, dataset, out, resume=resume, device=place.device).config


def train_on(
    cluster: Cluster,
    recipe: str | Path,
    dataset: str | Path,
    out: str | Path,
    *,
    overrides: Sequence[str] = (),
    resume: bool = False,
    processes: int | None = None,
    device: str | None = None,
) -> ModelConfig:
    """Train a recipe on a cluster, as `train` does; dataset and run have the same path on all machines.

    processes: one per GPU by default; without a GPU, one per machine.
    """
    complete = load_recipe(str(recipe), overrides)
    place = _placement(cluster, processes, device)
    ray = load_ray()
    actor = ray.remote(TrainingProcess).options(
        num_cpus=place.cpus, num_gpus=place.gpus, scheduling_strategy="SPREAD"
    )
    started = [actor.remote() for _ in range(place.workers)]
    try:
        host, port = _first_address(started)
        together = variables(host, port, place.workers) | (loopback() if host == "127.0.0.1" else {})
        note(f"{place.workers} processes train on the cluster; {Path(out) / FILE} shows their progress")
        folders = str(Path(dataset).resolve()), str(Path(out).resolve())
        answers = [
            process.train.remote(number, together, complete, *folders, resume=resume, place=place)
            for number, process in enumerate(started)
        ]
        return _result(answers)
    finally:
        for process in started:
            ray.kill(process)


def _placement(cluster: Cluster, processes: int | None, device: str | None) -> Placement:
    """The number of processes, and the cores and GPUs of each."""
    place = cluster.placement(device)
    if place.gpus:
        if processes is not None and processes > place.workers:
            raise UserError(
                f"processes is {processes}, but the cluster has {place.workers} GPUs; start at most one process per GPU"
            )
        return Placement(processes or place.workers, place.cpus, place.gpus)
    cores = [int(node["Resources"].get("CPU", 0)) for node in load_ray().nodes() if node["Alive"]]
    machines = [number for number in cores if number]
    count = processes or len(machines)
    if count > sum(machines):
        raise UserError(
            f"processes is {count}, but the cluster has {sum(machines)} cores; start at most one process per core"
        )
    return Placement(
        count, max(cpus for cpus in range(1, max(machines) + 1) if _fits(count, cpus, machines)), 0
    )


def _fits(count: int, cpus: int, machines: Sequence[int]) -> bool:
    """Whether `count` processes of `cpus` cores each fit machines with these numbers of cores."""
    return sum(cores // cpus for cores in machines) >= count


def _first_address(started: Sequence[Any]) -> tuple[str, int]:
    """The address of the store that the first process keeps, when all processes have started."""
    ray = load_ray()
    ready = [process.__ray_ready__.remote() for process in started]
    if len(ray.wait(ready, num_returns=len(ready), timeout=SECONDS_TO_START)[0]) < len(ready):
        raise UserError(
            f"{len(started)} processes did not start on the Ray cluster within {SECONDS_TO_START:.0f} s; check with "
            "`ray status` whether others use its cores, and try again"
        )
    address: tuple[str, int] = ray.get(started[0].keep_store.remote())
    return address


def _result(answers: Sequence[Any]) -> ModelConfig:
    """The result of the first process when all have ended; raises the error of the first one that has a reason."""
    ray = load_ray()
    waiting = list(answers)
    while waiting:
        (answer,), waiting = ray.wait(waiting)
        try:
            ray.get(answer)
        except ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, OtherProcessError):
                continue
            if isinstance(error.cause, UserError):
                raise UserError(str(error.cause)) from error
            raise
        except ray.exceptions.RayActorError as error:
            raise UserError(
                "a process of the training has died, or its machine; start the training again, with `resume` if there "
                "is a checkpoint"
            ) from error
    config: ModelConfig = ray.get(answers[0])
    return config

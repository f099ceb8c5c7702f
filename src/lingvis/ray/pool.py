"""Tasks -> results in order, by the workers of a cluster; tasks of lost workers are repeated."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from lingvis.ray.cluster import Cluster, load_ray
from lingvis.ray.crew import Crew, Make, WorkerLostError, receive

TRIES = 4

T = TypeVar("T")


class FatalTaskError(Exception):
    """A task at which workers die repeatedly."""

    def __init__(self, task: Any) -> None:
        super().__init__("workers die at this task")
        self.task = task


@dataclass(slots=True)
class Job(Generic[T]):
    """A task that has been taken from the source."""

    number: int
    task: T
    tries: int = 0


class WorkerPool(Generic[T]):
    """Workers that stay between calls of `map`; they end with the cluster, or when `map` is interrupted."""

    def __init__(self, cluster: Cluster, make: Make, *, device: str | None = None) -> None:
        self._crew = Crew(cluster, make, device)

    def map(self, tasks: Iterable[T], *common: Any) -> Iterator[Any]:
        """Yield results in the order of the tasks; `common` is sent to each machine once, and passed with every task."""
        ray, crew = load_ray(), self._crew
        source = enumerate(tasks)
        queue: deque[Job[T]] = deque()
        running: dict[Any, tuple[Job[T], Any]] = {}
        done: dict[int, Any] = {}
        turn = started = 0
        more = True
        shared = [ray.put(value) for value in common]
        try:
            while True:
                while more and len(queue) < len(crew.free) and started < turn + crew.window:
                    task = next(source, None)
                    if task is None:
                        more = False
                    else:
                        queue.append(Job(*task))
                        started += 1
                if not more and turn == started:
                    return
                crew.look()
                while crew.free and queue:
                    job, worker = queue.popleft(), crew.free.popleft()
                    running[worker.work.remote(job.task, *shared)] = job, worker
                for answer in crew.wait(running):
                    job, worker = running[answer]
                    try:
                        done[job.number] = receive(answer)
                    except WorkerLostError:
                        crew.dismiss(worker)
                        queue.extendleft(reversed(_lost(running, worker)))
                    else:
                        del running[answer]
                        crew.free.append(worker)
                while turn in done:
                    yield done.pop(turn)
                    turn += 1
        finally:
            if running:  # interrupted: the results are no longer needed
                crew.disband()


def _lost(running: dict[Any, tuple[Job[T], Any]], worker: Any) -> list[Job[T]]:
    """Remove and return the tasks of a lost worker; it died at the first, if at any."""
    answers = [answer for answer, (_, other) in running.items() if other == worker]
    jobs = [running.pop(answer)[0] for answer in answers]
    jobs[0].tries += 1
    if jobs[0].tries >= TRIES:
        raise FatalTaskError(jobs[0].task)
    return jobs

"""The workers of a cluster: start them, detect losses, replace them."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection
from typing import Any

from lingvis.errors import UserError
from lingvis.ray.cluster import Cluster, load_ray

Work = Callable[..., Any]
Make = Callable[[int, str], Work]  # threads, device -> the function that a worker runs per task

TASKS_PER_WORKER = 2  # one running and one queued, so that no worker is idle
WINDOW_PER_WORKER = 4
FAILED_STARTS = 4
SECONDS_TO_WAIT = 1.0
SECONDS_TO_START = 180.0
SECONDS_BETWEEN_LOOKS = 5.0
SECONDS_TO_FETCH = 60.0


class Worker:
    """An actor on a machine of the cluster; its model is loaded once."""

    def prepare(self, make: Make, threads: int, device: str) -> None:
        """Load the model or backbone of the tasks."""
        self._work = make(threads, device)

    def work(self, task: Any, *common: Any) -> Any:
        """Run one task."""
        return self._work(task, *common)


class WorkerLostError(Exception):
    """A worker or its result is gone; another worker can do the task."""


class Crew:
    """As many workers as fit the cluster; only ready workers get tasks.

    A worker that waits for resources delays nothing, and machines that join later also get workers.
    """

    def __init__(self, cluster: Cluster, make: Make, device: str | None) -> None:
        cluster.placement(device)  # raises at once if there is no such device
        self._cluster, self._make, self._device = cluster, make, device
        self.starting: dict[Any, Any] = {}  # by the reference that resolves when the worker is ready
        self.ready: set[Any] = set()
        self.free: deque[Any] = deque()  # ready workers, once per task that they can accept
        self._failed = 0
        self._next_look = 0.0
        self._waits_since: float | None = None  # for the first worker to become ready

    def look(self) -> None:
        """Start workers if more fit; raises UserError if none becomes ready."""
        now = time.monotonic()
        if self.ready:
            self._waits_since = None
        elif self._waits_since is None:
            self._waits_since = now
        elif now > self._waits_since + SECONDS_TO_START:
            self._waits_since = None  # the next attempt waits again
            raise UserError(
                f"no worker became ready on the Ray cluster within {SECONDS_TO_START:.0f} s; check with `ray status` "
                "whether others use its cores, and try again"
            )
        if now >= self._next_look:
            self._next_look = now + SECONDS_BETWEEN_LOOKS
            self._start()

    def _start(self) -> None:
        place = self._cluster.placement(self._device)
        # With a GPU two tasks at once: one is decoded on the CPU while the other is on the GPU.
        actor = (
            load_ray()
            .remote(Worker)
            .options(
                num_cpus=place.cpus,
                num_gpus=place.gpus,
                max_concurrency=TASKS_PER_WORKER if place.gpus else 1,
            )
        )
        for _ in range(place.workers - len(self.ready) - len(self.starting)):
            worker = actor.remote()
            self.starting[worker.prepare.remote(self._make, place.cpus, place.device)] = worker

    @property
    def window(self) -> int:
        """The largest number of unfinished tasks, which bounds the memory."""
        return WINDOW_PER_WORKER * max(1, len(self.ready))

    def wait(self, running: Collection[Any]) -> list[Any]:
        """Return the finished references among `running`; also adds workers that became ready."""
        expected = [*running, *self.starting]
        if not expected:
            time.sleep(SECONDS_TO_WAIT)
            return []
        come, _ = load_ray().wait(expected, timeout=SECONDS_TO_WAIT)
        for answer in come:
            if answer in self.starting:
                self._welcome(answer)
        return [answer for answer in come if answer in running]

    def _welcome(self, answer: Any) -> None:
        """Add a worker that became ready, or raise the reason why it did not."""
        worker = self.starting.pop(answer)
        try:
            receive(answer)
        except WorkerLostError as error:
            self._failed += 1
            if self._failed >= FAILED_STARTS and not self.ready:
                raise UserError(
                    f"workers of the Ray cluster cannot be started ({error}); check whether lingvis is installed "
                    "on all its machines and whether they have enough memory"
                ) from error
        else:
            self.ready.add(worker)
            self.free.extend([worker] * TASKS_PER_WORKER)

    def dismiss(self, worker: Any) -> None:
        """Drop a lost worker; the next `look` starts another at once."""
        if worker in self.ready:
            self.ready.remove(worker)
            self.free = deque(other for other in self.free if other != worker)
            load_ray().kill(worker)
            self._next_look = 0.0

    def disband(self) -> None:
        """End all workers."""
        for worker in (*self.starting.values(), *self.ready):
            load_ray().kill(worker)
        self.starting.clear()
        self.ready.clear()
        self.free.clear()
        self._next_look = 0.0
        self._waits_since = None


def receive(answer: Any) -> Any:
    """Return the result of a worker; raises its UserError, or WorkerLostError if the result is lost."""
    ray = load_ray()
    try:
        return ray.get(answer, timeout=SECONDS_TO_FETCH)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, UserError):
            raise UserError(str(error.cause)) from error
        raise
    except ray.exceptions.RayError as error:
        raise WorkerLostError((str(error).strip() or type(error).__name__).splitlines()[0]) from error

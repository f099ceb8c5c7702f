"""The workers of a cluster: started, lost and replaced."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection
from typing import Any

from lingvis.errors import UserError
from lingvis.ray.cluster import Cluster, load_ray

Work = Callable[..., Any]
Make = Callable[[int, str], Work]  # threads, device -> what a worker does with a task

TASKS_A_WORKER = 2  # one at work and one waiting, so that no worker waits for us
WINDOW_A_WORKER = 4
FAILED_STARTS = 4
SECONDS_TO_WAIT = 1.0
SECONDS_TO_START = 180.0
SECONDS_BETWEEN_LOOKS = 5.0
SECONDS_TO_FETCH = 60.0


class Worker:
    """Lives on a machine of the cluster, with its model loaded once."""

    def prepare(self, make: Make, threads: int, device: str) -> None:
        """Get ready for tasks."""
        self._work = make(threads, device)

    def work(self, task: Any, *common: Any) -> Any:
        """Do one task."""
        return self._work(task, *common)


class Lost(Exception):
    """A worker or its answer is gone; another can do the task."""


class Crew:
    """As many workers as the cluster has room for; only those that are ready get tasks.

    A worker that waits for room holds nothing up, and machines that join later get workers, too.
    """

    def __init__(self, cluster: Cluster, make: Make, device: str | None) -> None:
        cluster.placement(device)  # refuse what cannot be before anything else happens
        self._cluster, self._make, self._device = cluster, make, device
        self.starting: dict[Any, Any] = {}  # by what tells that it is ready
        self.ready: set[Any] = set()
        self.free: deque[Any] = deque()  # ready workers, once for each task that they can take
        self._failed = 0
        self._next_look = 0.0
        self._waits_since: float | None = None  # for the first worker to get ready

    def look(self) -> None:
        """Start workers where there is room for more; complain when none gets ready."""
        now = time.monotonic()
        if self.ready:
            self._waits_since = None
        elif self._waits_since is None:
            self._waits_since = now
        elif now > self._waits_since + SECONDS_TO_START:
            self._waits_since = None  # who tries once more waits as long
            raise UserError(
                f"no worker got ready on the Ray cluster within {SECONDS_TO_START:.0f} s; look with `ray status` "
                "whether its cores are taken by others, and run the command again"
            )
        if now >= self._next_look:
            self._next_look = now + SECONDS_BETWEEN_LOOKS
            self._start()

    def _start(self) -> None:
        place = self._cluster.placement(self._device)
        # With a GPU two tasks at once: one is decoded while the other is on the GPU.
        actor = (
            load_ray()
            .remote(Worker)
            .options(
                num_cpus=place.cpus, num_gpus=place.gpus, max_concurrency=TASKS_A_WORKER if place.gpus else 1
            )
        )
        for _ in range(place.workers - len(self.ready) - len(self.starting)):
            worker = actor.remote()
            self.starting[worker.prepare.remote(self._make, place.cpus, place.device)] = worker

    @property
    def window(self) -> int:
        """Tasks that may be under way, from the one whose turn it is on: what bounds the memory."""
        return WINDOW_A_WORKER * max(1, len(self.ready))

    def wait(self, running: Collection[Any]) -> list[Any]:
        """Answers among `running` that have come; workers that get ready meanwhile are taken in."""
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
        """Take in a worker that has got ready, or find out why it could not."""
        worker = self.starting.pop(answer)
        try:
            receive(answer)
        except Lost as error:
            self._failed += 1
            if self._failed >= FAILED_STARTS and not self.ready:
                raise UserError(
                    f"workers of the Ray cluster cannot be started ({error}); look whether lingvis is installed on "
                    "all its machines and whether they have enough memory"
                ) from error
        else:
            self.ready.add(worker)
            self.free.extend([worker] * TASKS_A_WORKER)

    def dismiss(self, worker: Any) -> None:
        """Give up a worker that is lost; another is started at the next look, which is now due."""
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
    """What a worker answered; what it says to the user is raised, `Lost` where there is no answer any more."""
    ray = load_ray()
    try:
        return ray.get(answer, timeout=SECONDS_TO_FETCH)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, UserError):
            raise UserError(str(error.cause)) from error
        raise
    except ray.exceptions.RayError as error:
        raise Lost((str(error).strip() or type(error).__name__).splitlines()[0]) from error

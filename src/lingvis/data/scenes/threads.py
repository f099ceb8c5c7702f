"""Work on many items with a few threads; an error or Ctrl-C stops it cleanly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from queue import SimpleQueue
from threading import Thread
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def map_in_threads(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    *,
    workers: int,
    on_done: Callable[[], object],
) -> list[Result]:
    """[work(item) for item in items]; on_done is called after every item, and no thread outlives the call.

    Not concurrent.futures: Ctrl-C while work is submitted can leave one of its locks held, and its threads then wait
    forever. Here the main thread only waits on a SimpleQueue, which has no such problem.
    """
    finished: SimpleQueue[tuple[int, Result] | BaseException] = SimpleQueue()
    stop: list[bool] = []

    def lane(first: int) -> None:
        try:
            for number in range(first, len(items), workers):
                if stop:
                    return
                finished.put((number, work(items[number])))
        except BaseException as error:
            finished.put(error)

    threads = [Thread(target=lane, args=(first,)) for first in range(min(workers, len(items)))]
    results: dict[int, Result] = {}
    try:
        for thread in threads:
            thread.start()
        while len(results) < len(items):
            outcome = finished.get()
            if isinstance(outcome, BaseException):
                raise outcome
            results[outcome[0]] = outcome[1]
            on_done()
    finally:
        stop.append(True)
        for thread in threads:
            if thread.ident is not None:
                thread.join()
    return [results[number] for number in range(len(items))]

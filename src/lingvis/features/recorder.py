"""Batches are stored by a thread of its own, while the next ones are encoded."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType

from lingvis.data.rows import PictureProblem
from lingvis.features.encode import FeatureSet
from lingvis.features.partial import PartialStore

BATCHES = 4  # that wait, which bounds the memory


class Recorder:
    """`with Recorder(store) as recorder: recorder.record(...)`: records in order; at the end, everything is recorded.

    The error of a batch is raised by a later call or at the end; no batch after it is recorded.
    """

    def __init__(self, store: PartialStore) -> None:
        self._store = store
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="record")
        self._waiting: deque[Future[None]] = deque()
        self._failed = False

    def record(self, encoded: Sequence[FeatureSet], broken: Sequence[PictureProblem]) -> None:
        """Record one batch soon, as `PartialStore.record` does."""
        self._waiting.append(self._thread.submit(self._record, encoded, broken))
        while len(self._waiting) > BATCHES:
            self._waiting.popleft().result()

    def _record(self, encoded: Sequence[FeatureSet], broken: Sequence[PictureProblem]) -> None:
        if self._failed:  # a later batch in the place of this one would have its names
            return
        try:
            self._store.record(encoded, broken)
        except BaseException:
            self._failed = True
            raise

    def __enter__(self) -> Recorder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._thread.shutdown()
        if error is None:
            for recorded in self._waiting:
                recorded.result()

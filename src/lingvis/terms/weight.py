"""The weight of a term over time."""

from __future__ import annotations

from dataclasses import dataclass

from lingvis.types import Clock


@dataclass(frozen=True, slots=True)
class TermWeight:
    """The factor of a term.

    rises: None for a constant weight, or two epochs, counted from the end of the plateau (0: the first one after it): the
    weight is 0 before the first and `value` from the second on, and rises by equal amounts at the beginning of each
    epoch in between.
    """

    value: float
    rises: tuple[int, int] | None = None

    def at(self, clock: Clock) -> float:
        """The weight in the epoch of a clock."""
        if self.rises is None:
            return self.value
        if clock.learning_since is None:
            return 0.0
        first, full = self.rises
        epoch = clock.epoch - clock.learning_since
        return self.value * min(1.0, max(0, epoch + 1 - first) / (full + 1 - first))

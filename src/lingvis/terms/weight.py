"""The weight of a term over time."""

from __future__ import annotations

from dataclasses import dataclass

from lingvis.types import Clock


@dataclass(frozen=True, slots=True)
class TermWeight:
    """The factor of a term.

    rises: None for a constant weight, or two epochs, counted from 0: the weight is 0 before the first and `value` from
    the second on, and rises by equal amounts at the beginning of each epoch in between.
    """

    value: float
    rises: tuple[int, int] | None = None

    def at(self, clock: Clock) -> float:
        """The weight in the epoch of a clock."""
        if self.rises is None:
            return self.value
        first, full = self.rises
        return self.value * min(1.0, max(0, clock.epoch + 1 - first) / (full + 1 - first))

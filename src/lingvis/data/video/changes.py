"""Changes of scene, seen on small grey copies of the frames."""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

# Grey levels, of 256. Consecutive frames of a moving camera differ by up to 10 or so, cuts mostly by more than 25.
CUT = 14.0
CUT_SHARE = 3.0  # of the mean difference of the frames before: where all moves, a cut must differ by more
DRIFT = 30.0  # from the frame of the last moment: a slow change of scene
REMEMBERED = 8  # differences
BLANK = 4.0  # standard deviation of a frame that shows nothing


class SceneChanges:
    """Finds the frames at which another scene begins; frames are given in order, uint8 [side, side]."""

    def __init__(self) -> None:
        self._last: NDArray[np.int16] | None = None
        self._kept: NDArray[np.int16] | None = None
        self._usual: deque[float] = deque(maxlen=REMEMBERED)

    def is_cut(self, frame: NDArray[np.uint8]) -> bool:
        """Return whether a frame differs suddenly from the one before it."""
        grey = frame.astype(np.int16)
        last, self._last = self._last, grey
        if last is None:
            return False
        difference = _difference(grey, last)
        usual = sum(self._usual) / len(self._usual) if self._usual else 0.0
        if difference > max(CUT, CUT_SHARE * usual):
            self._usual.clear()
            return True
        self._usual.append(difference)
        return False

    def has_drifted(self, frame: NDArray[np.uint8]) -> bool:
        """Return whether a frame differs from the one that was kept last, as after a dissolve."""
        return self._kept is not None and _difference(frame.astype(np.int16), self._kept) > DRIFT

    def keep(self, frame: NDArray[np.uint8]) -> None:
        """Later frames are compared with this one."""
        self._kept = frame.astype(np.int16)


def is_blank(frame: NDArray[np.uint8]) -> bool:
    """Return whether a frame shows nothing, such as the black between two scenes."""
    return float(frame.std()) < BLANK


def _difference(one: NDArray[np.int16], other: NDArray[np.int16]) -> float:
    return float(np.abs(one - other).mean())

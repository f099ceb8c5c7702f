"""Which frames of a video are kept: at changes of scene, or at equal distances."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from PIL import Image

from lingvis.data.video.changes import SceneChanges, is_blank
from lingvis.data.video.limits import BrokenVideo
from lingvis.data.video.reader import VideoReader
from lingvis.errors import UserError

MOST = 300  # frames of one video
APART = 1.0  # seconds between two frames, at least
LONGEST = 10.0  # seconds of one scene after which another frame is kept
SETTLED = 0.4  # seconds into a scene at which its frame is taken, behind a transition
# Pixels of a video up to which all its frames are decoded, about 2 minutes of 1080p; of a longer one, the keyframes.
ALL_FRAMES = 8e9


@dataclass(frozen=True, slots=True)
class Sampling:
    """every: seconds between two frames; None: a frame per scene, and more of long scenes. most: frames of one video."""

    every: float | None = None
    most: int = MOST

    def __post_init__(self) -> None:
        if self.every is not None and not (math.isfinite(self.every) and self.every > 0):
            raise UserError(f"`every` must be above 0 seconds, got {self.every}")
        if self.most < 1:
            raise UserError(f"`most` must be at least 1, got {self.most}")


BY_SCENE = Sampling()


@dataclass(frozen=True, slots=True)
class Moment:
    """A frame of a video, and the second at which its scene begins; the first moment of a video begins at 0."""

    second: float
    image: Image.Image


def sample(video: VideoReader, sampling: Sampling) -> Iterator[Moment]:
    """Yield at least one and at most `sampling.most` moments in order; raises BrokenVideo if no frame can be decoded."""
    apart = (video.duration or 0.0) / sampling.most
    frames = video.frames(keyframes=video.cost > ALL_FRAMES)
    if sampling.every is not None:
        chosen = _at_distances(frames, max(apart, sampling.every))
    else:
        chosen = _scenes(video, frames, max(apart, APART))
    count = 0
    for second, frame in chosen:
        yield Moment(round(second, 3), video.image(frame))
        count += 1
        if count == sampling.most:  # the file states too short a duration, or none
            return
    if not count:
        raise BrokenVideo("none of its frames can be decoded; save it again with another program")


def _at_distances(frames: Iterator[tuple[float, Any]], distance: float) -> Iterator[tuple[float, Any]]:
    """Choose the first frame at or after each multiple of the distance."""
    number = 0
    for second, frame in frames:
        if second >= number * distance - 1e-6:
            yield second, frame
            number = math.floor(second / distance + 1e-6) + 1


def _scenes(
    video: VideoReader, frames: Iterator[tuple[float, Any]], apart: float
) -> Iterator[tuple[float, Any]]:
    """Choose a frame of each scene, and more of long scenes; scenes shorter than `apart` may be left out.

    A frame that shows nothing is chosen only if no frame shows anything.
    """
    changes = SceneChanges()
    begun: float | None = 0.0  # the second of a scene that has no frame yet
    best: Any = None  # the frame of it, if the scene ends now
    kept = -math.inf  # the second at which a frame was chosen last
    blank: Any = None
    for second, frame in frames:
        small = video.grey(frame)
        if changes.is_cut(small):
            if begun is not None and best is not None and second - kept >= apart:
                yield begun, best
                kept = second
            begun, best = (second if kept >= 0 else 0.0), None
        elif begun is None and (second - kept >= LONGEST or changes.has_drifted(small)):
            begun = second
        if is_blank(small):
            blank = blank or frame
        elif begun is not None:
            best = frame
            if second - begun >= SETTLED and second - kept >= apart:
                yield begun, frame
                changes.keep(small)
                begun, best, kept = None, None, second
    if begun is not None and best is not None:
        yield begun, best
    elif kept < 0 and blank is not None:
        yield 0.0, blank

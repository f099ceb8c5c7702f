"""Requests to decode the frames of a video, and their results; decoder processes and this process share this code."""

from __future__ import annotations

import math
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

import numpy as np

from lingvis.data.video.formats import FORMATS
from lingvis.data.video.limits import check_duration, check_size
from lingvis.data.video.reader import VideoReader, open_video
from lingvis.data.video.sampling import BY_SCENE, Sampling, sample
from lingvis.errors import UserError
from lingvis.features.decoding.content import DecodeRequest, PictureContent, picture_content
from lingvis.features.decoding.exif import CameraFacts, camera_name
from lingvis.features.pictures import DecodedPicture, broken_picture
from lingvis.files import open_regular

STOP_SHARE = 0.8  # of the time for a video, after which the moments that were found are all
APPLE = "com.apple.quicktime."
POSITION = re.compile(r"([+-]\d{1,2}(?:\.\d+)?)([+-]\d{1,3}(?:\.\d+)?)")  # ISO 6709


@dataclass(frozen=True, slots=True)
class VideoRequest:
    """frame: the required parts of each frame; sampling: which frames."""

    frame: DecodeRequest
    sampling: Sampling = BY_SCENE


@dataclass(frozen=True, slots=True)
class FrameContent:
    """A frame, and the second of the video at which its scene begins."""

    second: float
    picture: PictureContent


@dataclass(frozen=True, slots=True)
class VideoFacts:
    """format: in lower case; duration: seconds, None if unknown; camera: what it wrote into the file."""

    format: str
    duration: float | None
    camera: CameraFacts

    def __post_init__(self) -> None:
        if self.format.upper() not in FORMATS:
            raise ValueError(f"format {self.format!r}")
        if self.duration is not None and not (math.isfinite(self.duration) and self.duration >= 0):
            raise ValueError(f"duration {self.duration!r}")
        check_duration(self.duration)


@dataclass(frozen=True, slots=True)
class VideoContent:
    """A video and its frames, at least one."""

    facts: VideoFacts
    frames: list[FrameContent]


DecodeVideo = Callable[[BinaryIO, VideoRequest], VideoContent]  # raises BrokenPicture


def decode_frames(
    file: BinaryIO, request: VideoRequest, *, seconds: float
) -> Iterator[FrameContent | VideoFacts]:
    """Yield the frames of a file in this process, and its facts at the end; most of `seconds` may be used."""
    with open_video(file, stop=time.monotonic() + STOP_SHARE * seconds) as video:
        for moment in sample(video, request.sampling):
            yield FrameContent(moment.second, picture_content(moment.image, request.frame, video.format))
        duration = round(max(video.duration or 0.0, video.reached), 3)
        yield VideoFacts(video.format, duration or None, _facts(video))


def decode_video_content(file: BinaryIO, request: VideoRequest) -> VideoContent:
    """Decode the frames of a file in this process; raises BrokenPicture."""
    try:
        *frames, facts = decode_frames(file, request, seconds=math.inf)
    except UserError:
        raise
    except Exception as error:  # libraries raise nearly anything on a damaged file
        raise broken_picture(error) from error
    assert isinstance(facts, VideoFacts)
    return VideoContent(facts, [frame for frame in frames if isinstance(frame, FrameContent)])


def decode_video_file(path: Path, request: VideoRequest, decode: DecodeVideo) -> DecodedPicture:
    """Read and decode a video, maybe behind links; its frames become the views of one picture; raises BrokenPicture."""
    try:
        with open_regular(path) as file:
            check_size(os.fstat(file.fileno()).st_size)
            content = decode(file, request)
    except (OSError, ValueError) as error:
        raise broken_picture(error, path) from error
    views = [frame.picture.views for frame in content.frames if frame.picture.views is not None]
    seconds = np.array([frame.second for frame in content.frames], dtype=np.float32)
    return DecodedPicture(
        np.concatenate([view.pixels for view in views]),
        np.concatenate([view.boxes for view in views]),
        np.concatenate([view.fractions for view in views]),
        views[0].preprocessing,
        seconds,
    )


def _facts(video: VideoReader) -> CameraFacts:
    """Return what a camera wrote into a video; a missing or impossible fact is None."""
    texts: Mapping[str, str] = video.metadata
    latitude, longitude = _position(texts.get(f"{APPLE}location.ISO6709") or texts.get("location") or "")
    camera = camera_name(
        texts.get(f"{APPLE}make") or texts.get("make"), texts.get(f"{APPLE}model") or texts.get("model")
    )
    taken = _date(texts.get(f"{APPLE}creationdate")) or _date(texts.get("creation_time"))
    return CameraFacts(taken, camera, latitude, longitude)


def _date(text: str | None) -> datetime | None:
    """Return a time of a file in local time: videos state it for Greenwich, or with their own zone."""
    try:
        stated = datetime.fromisoformat(text or "")
        aware = stated if stated.tzinfo is not None else stated.replace(tzinfo=UTC)
        local = aware.astimezone().replace(tzinfo=None, microsecond=0)
    except (ValueError, OverflowError, OSError):
        return None
    return local if local.year > 1970 else None  # cameras without a clock write 1904 or 1970


def _position(text: str) -> tuple[float | None, float | None]:
    match = POSITION.match(text)
    if match is None:
        return None, None
    latitude, longitude = float(match[1]), float(match[2])
    possible = abs(latitude) <= 90 and abs(longitude) <= 180 and (latitude, longitude) != (0, 0)
    return (latitude, longitude) if possible else (None, None)

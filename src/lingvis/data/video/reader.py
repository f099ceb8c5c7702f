"""An opened video: its frames with their times, upright."""

from __future__ import annotations

import contextlib
import importlib
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from lingvis.data.video.limits import (
    DECODERS,
    DEMUXERS,
    HOURS,
    UNKNOWN_VIDEO,
    BrokenVideo,
    check_duration,
    check_frame,
)
from lingvis.errors import UserError

OPTIONS = {"format_whitelist": DEMUXERS, "codec_whitelist": DECODERS, "protocol_whitelist": "none"}
DAMAGED = 500  # packets in a row that cannot be decoded, after which the rest is abandoned
KEYFRAME_GAP = 20.0  # seconds without a keyframe, after which all frames are decoded
RATE = 25.0  # frames per second, where a file does not say
MOST_STREAMS = 100
GREY = 32  # pixels
TURNS = {
    90: Image.Transpose.ROTATE_90,
    180: Image.Transpose.ROTATE_180,
    -180: Image.Transpose.ROTATE_180,
    -90: Image.Transpose.ROTATE_270,
}
ASPECTS = (0.1, 10.0)  # width of a pixel by its height; anything else is a mistake


def load_av() -> Any:
    """Return PyAV, without its messages on stderr; raises UserError if it is not installed."""
    try:
        av = importlib.import_module("av")
    except ImportError as error:
        raise UserError("videos need PyAV; run: pip install 'lingvis[video]'") from error
    logging = importlib.import_module("av.logging")
    logging.set_level(logging.PANIC)
    return av


class VideoReader:
    """The video track of a file.

    format: in lower case; duration: seconds as the file states them, None if it does not; metadata: texts of the
    file; reached: the second of the last frame that was decoded. stop: time.monotonic() at which `frames` ends early.
    """

    def __init__(self, container: Any, stream: Any, *, stop: float = math.inf) -> None:
        self._container, self._stream, self._stop = container, stream, stop
        self._av = load_av()
        self._grey = importlib.import_module("av.video.reformatter").VideoReformatter()
        self.format = _format(container)
        self.duration = _duration(container, stream)
        self.reached = 0.0
        self.metadata = dict(container.metadata) | dict(stream.metadata)
        rate = float(stream.average_rate or 0.0)
        self.rate = rate if 0.1 <= rate <= 1000 else RATE
        check_duration(self.duration)
        check_frame(stream.width, stream.height)
        stream.codec_context.thread_count = 1  # there is a process per core

    @property
    def cost(self) -> float:
        """Pixels of all frames; 0 if the file does not state its duration."""
        return float(self._stream.width * self._stream.height * self.rate * (self.duration or 0.0))

    def frames(self, *, keyframes: bool) -> Iterator[tuple[float, Any]]:
        """Yield frames of PyAV with their seconds from the first one, which never decrease.

        keyframes: those alone, which are decoded without others; where a video has too few, all from there on.
        What is damaged is left out.
        """
        start: float | None = None
        second = -math.inf
        for at, frame in self._decoded(keyframes=keyframes):
            check_frame(frame.width, frame.height)
            if start is None:
                start = at if at is not None else 0.0
            if at is None or at - start > HOURS * 3600:  # no time, or a damaged one
                at = start + max(0.0, second) + 1 / self.rate
            second = self.reached = max(0.0, second, at - start)
            yield second, frame

    def _decoded(self, *, keyframes: bool) -> Iterator[tuple[float | None, Any]]:
        """Yield frames with the times that they carry, each once."""
        context, errors = self._stream.codec_context, 0
        context.skip_frame = "NONKEY" if keyframes else "DEFAULT"
        last = resumed = -math.inf
        key: float | None = None  # the last keyframe; a decoder may hold it back for some packets
        packets = self._packets()
        while (packet := next(packets, None)) is not None and time.monotonic() < self._stop:
            at = _seconds(packet.pts, packet.time_base)
            if packet.is_keyframe:
                key = at
            elif keyframes and at is not None and key is not None and at - key > KEYFRAME_GAP:
                keyframes, resumed = False, last
                context.skip_frame = "DEFAULT"
                packets = self._packets(key)
                continue
            try:
                frames = packet.decode()
                errors = 0
            except self._av.error.FFmpegError:
                errors += 1
                if errors > DAMAGED:
                    return
                continue
            for frame in frames:
                shown = _seconds(frame.pts, frame.time_base)
                if shown is None or shown > resumed:
                    last = last if shown is None else shown
                    yield shown, frame

    def _packets(self, start: float | None = None) -> Iterator[Any]:
        """Yield the packets of the track, from a second on; a truncated file ends where it is cut off."""
        with contextlib.suppress(self._av.error.FFmpegError, OSError):
            if start is not None:
                self._container.seek(round(start / self._stream.time_base), stream=self._stream)
            yield from self._container.demux(self._stream)

    def grey(self, frame: Any) -> NDArray[np.uint8]:
        """Return a small copy of a frame, uint8 [GREY, GREY], means of its parts: thin lines that move hardly change it."""
        small = self._grey.reformat(frame, GREY, GREY, "gray", interpolation="BILINEAR")
        values: NDArray[np.uint8] = small.to_ndarray()
        return values

    def image(self, frame: Any) -> Image.Image:
        """Return a frame as upright RGB with square pixels."""
        image: Image.Image = frame.to_image()
        aspect = float(self._stream.sample_aspect_ratio or 1)
        if aspect != 1 and ASPECTS[0] <= aspect <= ASPECTS[1]:
            wide = round(image.width * aspect)
            size = (wide, image.height) if aspect > 1 else (image.width, round(image.height / aspect))
            check_frame(*size)
            image = image.resize(size, Image.Resampling.BILINEAR)
        turn = TURNS.get(90 * round(frame.rotation / 90))
        return image if turn is None else image.transpose(turn)


@contextmanager
def open_video(file: BinaryIO, *, stop: float = math.inf) -> Iterator[VideoReader]:
    """Open a file that is open for reading as a video; raises BrokenVideo and PictureLimitError."""
    av = load_av()
    try:
        container = av.open(file, mode="r", options=dict(OPTIONS), metadata_errors="replace")
    except (
        av.error.FFmpegError,
        ValueError,
        OSError,
    ) as error:  # also a position that the file does not have
        raise BrokenVideo(UNKNOWN_VIDEO) from error
    with container:
        if len(container.streams) > MOST_STREAMS:
            raise BrokenVideo(f"it has more than {MOST_STREAMS} tracks")
        covers = av.stream.Disposition.attached_pic
        streams = [stream for stream in container.streams.video if not stream.disposition & covers]
        if not streams:
            raise BrokenVideo("it has no video track; only its sound can be played")
        if streams[0].codec_context is None or not streams[0].width:
            raise BrokenVideo("its video track is damaged, or has a codec that is not read; save it as H.264")
        yield VideoReader(container, streams[0], stop=stop)


def _format(container: Any) -> str:
    name = container.format.name
    if name.startswith("mov"):
        brand = str(container.metadata.get("major_brand", "")).strip()
        return "mov" if brand in ("", "qt") else "mp4"
    if name.startswith("matroska"):
        codecs = {stream.codec_context.name for stream in container.streams.video if stream.codec_context}
        return "webm" if codecs <= {"vp8", "vp9", "av1", "libdav1d", "libvpx", "libvpx-vp9"} else "mkv"
    return "avi"


def _duration(container: Any, stream: Any) -> float | None:
    own = _seconds(stream.duration, stream.time_base)
    whole = None if container.duration is None else container.duration / 1_000_000
    return next((value for value in (own, whole) if value is not None and value > 0), None)


def _seconds(pts: int | None, time_base: Any) -> float | None:
    return None if pts is None or time_base is None else float(pts * time_base)

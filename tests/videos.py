"""Small videos: shots of smooth noise with something that moves, encoded here."""

from __future__ import annotations

import io
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import av
import numpy as np
from numpy.typing import NDArray
from PIL import Image

RATE = 10
SIZE = (96, 64)
CODECS = {
    "mp4": "libx264",
    "mov": "libx264",
    "m4v": "libx264",
    "webm": "libvpx",
    "mkv": "libx264",
    "avi": "mpeg4",
}


def shot(number: int, size: tuple[int, int] = SIZE) -> Image.Image:
    """A scene; no two numbers look alike."""
    small = np.random.default_rng(number).integers(0, 256, (4, 6, 3), dtype=np.uint8)
    return Image.fromarray(small).resize(size)


def moving(scene: Image.Image, count: int) -> list[Image.Image]:
    """Frames of a scene, across which a white square moves."""
    frames = []
    for number in range(count):
        frame = scene.copy()
        frame.paste("white", (number % 40, 8, number % 40 + 8, 16))
        frames.append(frame)
    return frames


def write_video(
    path: Path | io.BytesIO,
    frames: Sequence[Image.Image],
    *,
    codec: str | None = None,
    format: str | None = None,
    pixels: str = "yuv420p",
    rate: int = RATE,
    times: Sequence[float] | None = None,
    options: dict[str, str] | None = None,
) -> None:
    """Encode frames; times: of each, in seconds, by default `rate` per second."""
    if isinstance(path, Path):
        path.parent.mkdir(parents=True, exist_ok=True)
    target: Any = str(path) if isinstance(path, Path) else path
    kind = format or str(target).rpartition(".")[2]
    with av.open(target, "w", format=format) as container:
        stream = cast(Any, container.add_stream(codec or CODECS[kind], rate=rate, options=options or {}))
        stream.width, stream.height = frames[0].size
        stream.pix_fmt = pixels
        if times is not None:
            stream.codec_context.time_base = Fraction(1, 1000)
        for number, image in enumerate(frames):
            frame = cast(Any, av.VideoFrame).from_image(image)
            if times is not None:
                frame.pts, frame.time_base = round(times[number] * 1000), Fraction(1, 1000)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())


def write_shots(path: Path, numbers: Sequence[int], *, seconds: float = 2.0, **options: Any) -> Path:
    """A video of several shots; returns its path."""
    frames = [frame for number in numbers for frame in moving(shot(number), round(seconds * RATE))]
    write_video(path, frames, **options)
    return path


def write_sound(path: Path) -> None:
    """A file with sound alone."""
    with av.open(str(path), "w") as container:
        stream = cast(Any, container.add_stream("aac", rate=8000, layout="mono"))
        silence: NDArray[np.float32] = np.zeros((1, 1024), np.float32)
        for _ in range(8):
            frame = av.AudioFrame.from_ndarray(silence, format="fltp", layout="mono")
            frame.sample_rate = 8000
            container.mux(stream.encode(frame))
        container.mux(stream.encode())


def turn_clockwise(path: Path) -> None:
    """Let an MP4 say that it is shown turned by 90 degrees clockwise, as phones do."""
    data = bytearray(path.read_bytes())
    matrix = data.index(b"tkhd") + 4 + 40
    one, fixed = (1 << 16).to_bytes(4, "big"), (1 << 30).to_bytes(4, "big")
    none, minus = bytes(4), (-(1 << 16)).to_bytes(4, "big", signed=True)
    width = SIZE[1].to_bytes(2, "big") + bytes(2)
    data[matrix : matrix + 36] = none + one + none + minus + none + none + width + none + fixed
    path.write_bytes(data)

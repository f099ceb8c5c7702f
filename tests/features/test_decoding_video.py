"""Decoder processes and videos: the same frames as in this process, and limits on time and on what a process may say."""

from __future__ import annotations

import io
import os
import signal
import threading
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any, cast

import av
import numpy as np
import pytest

from lingvis.data.video.reader import open_video
from lingvis.data.video.sampling import Sampling, sample
from lingvis.features.decoding.content import DecodeRequest, JpegRequest, ViewRequest, picture_content
from lingvis.features.decoding.exif import CameraFacts
from lingvis.features.decoding.messages import MessageError
from lingvis.features.decoding.pool import DecoderPool
from lingvis.features.decoding.video import FrameContent, VideoContent, VideoRequest
from lingvis.features.decoding.video_messages import read_reply, reply_message
from lingvis.features.pictures import BrokenPicture, CostlyPicture
from lingvis.features.preprocessing import Preprocessing

from ..videos import SIZE, moving, shot, write_shots, write_sound, write_video

SQUARE = Preprocessing(size=32, mean=(0.5,) * 3, std=(0.5,) * 3)
WHOLE = VideoRequest(DecodeRequest(views=ViewRequest(SQUARE), jpeg=JpegRequest(side=320, quality=80)))


@pytest.fixture(scope="module")
def pool() -> Iterator[DecoderPool]:
    with DecoderPool() as decoders:
        yield decoders


def decode(pool: DecoderPool, path: Path, request: VideoRequest = WHOLE) -> VideoContent:
    with path.open("rb") as file:
        return pool.decode_video(file, request)


def test_a_process_gives_the_same_frames(tmp_path: Path, pool: DecoderPool) -> None:
    path = write_shots(tmp_path / "a.mp4", [1, 2])
    with path.open("rb") as file, open_video(file) as video:
        here = [
            (moment.second, picture_content(moment.image, WHOLE.frame, "mp4"))
            for moment in sample(video, Sampling())
        ]
    there = decode(pool, path)
    assert there.facts.format == "mp4" and there.facts.duration == pytest.approx(4.0, abs=0.1)
    assert [frame.second for frame in there.frames] == [second for second, _ in here] == [0.0, 2.0]
    for frame, (_, picture) in zip(there.frames, here, strict=True):
        assert frame.picture.views is not None and picture.views is not None
        np.testing.assert_array_equal(frame.picture.views.pixels, picture.views.pixels)
        assert frame.picture.jpeg == picture.jpeg and frame.picture.signature == picture.signature
        assert (frame.picture.width, frame.picture.height) == SIZE
    assert [
        frame.second for frame in decode(pool, path, VideoRequest(WHOLE.frame, Sampling(1.0))).frames
    ] == [
        0.0,
        1.0,
        2.0,
        3.0,
    ]


def test_a_process_survives_broken_videos(tmp_path: Path, pool: DecoderPool) -> None:
    decode(pool, write_shots(tmp_path / "good.mp4", [1]))
    (process,) = pool._idle
    write_sound(tmp_path / "sound.mp4")
    (tmp_path / "noise.webm").write_bytes(b"\x1a\x45\xdf\xa3" + np.random.default_rng(0).bytes(4000))
    for name, reason in (("sound.mp4", "it has no video track"), ("noise.webm", "not a video of a known")):
        with pytest.raises(BrokenPicture, match=reason):
            decode(pool, tmp_path / name)
    assert pool._idle == [process] and process.alive


def test_facts_of_a_camera(tmp_path: Path, pool: DecoderPool) -> None:
    path = tmp_path / "phone.mov"
    with av.open(str(path), "w", options={"movflags": "use_metadata_tags"}) as container:
        container.metadata.update(
            {
                "com.apple.quicktime.creationdate": "2024-05-01T10:20:30Z",
                "com.apple.quicktime.location.ISO6709": "+48.8577-002.2950+035.000/",
                "com.apple.quicktime.make": "Apple",
                "com.apple.quicktime.model": "iPhone 15",
            }
        )
        stream = cast(Any, container.add_stream("libx264", rate=10))
        (stream.width, stream.height), stream.pix_fmt = SIZE, "yuv420p"
        container.mux(stream.encode(cast(Any, av.VideoFrame).from_image(shot(1))))
        container.mux(stream.encode())
    there = decode(pool, path)
    taken = datetime.fromisoformat("2024-05-01T10:20:30+00:00").astimezone().replace(tzinfo=None)
    assert there.facts.camera == CameraFacts(taken, "Apple iPhone 15", 48.8577, -2.295)
    assert there.facts.format == "mov"


def test_a_duration_that_is_not_stated_is_where_the_last_frame_is(tmp_path: Path, pool: DecoderPool) -> None:
    stream = io.BytesIO()
    stream.seekable = lambda: False  # type: ignore[method-assign]
    write_video(stream, moving(shot(1), 20), codec="libx264", format="matroska")
    (tmp_path / "live.mkv").write_bytes(stream.getvalue())
    assert decode(pool, tmp_path / "live.mkv").facts.duration == pytest.approx(1.9)


def test_a_killed_process_is_replaced(tmp_path: Path) -> None:
    path = write_shots(tmp_path / "a.mp4", [1, 2, 3], seconds=10)
    with DecoderPool() as pool:
        decode(pool, path)
        (process,) = pool._idle
        killer = threading.Timer(0.02, os.kill, (process.pid, signal.SIGKILL))
        killer.start()
        assert len(decode(pool, path).frames) == 3
        killer.join()


def test_a_slow_video_is_abandoned(tmp_path: Path) -> None:
    path = write_shots(tmp_path / "a.mp4", [1])
    with (
        DecoderPool(video_seconds=0.0001) as pool,
        pytest.raises(CostlyPicture, match="decoding took longer than"),
    ):
        decode(pool, path)


@pytest.mark.parametrize("kind", ["mp4", "webm", "avi"])
def test_damaged_videos_give_frames_or_a_reason(tmp_path: Path, pool: DecoderPool, kind: str) -> None:
    data = write_shots(tmp_path / f"a.{kind}", [1, 2], seconds=1).read_bytes()
    random = Random(kind)
    outcomes, reasons = set[str](), list[str]()
    for number in range(12):
        damaged = bytearray(data)
        for _ in range(random.choice([1, 10, 100])):
            damaged[random.randrange(random.choice([400, len(data)]))] = random.randrange(256)
        (tmp_path / "damaged").write_bytes(
            damaged[: random.randrange(len(data)) if number % 4 == 0 else None]
        )
        try:
            outcomes.add("frames" if decode(pool, tmp_path / "damaged").frames else "nothing")
        except BrokenPicture as broken:
            outcomes.add("broken")
            reasons.append(str(broken))
    assert outcomes == {"frames", "broken"}
    assert not any("ended twice" in reason or "\n" in reason for reason in reasons)


def test_impossible_replies(tmp_path: Path, pool: DecoderPool) -> None:
    content = decode(pool, write_shots(tmp_path / "a.mp4", [1]))
    header, data = reply_message(content.frames[0])
    raw = bytearray(b"".join(bytes(memoryview(part).cast("B")) for part in data))
    reply = read_reply(WHOLE, header, raw, after=0.0)
    assert isinstance(reply, FrameContent) and reply.second == 0.0
    for wrong in (
        {"second": -1.0},
        {"second": float("nan")},
        {"second": "0"},
        {"format": "exe"},
        {"width": 0},
    ):
        with pytest.raises(MessageError):
            read_reply(WHOLE, header | wrong, raw, after=0.0)
    end, _ = reply_message(content.facts)
    impossible: list[dict[str, Any]] = [
        {"duration": -1.0},
        {"duration": 1e9},
        {"format": "exe"},
        {"position": [100, 0]},
    ]
    for each in impossible:
        with pytest.raises(MessageError):
            read_reply(WHOLE, end | each, bytearray(), after=0.0)

"""Frames of videos: which are chosen, how they look, and what broken and odd files give."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from lingvis.data.picture_limits import PictureLimitError
from lingvis.data.video import limits, reader, sampling
from lingvis.data.video.limits import BrokenVideo
from lingvis.data.video.reader import open_video
from lingvis.data.video.sampling import Moment, Sampling, sample
from lingvis.errors import UserError

from ..videos import SIZE, moving, shot, turn_clockwise, write_shots, write_sound, write_video


def moments(path: Path, how: Sampling | None = None) -> list[Moment]:
    with path.open("rb") as file, open_video(file) as video:
        return list(sample(video, how or Sampling()))


def seconds(path: Path, how: Sampling | None = None) -> list[float]:
    return [moment.second for moment in moments(path, how)]


def difference(one: Image.Image, other: Image.Image) -> float:
    a, b = (np.asarray(image.resize((24, 16)), np.float32) for image in (one, other))
    return float(np.abs(a - b).mean())


@pytest.mark.parametrize("kind", ["mp4", "mov", "m4v", "webm", "mkv", "avi"])
def test_each_shot_gives_a_moment_at_its_start(tmp_path: Path, kind: str) -> None:
    path = write_shots(tmp_path / f"a.{kind}", [1, 2, 3])
    found = moments(path)
    assert [moment.second for moment in found] == [0.0, 2.0, 4.0]
    for number, moment in enumerate(found, start=1):
        assert moment.image.size == SIZE
        distances = {other: difference(moment.image, shot(other)) for other in (1, 2, 3)}
        assert min(distances, key=distances.__getitem__) == number, distances
    with path.open("rb") as file, open_video(file) as video:
        assert video.format == {"m4v": "mp4"}.get(kind, kind)
        assert video.duration == pytest.approx(6.0, abs=0.15)


def test_motion_inside_a_shot_is_no_change(tmp_path: Path) -> None:
    assert seconds(write_shots(tmp_path / "a.mp4", [1], seconds=8)) == [0.0]
    assert seconds(write_shots(tmp_path / "b.mp4", [1], seconds=25)) == [0.0, 10.4, 20.8]


def test_a_dissolve_is_a_change(tmp_path: Path) -> None:
    one, other = shot(1), shot(2)
    mixed = [Image.blend(one, other, share) for share in np.linspace(0, 1, 40)]
    write_video(tmp_path / "a.mp4", [*moving(one, 20), *mixed, *moving(other, 20)])
    found = moments(tmp_path / "a.mp4")
    assert len(found) == 2 and 2 < found[1].second < 6


def test_black_between_shots_is_no_moment(tmp_path: Path) -> None:
    black = [Image.new("RGB", SIZE)] * 15
    write_video(tmp_path / "a.mp4", [*black, *moving(shot(1), 20), *black, *moving(shot(2), 20)])
    found = moments(tmp_path / "a.mp4")
    assert [moment.second for moment in found] == [0.0, 5.0]
    assert all(np.asarray(moment.image).std() > 20 for moment in found)
    write_video(tmp_path / "b.mp4", black)
    assert seconds(tmp_path / "b.mp4") == [0.0]


def test_equal_distances_and_limits(tmp_path: Path) -> None:
    path = write_shots(tmp_path / "a.mp4", [1, 2, 3])
    assert seconds(path, Sampling(every=1.5)) == [0.0, 1.5, 3.0, 4.5]
    assert seconds(path, Sampling(every=100)) == [0.0]
    assert seconds(path, Sampling(every=0.1, most=3)) == [0.0, 2.0, 4.0]
    assert len(seconds(path, Sampling(most=2))) == 2
    with pytest.raises(UserError, match="`every` must be above 0 seconds, got 0"):
        Sampling(every=0)
    with pytest.raises(UserError, match="`most` must be at least 1"):
        Sampling(most=0)


def test_many_cuts_stay_below_the_limit_without_a_duration(tmp_path: Path) -> None:
    out = io.BytesIO()
    out.seekable = lambda: False  # type: ignore[method-assign]
    frames = [frame for number in range(12) for frame in moving(shot(number), 12)]
    write_video(out, frames, codec="libx264", format="matroska")
    path = tmp_path / "live.mkv"
    path.write_bytes(out.getvalue())
    with path.open("rb") as file, open_video(file) as video:
        assert video.duration is None
    assert len(seconds(path)) == 12
    assert len(seconds(path, Sampling(most=5))) == 5


def test_a_turned_video_is_upright(tmp_path: Path) -> None:
    path = write_shots(tmp_path / "phone.mp4", [1])
    flat = moments(path)[0].image
    turn_clockwise(path)
    turned = moments(path)[0].image
    assert turned.size == (SIZE[1], SIZE[0])
    assert difference(turned, flat.transpose(Image.Transpose.ROTATE_270)) < 2


def test_variable_rate(tmp_path: Path) -> None:
    frames = [*moving(shot(1), 10), *moving(shot(2), 10)]
    times = [number / 10 for number in range(10)] + [3 + number / 5 for number in range(10)]
    write_video(tmp_path / "a.mkv", frames, times=times)
    assert seconds(tmp_path / "a.mkv") == [0.0, 3.0]


@pytest.mark.parametrize(
    ("codec", "pixels", "size"),
    [("libx265", "yuv420p10le", SIZE), ("libx264", "yuv444p", (97, 63)), ("ffv1", "gray", SIZE)],
)
def test_odd_pixels(tmp_path: Path, codec: str, pixels: str, size: tuple[int, int]) -> None:
    frames = [frame for number in (1, 2) for frame in moving(shot(number, size), 20)]
    quiet = {"x265-params": "log-level=none"} if codec == "libx265" else None
    write_video(tmp_path / "a.mkv", frames, codec=codec, pixels=pixels, options=quiet)
    found = moments(tmp_path / "a.mkv")
    assert [moment.second for moment in found] == [0.0, 2.0]
    assert {(moment.image.size, moment.image.mode) for moment in found} == {(size, "RGB")}


@pytest.mark.parametrize("kind", ["avi", "mkv", "webm"])
def test_a_truncated_video_gives_its_first_moments(tmp_path: Path, kind: str) -> None:
    path = write_shots(tmp_path / f"a.{kind}", [1, 2, 3])
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 6 // 10])
    found = seconds(path)
    assert found in ([0.0], [0.0, 2.0])


def test_damage_in_the_middle_is_left_out(tmp_path: Path) -> None:
    path = write_shots(tmp_path / "a.mkv", [1, 2, 3], options={"g": "10"})
    data = bytearray(path.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 200] = np.random.default_rng(0).bytes(200)
    path.write_bytes(data)
    assert seconds(path)[0] == 0.0


def test_files_that_are_no_videos(tmp_path: Path) -> None:
    write_sound(tmp_path / "sound.mp4")
    whole = write_shots(tmp_path / "whole.mp4", [1]).read_bytes()
    contents = {
        "text.mp4": (b"not a video" * 100, limits.UNKNOWN_VIDEO),
        "empty.mp4": (b"", limits.UNKNOWN_VIDEO),
        "cut.mp4": (whole[: len(whole) // 2], limits.UNKNOWN_VIDEO),  # its index is at the end
        "list.mp4": (f"ffconcat version 1.0\nfile '{tmp_path}/whole.mp4'\n".encode(), limits.UNKNOWN_VIDEO),
        "hls.mp4": (b"#EXTM3U\n#EXTINF:10,\nwhole.mp4\n#EXT-X-ENDLIST\n", limits.UNKNOWN_VIDEO),
        "sound.mp4": ((tmp_path / "sound.mp4").read_bytes(), "it has no video track"),
    }
    for name, (data, reason) in contents.items():
        (tmp_path / name).write_bytes(data)
        with pytest.raises(BrokenVideo, match=reason):
            moments(tmp_path / name)


def test_large_frames_and_long_videos_are_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_shots(tmp_path / "a.mp4", [1])
    monkeypatch.setattr(limits, "PIXELS", SIZE[0] * SIZE[1] - 1)
    with pytest.raises(PictureLimitError, match="its frames have 6,144 pixels; at most 6,143"):
        moments(path)
    monkeypatch.undo()
    monkeypatch.setattr(limits, "HOURS", 1 / 3600)
    with pytest.raises(PictureLimitError, match="it lasts"):
        moments(path)
    with pytest.raises(PictureLimitError, match="bytes; at most"):
        limits.check_size(limits.FILE_BYTES + 1)


def test_a_costly_video_is_read_by_its_keyframes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dense = write_shots(tmp_path / "dense.mp4", [1, 2, 3], options={"g": "5"})
    sparse = write_shots(
        tmp_path / "sparse.mp4",
        [1, 2, 3],
        options={"g": "1000", "sc_threshold": "0", "x264-params": "scenecut=0"},
    )
    monkeypatch.setattr(sampling, "ALL_FRAMES", 0)
    with dense.open("rb") as file, open_video(file) as video:
        times = [second for second, _ in video.frames(keyframes=True)]
    assert times == pytest.approx([number / 2 for number in range(12)])
    assert seconds(dense) == [0.0, 2.0, 4.0]
    assert seconds(sparse) == [0.0]
    monkeypatch.setattr(reader, "KEYFRAME_GAP", 1.0)
    assert seconds(sparse) == [0.0, 2.0, 4.0]


def test_time_runs_out(tmp_path: Path) -> None:
    path = write_shots(tmp_path / "a.mp4", [1, 2])
    with (
        path.open("rb") as file,
        open_video(file, stop=0.0) as video,
        pytest.raises(BrokenVideo, match="none of its frames"),
    ):
        list(sample(video, Sampling()))

"""Moving scenes: videos of a few shots, and a sentence per shot in several languages."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

from PIL import Image

from lingvis.data.scenes.backgrounds import background
from lingvis.data.scenes.compose import SIDE, Box, place
from lingvis.data.scenes.glyphs import Glyphs
from lingvis.data.scenes.names import Speaker
from lingvis.data.scenes.plan import ScenePlan, plan_scenes
from lingvis.data.video.reader import load_av
from lingvis.errors import UserError
from lingvis.files import atomic_folder
from lingvis.progress import ProgressBar

RATE = 10  # frames per second
CODEC, SUFFIX = "libvpx", ".webm"  # VP8, which every browser plays
SPEED = {"deadline": "realtime", "cpu-used": "8", "crf": "10", "b": "1M"}
SWAY = 10.0  # pixels that an object moves to either side
SHOTS_FILE = "shots.jsonl"


@dataclass(frozen=True, slots=True)
class VideoShot:
    """A shot of a video, in seconds, and the sentence about it in each language."""

    video: str
    start: float
    end: float
    sentences: dict[str, str]


def make_videos(
    target: Path,
    *,
    languages: Sequence[str],
    videos: int = 100,
    shots: int = 3,
    seconds: float = 6.0,
    scenes: int = 3000,
    seed: int = 0,
) -> list[VideoShot]:
    """Make videos of the scenes in the test split of `make_scenes(scenes=scenes, seed=seed)`, which move.

    Returns their shots, which are also in shots.jsonl; a folder that exists is only read.
    """
    if target.is_dir():
        lines = (target / SHOTS_FILE).read_text(encoding="utf-8").splitlines()
        return [VideoShot(**json.loads(line)) for line in lines]
    plans = [plan for plan in plan_scenes(scenes, seed) if plan.split == "test"][: videos * shots]
    if len(plans) < videos * shots:
        raise UserError(
            f"{scenes} scenes have {len(plans)} in split test, but {videos} videos of {shots} shots need "
            f"{videos * shots}; make fewer videos, or more scenes"
        )
    glyphs = Glyphs(sorted({symbol for plan in plans for symbol in plan.objects}))
    speakers = {language: Speaker.of(language) for language in languages}
    made: list[VideoShot] = []
    with atomic_folder(target) as folder, ProgressBar("videos", videos) as bar:
        for number in range(videos):
            chosen, name = plans[number * shots : (number + 1) * shots], f"{number:03}{SUFFIX}"
            frames = (frame for plan in chosen for frame in _move(plan, glyphs, seconds=seconds, seed=seed))
            _encode(folder / name, frames)
            made += [
                VideoShot(
                    name,
                    place * seconds,
                    (place + 1) * seconds,
                    {language: speaker.say(plan.objects) for language, speaker in speakers.items()},
                )
                for place, plan in enumerate(chosen)
            ]
            bar.advance()
        text = "".join(json.dumps(asdict(shot), ensure_ascii=False) + "\n" for shot in made)
        (folder / SHOTS_FILE).write_text(text, encoding="utf-8")
    return made


def _move(plan: ScenePlan, glyphs: Glyphs, *, seconds: float, seed: int) -> Iterator[Image.Image]:
    """Draw the frames of a shot: objects sway around their places."""
    random = Random(f"scenes/{seed}/{plan.number}/video")
    ground = background(SIDE, random)
    placed = place(plan.objects, glyphs=glyphs, random=random)
    paths = [
        (random.uniform(2.0, 5.0), random.uniform(0, 2 * math.pi), random.uniform(0, 2 * math.pi))
        for _ in placed
    ]
    for number in range(round(seconds * RATE)):
        frame = ground.copy()
        for (cut_out, box), (period, start, direction) in zip(placed, paths, strict=True):
            far = SWAY * math.sin(2 * math.pi * number / RATE / period + start)
            frame.paste(cut_out, _inside(box, far * math.cos(direction), far * math.sin(direction)), cut_out)
        yield frame


def _inside(box: Box, across: float, down: float) -> tuple[int, int]:
    width, height = box[2] - box[0], box[3] - box[1]
    x, y = round(box[0] + across), round(box[1] + down)
    return min(max(x, 0), SIDE - width), min(max(y, 0), SIDE - height)


def _encode(path: Path, frames: Iterable[Image.Image]) -> None:
    av = load_av()
    with av.open(str(path), "w") as container:
        stream: Any = container.add_stream(CODEC, rate=RATE, options=SPEED)
        stream.width, stream.height, stream.pix_fmt = SIDE, SIDE, "yuv420p"
        for frame in frames:
            container.mux(stream.encode(av.VideoFrame.from_image(frame)))
        container.mux(stream.encode())

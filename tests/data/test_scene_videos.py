"""Moving scenes: each shot is found where it begins, and described in each language."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lingvis.data.scenes.plan import plan_scenes
from lingvis.data.scenes.videos import SHOTS_FILE, make_videos
from lingvis.data.video.reader import open_video
from lingvis.data.video.sampling import BY_SCENE, sample
from lingvis.errors import UserError


def test_shots_of_made_up_videos(tmp_path: Path) -> None:
    shots = make_videos(
        tmp_path / "made", languages=("en", "zh"), videos=2, shots=2, seconds=2.0, scenes=40, seed=1
    )
    assert [(shot.video, shot.start, shot.end) for shot in shots] == [
        ("000.webm", 0.0, 2.0),
        ("000.webm", 2.0, 4.0),
        ("001.webm", 0.0, 2.0),
        ("001.webm", 2.0, 4.0),
    ]
    plans = [plan for plan in plan_scenes(40, 1) if plan.split == "test"]
    assert len({shot.sentences["en"] for shot in shots}) == len(plans) == 4
    assert all({*shot.sentences} == {"en", "zh"} for shot in shots)
    for name in ("000.webm", "001.webm"):
        with (tmp_path / "made" / name).open("rb") as file, open_video(file) as video:
            assert [moment.second for moment in sample(video, BY_SCENE)] == [0.0, 2.0]
        with (tmp_path / "made" / name).open("rb") as file, open_video(file) as video:
            frames = [np.asarray(video.image(frame), np.int16) for _, frame in video.frames(keyframes=False)]
        assert len(frames) == 40 and np.abs(frames[0] - frames[10]).max() > 100  # something moves
    again = make_videos(tmp_path / "made", languages=("en",))
    assert again == shots and (tmp_path / "made" / SHOTS_FILE).is_file()


def test_too_many_videos(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="20 scenes have 2 in split test, but 3 videos of 3 shots need 9"):
        make_videos(tmp_path / "made", languages=("en",), videos=3, scenes=20)
    assert not (tmp_path / "made").exists()

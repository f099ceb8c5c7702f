"""The study of videos on very few of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from lingvis.collection.collection import Collection
from lingvis.data.scenes.videos import make_videos
from studies.records import RUNS, append
from studies.tables.results.records import Results
from studies.video.report import video_table
from studies.video.run import LANGUAGES, decoding_seconds, recall

from ..collection.conftest import make_model

WORDS = {lang: ["a dog", "the house"] for lang in LANGUAGES}


@pytest.mark.slow
def test_recall_counts_the_right_shot(tmp_path: Path) -> None:
    shots = make_videos(tmp_path / "videos", languages=LANGUAGES, videos=2, shots=2, seconds=6.0, scenes=40)
    collection = Collection(
        tmp_path / "c.lv", model=make_model(tmp_path / "model", words=WORDS), device="cpu"
    )
    assert collection.add([tmp_path / "videos"]).moments == 4
    found = recall(collection, shots)
    assert list(found) == list(LANGUAGES)
    # An untrained model finds each of the four shots among the first five; which comes first is chance.
    assert all(values["R@5"] == values["R@10"] == 100.0 for values in found.values())
    assert all(values["R@1"] in (0.0, 25.0, 50.0, 75.0, 100.0) for values in found.values())
    swapped = [*shots[1:], shots[0]]
    wrong = [
        type(a)(b.video, b.start + 100, b.end + 100, a.sentences) for a, b in zip(shots, swapped, strict=True)
    ]
    assert all(values["R@10"] == 0.0 for values in recall(collection, wrong).values())
    assert decoding_seconds(sorted((tmp_path / "videos").glob("*.webm")))[1] == 4


def test_the_table(tmp_path: Path) -> None:
    record = {
        "name": "video",
        "recipe": "demo",
        "videos": 2,
        "shots": 4,
        "moments": 5,
        "frames": 240,
        "seconds": 24,
        "recall": {"en": {"R@1": 50.0, "R@5": 75.0, "R@10": 100.0}},
        "backbone": "x",
        "frames_per_second": {"backbone": 40.0, "decoding": 1500.4, "index": 900.0, "moments": 18.7},
        "rounds": {"index": [1, 2, 3]},
        "hardware": {"cores": 2, "cpu": "y"},
    }
    append(tmp_path / "video" / RUNS, record)
    text = video_table(Results(tmp_path))
    assert (
        "| `en` | 50.0 | 75.0 | 100.0 |" in text
        and "all 4 shots of 2 made-up videos (12 seconds each)" in text
    )
    assert "all frames of the videos, in one thread | 1,500 |" in text and "median of 3 rounds" in text

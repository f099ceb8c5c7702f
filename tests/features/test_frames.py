"""Features of videos: a vector per frame with its second, and a recipe that trains on such sets."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import lingvis
from lingvis.cli import main
from lingvis.data.video.reader import open_video
from lingvis.data.video.sampling import Sampling, sample
from lingvis.errors import UserError
from lingvis.features.backbones import Backbone, load_backbone
from lingvis.features.encode import encode_pictures
from lingvis.features.extract import extract
from lingvis.features.store import FeatureStore
from lingvis.training.run import train

from ..training.small_runs import OWN, SMALL
from ..videos import shot, write_shots

SHOTS = {"a": [1], "b": [2, 3], "c": [4, 5, 6], "d": [7, 8]}


@pytest.fixture(scope="module")
def backbone() -> Backbone:
    return load_backbone("efficientnet-lite0", device="cpu")


@pytest.fixture(scope="module")
def videos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four videos and a picture, with two captions each."""
    folder = tmp_path_factory.mktemp("videos") / "dataset"
    names = {name: f"{name}.mp4" for name in SHOTS} | {"e": "e.png"}
    for name, numbers in SHOTS.items():
        write_shots(folder / "images" / names[name], numbers)
    shot(9).save(folder / "images" / "e.png")
    rows = [
        {
            "image": image,
            "split": split,
            "captions": {"en": [f"{name} {word}" for word in ("moves", "stands")]},
        }
        for (name, image), split in zip(
            names.items(), ["train", "train", "val", "test", "train"], strict=True
        )
    ]
    (folder / "captions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def test_a_video_is_a_set_of_frames(videos: Path, backbone: Backbone) -> None:
    store = extract(videos, backbone=backbone, kind="frames")
    assert store.path.name == "efficientnet-lite0-frames" and store.manifest.origin.every is None
    assert store.names == ["a.mp4", "b.mp4", "c.mp4", "d.mp4", "e.png"]
    assert np.diff(store.offsets).tolist() == [1, 2, 3, 2, 1]
    assert store.seconds is not None
    assert store.seconds[:, 0].tolist() == [0, 0, 2, 0, 2, 4, 0, 2, 0]
    with (videos / "images" / "b.mp4").open("rb") as file, open_video(file) as video:
        frames = [moment.image for moment in sample(video, Sampling())]
    alone = list(encode_pictures(frames, backbone, "global"))
    np.testing.assert_allclose(store[1], np.concatenate(alone), rtol=0.01, atol=0.01)
    assert extract(videos, backbone=backbone, kind="frames").path == store.path
    store.verify()


def test_every_so_many_seconds(videos: Path, backbone: Backbone, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--kind", "frames", "--every", "1.5", "--name", "often", "--device", "cpu", "--json"]
    main(["features", "extract", str(videos), *options])
    assert json.loads(capsys.readouterr().out)["origin"]["every"] == 1.5
    store = FeatureStore.open(videos / "features" / "often")
    assert np.diff(store.offsets).tolist() == [2, 3, 4, 3, 1]
    assert store.seconds is not None and store.seconds[5:9, 0].tolist() == [0.0, 1.5, 3.0, 4.5]
    with pytest.raises(UserError, match="made with other options"):
        extract(videos, backbone=backbone, kind="frames", every=2.0, name="often")
    with pytest.raises(UserError, match=r"every 2.0 has no effect on features of kind grid"):
        extract(videos, backbone=backbone, kind="grid", every=2.0)
    with pytest.raises(UserError, match=r"a.mp4 cannot be used: it is a video, .*; use kind frames"):
        extract(videos, backbone=backbone, kind="grid")


def test_the_recipe_trains_on_videos(videos: Path, backbone: Backbone, tmp_path: Path) -> None:
    extract(videos, backbone=backbone, kind="frames")
    small = [value for value in (*SMALL, *OWN["vse_infinity_video"]) if not value.startswith("data.features")]
    train("vse_infinity_video", videos, tmp_path / "run", overrides=small, device="cpu")
    report = lingvis.evaluate(tmp_path / "run", videos, split="test", device="cpu")
    assert report.languages["en"].mR == 100.0  # there is one video in this split

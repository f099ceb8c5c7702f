"""Detections of a dataset: stored whole, resumed after a kill, used by features."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from lingvis.cli.commands.features import detect as command
from lingvis.data.dataset import Dataset, write_rows
from lingvis.data.detections import read_manifest
from lingvis.data.images import UNKNOWN_FORMAT
from lingvis.data.rows import Region
from lingvis.errors import UserError
from lingvis.features.backbones import Backbone
from lingvis.features.detect import best, detect
from lingvis.features.detectors import DetectorPicture
from lingvis.features.extract import extract
from tests.features.detector_files import coloured, write_yolo

MakeDataset = Callable[..., Dataset]
LEFT, RIGHT = (0.0, 0.0, 10.0, 30.0), (30.0, 0.0, 40.0, 30.0)


class Corner:
    """Sees a thing at the left of every picture, and one that grows less sure from picture to picture."""

    name, side = "corner", 16
    made_of: tuple[str, ...] = ("weights",)

    def __init__(self) -> None:
        self.asked: list[str] = []

    def detect(self, pictures: Sequence[DetectorPicture]) -> list[list[Region]]:
        self.asked += [picture.name for picture in pictures]
        return [
            [
                Region(box=RIGHT, label="faint", score=0.9 - 0.1 * int(picture.name[:2])),
                Region(box=LEFT, label="sure", attribute="red", score=0.95),
            ]
            for picture in pictures
        ]


def lines_of(dataset: Dataset, name: str = "regions") -> list[dict[str, list[dict[str, object]]]]:
    text = (dataset.detections_dir / name / "regions.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def test_the_surest_regions_come_first_and_a_person_is_sure() -> None:
    regions = [Region(box=LEFT, score=score) for score in (0.3, 0.9, 0.29, None, 0.5)]
    assert [r.score for r in best(regions, score=0.3, most=3)] == [None, 0.9, 0.5]
    assert [r.score for r in best(regions, score=0.3, most=9)] == [None, 0.9, 0.5, 0.3]


def test_regions_are_stored_and_features_use_them(make_dataset: MakeDataset, tiny: Backbone) -> None:
    dataset = make_dataset(4)
    (dataset.images_dir / "02.jpg").write_bytes(b"no picture")
    made = detect(dataset, Corner(), score=0.85, batch_size=3)
    assert (made.pictures, made.empty, made.regions) == (4, 1, 4)
    assert made.labels == {"sure": 3, "faint": 1}
    assert [(b.image, b.reason) for b in made.broken] == [("02.jpg", UNKNOWN_FORMAT)]
    assert lines_of(dataset)[0] == {
        "image": "00.jpg",
        "regions": [
            {"box": [*LEFT], "label": "sure", "attribute": "red", "score": 0.95},
            {"box": [*RIGHT], "label": "faint", "score": 0.9},
        ],
    }
    assert read_manifest(dataset.detections_dir / "regions") == made
    assert {p.name for p in dataset.detections_dir.iterdir()} == {"regions", ".regions.lock"}
    store = extract(dataset, backbone=tiny, kind="region", skip_broken=True)
    assert store.boxes is not None
    assert np.array_equal(store.boxes, [LEFT, RIGHT, LEFT, LEFT])


def test_rows_keep_their_own_regions_unless_detections_are_named(
    make_dataset: MakeDataset, tiny: Backbone
) -> None:
    own = (1.0, 2.0, 3.0, 4.0)
    dataset = make_dataset(2, [[own], []])
    assert dataset.with_regions() is dataset
    detect(dataset, Corner(), most=1)
    detect(dataset, Corner(), most=2, name="other")
    assert [[r.box for r in row.regions] for row in dataset.with_regions().rows] == [[own], [LEFT]]
    named = dataset.with_regions("other")
    assert [[r.box for r in row.regions] for row in named.rows] == [[LEFT, RIGHT]] * 2
    assert named.path == dataset.path
    store = extract(dataset, backbone=tiny, kind="region")
    other = extract(dataset, backbone=tiny, kind="region", detections="other")
    assert (store.path.name, other.path.name) == ("tiny-region", "tiny-region-other")
    assert (len(store.values), len(other.values)) == (2, 4)
    with pytest.raises(
        UserError, match=r"no detections at .*nothing; make them with: lingvis features detect"
    ):
        dataset.with_regions("nothing")
    with pytest.raises(UserError, match="have no effect on features of kind grid"):
        extract(dataset, backbone=tiny, kind="grid", detections="other")


def test_pictures_that_nobody_looked_at_are_named(make_dataset: MakeDataset) -> None:
    dataset = make_dataset(2)
    detect(dataset, Corner())
    coloured((20, 20), {}).save(dataset.images_dir / "new.png")
    rows = [*dataset.rows, dataset.rows[0].model_copy(update={"image": "new.png"})]
    write_rows(dataset.path / "captions.jsonl", rows)
    with pytest.raises(UserError, match=r"lack 1 of the pictures, new\.png among them; update them"):
        Dataset.open(dataset.path).with_regions()


def test_complete_detections_are_kept_and_others_refused(make_dataset: MakeDataset) -> None:
    dataset = make_dataset(2)
    made = detect(dataset, Corner())
    again = Corner()
    assert detect(dataset, again) == made
    assert again.asked == []
    with pytest.raises(
        UserError, match=r"holds detections of corner with score 0\.3 and at most 36 .*another name.*force"
    ):
        detect(dataset, Corner(), score=0.5)
    assert read_manifest(dataset.detections_dir / "regions") == made
    assert detect(dataset, Corner(), score=0.93, force=True).regions == 2
    coloured((20, 20), {}).save(dataset.images_dir / "00.jpg")  # a changed picture needs no asking
    changed = Corner()
    detect(dataset, changed, score=0.93)
    assert changed.asked == ["00.jpg", "01.jpg"]


def test_an_interrupted_run_goes_on_after_its_last_whole_batch(make_dataset: MakeDataset) -> None:
    dataset = make_dataset(5)

    class Tired(Corner):
        def detect(self, pictures: Sequence[DetectorPicture]) -> list[list[Region]]:
            if len(self.asked) == 4:
                raise KeyboardInterrupt
            return super().detect(pictures)

    with pytest.raises(KeyboardInterrupt):
        detect(dataset, Tired(), batch_size=2)
    assert not (dataset.detections_dir / "regions").exists()
    log = dataset.detections_dir / ".regions.partial.jsonl"
    whole = log.read_text()
    assert whole.count("\n") == 1 + 4
    log.write_text(whole[:-20] + "\0\0\n")  # as a full disk or a power cut leaves it
    rest = Corner()
    detect(dataset, rest, batch_size=2)
    assert rest.asked == ["03.jpg", "04.jpg"]
    assert not log.exists()
    resumed = lines_of(dataset)
    detect(dataset, Corner(), name="at-once")
    assert resumed == lines_of(dataset, "at-once")
    log.write_text(whole.replace("0.3", "0.4", 1))  # what another run left is not mixed in
    other = Corner()
    detect(dataset, other, most=3, force=True)
    assert len(other.asked) == 5


@pytest.mark.parametrize(
    "line",
    [
        b"\xff\xfe",
        b'{"image": "00.jpg", "broken": 5}',
        b'{"image": "00.jpg", "regions": [{"box": [3, 2, "x"]}]}',
        b'["image"]',
        b"5",
        b"[" * 100_000,
    ],
)
def test_a_damaged_log_is_begun_again(make_dataset: MakeDataset, line: bytes) -> None:
    class Stopped(Corner):
        def detect(self, pictures: Sequence[DetectorPicture]) -> list[list[Region]]:
            raise KeyboardInterrupt

    dataset = make_dataset(1)
    with pytest.raises(KeyboardInterrupt):
        detect(dataset, Stopped())
    with (dataset.detections_dir / ".regions.partial.jsonl").open("ab") as log:
        log.write(line + b"\n")
    detector = Corner()
    detect(dataset, detector)
    assert detector.asked == ["00.jpg"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"score": 1.5}, "score must be a number from 0 to 1, such as 0.3, got 1.5"),
        ({"most": 0}, "most must be at least 1, got 0"),
        ({"batch_size": 0}, "batch_size must be at least 1, got 0"),
        ({"name": "../x"}, "bad name"),
        ({"name": ".x"}, "bad name"),
    ],
)
def test_bad_options(make_dataset: MakeDataset, options: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        detect(make_dataset(1), Corner(), **options)  # type: ignore[arg-type]


def test_nothing_is_stored_when_no_picture_can_be_read(make_dataset: MakeDataset) -> None:
    dataset = make_dataset(1)
    (dataset.images_dir / "00.jpg").write_bytes(b"")
    with pytest.raises(UserError, match="none of the 1 pictures can be used: the file is empty"):
        detect(dataset, Corner())
    assert not (dataset.detections_dir / "regions").exists()


def test_a_killed_command_loses_nothing(
    make_dataset: MakeDataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("onnxruntime", reason="needs onnxruntime: pip install 'lingvis[detectors]'")
    file = write_yolo(tmp_path / "yolo.onnx", version=8)
    dataset = make_dataset(300)
    for row in dataset.rows:
        coloured((64, 64), {"red": (0, 0, 16, 16)}).save(dataset.images_dir / row.image, quality=95)
    arguments = ["features", "detect", str(dataset.path), "--detector", f"onnx:{file}", "--batch-size", "1"]
    log = dataset.detections_dir / ".regions.partial.jsonl"
    child = subprocess.Popen(
        [sys.executable, "-c", "from lingvis.cli import main; main()", *arguments],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    while child.poll() is None and (not log.exists() or log.read_text().count("\n") < 20):
        time.sleep(0.002)
    assert child.poll() is None, "the command ended before it could be killed"
    child.send_signal(signal.SIGKILL)
    child.wait()
    kept = log.read_text().rpartition("\n")[0].split("\n")
    assert 20 <= len(kept) < 301
    command(dataset.path, detector=f"onnx:{file}", json=True)
    printed = json.loads(capsys.readouterr().out)
    assert (printed["pictures"], printed["labels"]["red"] >= 300) == (300, True)
    stored = (dataset.detections_dir / "regions" / "regions.jsonl").read_text().splitlines()
    assert stored[: len(kept) - 1] == kept[1:]
    assert [json.loads(line)["image"] for line in stored] == [row.image for row in dataset.rows]
    command(dataset.path, detector=f"onnx:{file}")
    assert "regions in 300 pictures, none in 0 of them\n" in capsys.readouterr().out

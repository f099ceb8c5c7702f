"""MSR-VTT and VATEX, from tiny sources of their real shapes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lingvis.data.dataset import Dataset
from lingvis.data.importers import import_dataset

from .test_importers import put, read, refused, rows_of


def msrvtt(*videos: tuple[str, str], **sentences: list[str]) -> dict[str, Any]:
    return {
        "info": {"year": "2016"},
        "videos": [
            {"video_id": id, "split": split, "category": 9, "url": "", "start time": 0.0, "end time": 9.0}
            for id, split in videos
        ],
        "sentences": [
            {"caption": text, "video_id": id, "sen_id": 1}
            for id, listed in sentences.items()
            for text in listed
        ],
    }


def test_msrvtt(tmp_path: Path) -> None:
    source = tmp_path / "source"
    first = msrvtt(
        ("video0", "train"), ("video1", "validate"), video0=["a  car", "a red car"], video1=["a dog"]
    )
    put(source / "train_val_videodatainfo.json", first)
    put(source / "test_videodatainfo.json", msrvtt(("video9", "test"), video9=["rain"]))
    videos = tmp_path / "videos"
    put(videos / "TrainValVideo" / "video0.mp4", b"x")
    put(videos / "TrainValVideo" / "video1.webm", b"x")
    put(videos / "TestVideo" / "video9.mp4", b"x")
    assert rows_of(read("msrvtt", source, images=videos)) == {
        "video9.mp4": ("test", {"en": ("rain",)}),
        "video0.mp4": ("train", {"en": ("a car", "a red car")}),
        "video1.webm": ("val", {"en": ("a dog",)}),
    }
    import_dataset("msrvtt", source, tmp_path / "dataset", images=videos)
    assert (tmp_path / "dataset" / "images" / "video1.webm").read_bytes() == b"x"
    assert len(Dataset.open(tmp_path / "dataset").rows) == 3


def test_msrvtt_refused(tmp_path: Path) -> None:
    file = put(tmp_path / "MSRVTT_data.json", msrvtt(("video0", "train"), video7=["a car"]))
    assert "its video_id 'video7' is not among the videos" in refused("msrvtt", file)
    put(file, {"videos": [{"video_id": "a"}], "sentences": []})
    assert "is not an MSR-VTT file" in refused("msrvtt", file)
    put(file, msrvtt(("video0", "later"), video0=["a car"]))
    assert "unknown split 'later'" in refused("msrvtt", file)
    (tmp_path / "empty").mkdir()
    assert "name the file itself" in refused("msrvtt", tmp_path / "empty")


def test_vatex(tmp_path: Path) -> None:
    english, chinese = [f"sentence {n}" for n in range(10)], [f"句子 {n}" for n in range(10)]
    put(
        tmp_path / "vatex_training_v1.0.json",
        [{"videoID": "a_000000_000010", "enCap": english, "chCap": chinese}],
    )
    put(tmp_path / "vatex_public_test_english_v1.1.json", [{"videoID": "b_000001_000011", "enCap": ["rain"]}])
    imported = read("vatex", tmp_path)
    assert rows_of(imported) == {
        "b_000001_000011.mp4": ("test", {"en": ("rain",)}),
        "a_000000_000010.mp4": ("train", {"en": tuple(english), "zh": tuple(chinese)}),
    }
    assert [row.parallel for row in imported.rows] == [{}, {"en": "sentence 5", "zh": "句子 5"}]


def test_vatex_refused(tmp_path: Path) -> None:
    file = put(tmp_path / "vatex.json", [{"videoID": "a", "enCap": ["x"]}])
    assert "does not state its split; set split" in refused("vatex", file)
    assert len(read("vatex", file, split="val").rows) == 1
    put(file, [{"enCap": ["x"]}])
    assert "is not a VATEX file" in refused("vatex", file, split="val")
    put(file, [{"videoID": 3, "enCap": ["x"]}])
    assert "the videoID should be text, got int" in refused("vatex", file, split="val")

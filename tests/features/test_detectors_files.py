"""Detections that others made: COCO's JSON, bottom-up attention, our own rows."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lingvis.data.rows import Region
from lingvis.errors import UserError
from lingvis.features.detectors import DetectorPicture, load_detector
from lingvis.features.detectors.ids import PictureIds
from lingvis.features.pictures import BrokenPicture

IMAGES = ["val/COCO_val2014_000000000042.jpg", "7.jpg", "name.png"]
NO_PIXELS = np.zeros((0, 0, 3), np.uint8)
CATEGORIES = [{"id": 1, "name": "person"}, {"id": 18, "name": "dog"}]


def pictures(width: int = 100, height: int = 50) -> list[DetectorPicture]:
    return [DetectorPicture(name, width, height, NO_PIXELS) for name in IMAGES]


def write(file: Path, value: Any) -> Path:
    file.write_text(value if isinstance(value, str) else json.dumps(value))
    return file


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (42, IMAGES[0]),
        ("42", IMAGES[0]),
        ("000000000042", IMAGES[0]),
        ("COCO_val2014_000000000042", IMAGES[0]),
        ("elsewhere/COCO_val2014_000000000042.jpg", IMAGES[0]),
        (7, "7.jpg"),
        ("name", "name.png"),
        (8, None),
        ("nam", None),
    ],
)
def test_pictures_are_found_by_what_files_call_them(given: str | int, found: str | None) -> None:
    assert PictureIds(IMAGES).find(given) == found


def test_names_that_fit_two_pictures_find_none_and_hashes_are_no_numbers() -> None:
    ids = PictureIds(["a/1.jpg", "b/1.jpg", "12_f00d33.jpg", "1.png/2.jpg"])
    assert [ids.find(name) for name in ("1", "1.jpg", "a/1.jpg", 33, 2)] == [
        None,
        None,
        "a/1.jpg",
        None,
        "1.png/2.jpg",
    ]


def test_coco_results_with_the_annotations_beside_them(tmp_path: Path) -> None:
    results = [
        {"image_id": 42, "category_id": 18, "bbox": [10, 20, 30, 40], "score": 0.5},
        {"image_id": 42, "category_id": 1, "bbox": [-5, 0, 10, 10], "score": 0.9},
        {"image_id": 42, "category_id": 99, "bbox": [0, 0, 10, 10], "score": 0.9},
        {"image_id": 42, "category_id": 1, "bbox": [200, 0, 10, 10], "score": 0.9},
        {"image_id": 1000, "category_id": 1, "bbox": [0, 0, 10, 10], "score": 0.9},
        {"image_id": 5, "category_id": 1, "bbox": [0, 0, 1, 1], "score": 0.25},
    ]
    labels = write(
        tmp_path / "instances.json",
        {"categories": CATEGORIES, "images": [{"id": 5, "file_name": "name.png"}]},
    )
    detector = load_detector(f"coco:{write(tmp_path / 'r.json', results)}", labels=labels, images=IMAGES)
    assert detector.detect(pictures()) == [
        [
            Region(box=(10.0, 20.0, 40.0, 50.0), label="dog", score=0.5),  # cut at the lower edge
            Region(box=(0.0, 0.0, 5.0, 10.0), label="person", score=0.9),
        ],
        [],
        [Region(box=(0.0, 0.0, 1.0, 1.0), label="person", score=0.25)],
    ]


def test_coco_annotations_are_sure_and_bring_their_names(tmp_path: Path) -> None:
    content = {
        "images": [{"id": 1, "file_name": "7.jpg"}],
        "categories": CATEGORIES,
        "annotations": [{"image_id": 1, "category_id": 18, "bbox": [1, 2, 3, 4]}],
    }
    detector = load_detector(f"coco:{write(tmp_path / 'a.json', content)}", images=IMAGES)
    assert detector.detect(pictures()[1:2]) == [[Region(box=(1.0, 2.0, 4.0, 6.0), label="dog", score=1.0)]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "cannot be read as JSON"),
        ([{"image_id": 42, "category_id": 1, "bbox": [0, 0, 1, 1]}], r"from the file of labels"),
        ({"categories": CATEGORIES, "annotations": [{"image_id": 42}]}, "KeyError"),
        (
            {
                "categories": CATEGORIES,
                "annotations": [{"image_id": 3, "category_id": 1, "bbox": [0, 0, 1, 1]}],
            },
            "names none of the 3 pictures: it has 3, the dataset has val/COCO",
        ),
    ],
)
def test_bad_coco_files(tmp_path: Path, content: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        load_detector(f"coco:{write(tmp_path / 'a.json', content)}", images=IMAGES)


def packed(values: Any, kind: type) -> str:
    return base64.b64encode(np.array(values, kind).tobytes()).decode()


def tsv_line(image: str, width: int, height: int, boxes: list[list[float]]) -> str:
    count = len(boxes)
    fields = [image, height, width, packed([2, 0][:count], np.int64), packed([0.4, 0.9][:count], np.float32)]
    fields += [packed([1, 0][:count], np.int64), packed([0.8, 0.05][:count], np.float32)]
    fields += [count, packed(boxes, np.float32), packed(np.ones((count, 2048)), np.float32)]
    return "\t".join(map(str, fields)) + "\n"


def test_bottom_up_files_have_attributes(tmp_path: Path) -> None:
    write(tmp_path / "objects_vocab.txt", "dog,puppy\ncat\nstop sign\n")
    write(tmp_path / "attributes_vocab.txt", "red\nblue\n")
    lines = tsv_line("42", 200, 100, [[20, 10, 40, 50], [0, 0, 200, 100]]) + tsv_line(
        "7", 50, 100, [[0, 0, 1, 1]]
    )
    lines += tsv_line("name", 100, 50, [[0, 0, 1, 1]]).replace("\t1\t", "\t2\t")
    detector = load_detector(f"bottom-up:{write(tmp_path / 'a.tsv', lines)}", images=IMAGES)
    first, turned, damaged = detector.detect(pictures())
    # The boxes were made on a picture twice as large; an attribute of 0.05 is none.
    assert first == [
        Region(box=(10.0, 5.0, 20.0, 25.0), label="stop sign", attribute="blue", score=0.4),
        Region(box=(0.0, 0.0, 100.0, 50.0), label="dog", score=0.9),
    ]
    assert isinstance(turned, BrokenPicture)
    assert str(turned) == "its boxes were made on a picture of 50x100 pixels, this one has 100x50"
    assert isinstance(damaged, BrokenPicture)
    assert "its line in the TSV is damaged" in str(damaged)


def test_bad_bottom_up_files(tmp_path: Path) -> None:
    file = write(tmp_path / "a.tsv", "42\t100\t200\t1\tAAAA\tAAAA\n")
    with pytest.raises(UserError, match=r"no vocabulary at .*objects_vocab\.txt"):
        load_detector(f"bottom-up:{file}", images=IMAGES)
    (tmp_path / "names").mkdir()
    for name in ("objects", "attributes"):
        write(tmp_path / "names" / f"{name}_vocab.txt", "one\n")
    with pytest.raises(UserError, match="line 1: 6 fields; a TSV with classes and attributes has 10"):
        load_detector(f"bottom-up:{file}", labels=tmp_path / "names", images=IMAGES)
    write(file, tsv_line("1", 2, 2, [[0, 0, 1, 1]]))
    with pytest.raises(UserError, match="names none of the 3 pictures: it has 1,"):
        load_detector(f"bottom-up:{file}", labels=tmp_path / "names", images=IMAGES)


def test_our_own_rows_keep_what_they_say(tmp_path: Path) -> None:
    row = {"image": "7.jpg", "split": "train", "captions": {"en": ["x"]}, "regions": [
        {"box": [1, 2, 300, 4], "label": "cat", "attribute": "red"}, {"box": [500, 0, 501, 1], "label": "dog"}
    ]}  # fmt: skip
    file = write(tmp_path / "captions.jsonl", json.dumps(row) + "\n\n")
    detector = load_detector(f"regions:{file}", images=IMAGES)
    assert detector.detect(pictures()) == [
        [],
        [Region(box=(1.0, 2.0, 100.0, 4.0), label="cat", attribute="red")],
        [],
    ]
    write(file, json.dumps(row) + '\n{"image": "a", "regions": [{"box": [1, 2, 0, 4]}]}\n')
    with pytest.raises(UserError, match=r"line 2: regions\.0\.box: .*empty"):
        load_detector(f"regions:{file}", images=IMAGES)

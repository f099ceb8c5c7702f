"""A collection that an earlier version filled still opens, and finds the same pictures with the same scores.

old/collection.lv was made from six pictures of one colour each, three of them with a caption, by the model in
tests/model/format-1. It holds paths of another machine, so names are compared.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from lingvis.collection.collection import Collection
from lingvis.collection.stores.records import Filter

from .exif import exif_of

OLD = Path(__file__).parent / "old"
MODEL = Path(__file__).parents[1] / "model" / "format-1" / "model"
SEARCHES: list[dict[str, Any]] = json.loads((OLD / "expected.json").read_text(encoding="utf-8"))


@pytest.fixture
def old(tmp_path: Path) -> Collection:
    copy = shutil.copytree(OLD / "collection.lv", tmp_path / "collection.lv")
    return Collection.open(copy, model=MODEL, device="cpu")


@pytest.mark.parametrize("search", SEARCHES, ids=lambda search: search["text"])
def test_searches_give_the_same_pictures_and_scores(old: Collection, search: dict[str, Any]) -> None:
    hits = old.search(search["text"], lang=search["lang"], captions=search["captions"], k=6)
    expected = search["hits"]
    assert [Path(hit.path).name for hit in hits] == [hit["name"] for hit in expected]
    assert [hit.info.caption for hit in hits] == [hit["caption"] for hit in expected]
    np.testing.assert_allclose([hit.score for hit in hits], [hit["score"] for hit in expected], atol=1e-6)


def test_rows_keep_their_facts_and_new_pictures_can_be_added(old: Collection, tmp_path: Path) -> None:
    numbers = old.statistics()
    assert (numbers.pictures, numbers.captions, numbers.formats) == (6, 3, {"png": 6})
    (red,) = [hit for hit in old.search("all red", lang="en") if hit.path.endswith("red-0.png")]
    assert (red.info.width, red.info.height, red.info.lang) == (16, 16, "en")
    assert old.info(red.id) == red.info
    assert (old.thumbnail(red.id) or b"").startswith(b"\xff\xd8")
    photos = tmp_path / "photos"
    photos.mkdir()
    Image.new("RGB", (20, 10), (220, 20, 20)).save(photos / "new.png")
    (photos / "new.txt").write_text("all red")
    assert [info.camera for info in old.browse(k=9)] == [None] * 6
    assert (old.places(), old.browse(where=Filter(area=(-90, -180, 90, 180)))) == ([], [])
    Image.new("RGB", (20, 10), (20, 20, 220)).save(
        photos / "placed.jpg", exif=exif_of(place=((52, 31, 12), "N", (13, 24, 36), "E"))
    )
    report = old.add([photos])
    assert (report.added, report.pictures) == (2, 8)
    (placed,) = old.browse(where=Filter(area=(52, 13, 53, 14)))
    assert (Path(placed.path).name, placed.latitude, placed.longitude) == ("placed.jpg", 52.52, 13.41)
    assert len(placed.signature or b"") == 108
    assert sum(month.pictures for month in old.timeline()) == 8
    found = old.search("all red", lang="en", captions=True)
    assert Path(found[0].path).name == "new.png" and found[0].score == pytest.approx(1, abs=1e-3)

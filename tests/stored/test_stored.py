"""Model folders and collections that earlier versions wrote open, and answer as they did.

Every folder here is a sample of one version, made by make.py. Their collections hold paths of another machine, so names are
compared.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lingvis
from lingvis.collection.collection import Collection

from .make import HERE, QUERIES

SAMPLES = sorted(file.parent.name for file in HERE.glob("*/expected.json"))
INT8 = 0.06  # of a score, for a model with rounded weights
MOST_BYTES = 500_000


def expected(sample: str) -> dict[str, Any]:
    values: dict[str, Any] = json.loads((HERE / sample / "expected.json").read_text(encoding="utf-8"))
    return values


def test_there_is_a_small_sample_of_this_version() -> None:
    assert [sample for sample in SAMPLES if expected(sample)["lingvis"] == lingvis.__version__]
    for sample in SAMPLES:
        assert sum(file.stat().st_size for file in (HERE / sample).rglob("*") if file.is_file()) < MOST_BYTES


@pytest.mark.parametrize("sample", SAMPLES)
def test_models_encode_as_before(sample: str) -> None:
    values, photos = expected(sample), sorted((HERE / sample / "photos").glob("*.png"))
    texts, langs = [text for text, _ in QUERIES], [lang for _, lang in QUERIES]
    model = lingvis.load(HERE / sample / "model", device="cpu")
    np.testing.assert_allclose(model.encode_texts(texts, langs), values["texts"], atol=1e-4)
    np.testing.assert_allclose(model.encode_images(photos), values["images"], atol=1e-3)
    small = lingvis.load(HERE / sample / "model-int8", device="cpu")
    scores = np.array(values["texts"]) @ np.array(values["images"]).T
    np.testing.assert_allclose(
        small.encode_texts(texts, langs) @ small.encode_images(photos).T, scores, atol=INT8
    )


@pytest.mark.parametrize("sample", SAMPLES)
def test_collections_answer_as_before_and_take_new_pictures(sample: str, tmp_path: Path) -> None:
    copy = shutil.copytree(HERE / sample / "collection.lv", tmp_path / "collection.lv")
    collection = Collection.open(copy, model=HERE / sample / "model", device="cpu")
    for search in expected(sample)["searches"]:
        hits = collection.search(search["text"], lang=search["lang"], captions=search["captions"], k=6)
        assert [Path(hit.path).name for hit in hits] == [hit["name"] for hit in search["hits"]]
        assert [hit.info.caption for hit in hits] == [hit["caption"] for hit in search["hits"]]
        np.testing.assert_allclose(
            [hit.score for hit in hits], [hit["score"] for hit in search["hits"]], atol=1e-4
        )
    numbers = collection.statistics()
    assert (numbers.pictures, numbers.captions, numbers.formats) == (6, 3, {"png": 6})
    assert (collection.thumbnail(hits[0].id) or b"").startswith(b"\xff\xd8")
    photos = shutil.copytree(HERE / sample / "photos", tmp_path / "photos")
    assert collection.add([photos]).added == 6 and len(collection) == 12
    assert len({hit.score for hit in collection.search("das Haus", lang="de", k=2)}) == 1, (
        "the copies are equal"
    )

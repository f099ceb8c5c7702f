"""Protocols on a tiny dataset: what is measured, and what does not fit."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from lingvis.data.dataset import Dataset
from lingvis.data.rows import SPLITS
from lingvis.errors import UserError
from lingvis.evaluation.pools import languages_in, pools
from lingvis.evaluation.protocols import PROTOCOLS, EvaluationProtocol, find_protocol


def test_every_language_has_its_own_images(dataset: Dataset) -> None:
    found = {pool.lang: pool for pool in pools(dataset, find_protocol("all"), "test")}
    assert list(found) == ["en", "ar", "de"]
    assert found["en"].images == [f"{number}.png" for number in range(12)]
    assert found["de"].images == [f"{number}.png" for number in range(2, 12)]
    assert len(found["de"].texts) == 5 * 1 + 5 * 3
    for pool in found.values():
        named = [text.split()[-1] + ".png" for text in pool.texts]
        assert named == [pool.images[image] for image in pool.image_of]


def test_languages_can_be_chosen(dataset: Dataset) -> None:
    assert [pool.lang for pool in pools(dataset, find_protocol("all"), "test", ["de", "en"])] == ["de", "en"]


def test_one_sentence_an_image_from_the_translations(dataset: Dataset) -> None:
    protocol = dataclasses.replace(PROTOCOLS["multi30k-task1"], images=8)
    found = pools(dataset, protocol, "test")
    assert [pool.lang for pool in found] == ["en", "fr"]
    assert found[1].texts == [f"une de {number}" for number in range(4, 12)]
    assert found[1].images == [f"{number}.png" for number in range(4, 12)]


def test_translations_of_any_dataset(dataset: Dataset) -> None:
    protocol = find_protocol("parallel")
    found = pools(dataset, protocol, "test")
    assert [(pool.lang, len(pool.images), len(pool.texts)) for pool in found] == [("en", 8, 8), ("fr", 8, 8)]
    assert found[0].texts == [f"one of {number}" for number in range(4, 12)]
    assert [pool.lang for pool in pools(dataset, protocol, "test", ["fr"])] == ["fr"]
    later = dataset.rows[5].model_copy(update={"split": "val"})
    with_val = Dataset(dataset.path, [*dataset.rows, later])
    assert [pool.texts for pool in pools(with_val, protocol, protocol.split("val"))] == [
        ["one of 5"],
        ["une de 5"],
    ]
    with pytest.raises(UserError, match="no parallel sentences in ar in split test"):
        pools(dataset, protocol, "test", ["ar"])
    bare = Dataset(dataset.path, [row.model_copy(update={"parallel": {}}) for row in dataset.rows])
    with pytest.raises(UserError, match="no parallel sentences in any language in split test"):
        pools(bare, protocol, "test")


def test_captions_serve_where_there_are_no_translations(dataset: Dataset) -> None:
    bare = Dataset(dataset.path, [row.model_copy(update={"parallel": {}}) for row in dataset.rows])
    protocol = dataclasses.replace(PROTOCOLS["multi30k-task1"], images=12)
    assert pools(bare, protocol, "test", ["ar"])[0].texts[3] == "صورة 3"
    with pytest.raises(UserError, match=r"needs 1 caption per image, found 2 of 0\.png in en"):
        pools(bare, protocol, "test", ["en"])


def test_the_first_captions_are_kept(dataset: Dataset) -> None:
    one = EvaluationProtocol(name="one", summary="", most=1, captions=1)
    found = pools(dataset, one, "test", ["de"])[0]
    assert found.texts == [f"Bild 0 von {number}" for number in range(2, 12)]
    two = EvaluationProtocol(name="two", summary="", most=2, captions=2)
    with pytest.raises(UserError, match=r"needs 2 captions per image, found 1 of 2\.png in de"):
        pools(dataset, two, "test", ["de"])


@pytest.mark.parametrize("name", ["flickr-1k", "coco-5k", "coco-1k-5fold", "multi30k-task2"])
def test_another_number_of_images_does_not_fit(dataset: Dataset, name: str) -> None:
    needed = PROTOCOLS[name].images
    with pytest.raises(
        UserError, match=f"protocol {name} needs {needed} images with captions, found 12 in en"
    ):
        pools(dataset, PROTOCOLS[name], "test", ["en"])


def test_languages_are_sought_where_the_protocol_looks(dataset: Dataset) -> None:
    assert languages_in(dataset, find_protocol("all"), "test") == ["en", "ar", "de"]
    assert languages_in(dataset, find_protocol("multi30k-task1"), "test") == ["en", "fr"]
    assert languages_in(dataset, find_protocol("flickr8k-ml"), "test") == ["en", "de", "ar"]
    bare = Dataset(dataset.path, [row.model_copy(update={"captions": {}}) for row in dataset.rows])
    assert languages_in(bare, find_protocol("multi30k-task1"), "test") == ["en", "fr"]


def test_folds_must_be_equal(dataset: Dataset) -> None:
    five = EvaluationProtocol(name="five", summary="", folds=5)
    with pytest.raises(UserError, match="needs 5 folds of equal size, found 12 images in en"):
        pools(dataset, five, "test", ["en"])


def test_a_language_a_split_may_lack_is_left_out_and_another_is_missed(dataset: Dataset) -> None:
    some = EvaluationProtocol(name="some", summary="", languages=("en", "ug", "ar"), optional=("ug",))
    assert [pool.lang for pool in pools(dataset, some, "test")] == ["en", "ar"]
    with pytest.raises(UserError, match=r"no captions in ug in split test, .* the split has: ar, de, en"):
        pools(dataset, some, "test", ["en", "ug"])
    with pytest.raises(UserError, match="protocol some has no language de; it has: ar, en, ug"):
        pools(dataset, some, "test", ["de"])
    strict = dataclasses.replace(some, optional=())
    with pytest.raises(UserError, match="no captions in ug"):
        pools(dataset, strict, "test")


def test_an_empty_split_is_rejected(dataset: Dataset) -> None:
    with pytest.raises(UserError, match="split val"):
        pools(dataset, find_protocol("all"), "val")


def test_split_is_the_usual_one_or_one_of_the_protocol() -> None:
    assert find_protocol("all").split(None) == "test"
    assert find_protocol("flickr8k-ml").split("val") == "val"
    with pytest.raises(UserError, match="flickr-1k is not measured on split 'val'; choose one of: test"):
        find_protocol("flickr-1k").split("val")


def test_unknown_protocol_lists_the_choices() -> None:
    with pytest.raises(UserError, match=r"unknown protocol 'flickr'; choose one of: all, coco-1k-5fold"):
        find_protocol("flickr")


def test_registered_protocols_are_sound() -> None:
    for name, protocol in PROTOCOLS.items():
        assert protocol.name == name
        assert protocol.summary
        assert set(protocol.splits) <= set(SPLITS)
        assert (protocol.images or 0) % protocol.folds == 0
        assert set(protocol.optional) <= set(protocol.languages)
        assert not set(protocol.human) & set(protocol.optional)


def test_captions_out_of_order_keep_their_images(dataset: Dataset) -> None:
    backwards = Dataset(dataset.path, list(reversed(dataset.rows)))
    found = pools(backwards, find_protocol("all"), "test", ["de"])[0]
    assert found.images[0] == "11.png"
    assert (np.diff(found.image_of) >= 0).all()
    assert [found.images[image] for image in found.image_of][-1] == "2.png"


def test_every_protocol_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "guide" / "evaluation.md").read_text(encoding="utf-8")
    for name in PROTOCOLS:
        assert f"| `{name}` |" in page

"""The words that a model knows: collected from a dataset, stored in its folder."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from lingvis.data.dataset import Dataset
from lingvis.data.rows import Row
from lingvis.errors import UserError
from lingvis.model.folder import KNOWN_WORDS
from lingvis.pretrained import find_model
from lingvis.relevance.known_words import KnownWords


@pytest.fixture(scope="module")
def shipped() -> KnownWords:
    known = KnownWords.read(find_model())
    assert known is not None
    return known


def test_words_are_those_of_training_sentences_and_of_class_names(tmp_path: Path) -> None:
    rows = [
        Row(
            image="a.jpg",
            split="train",
            captions={"en": ("A Blorp sleeps", "one blorp"), "nl": ("een blorp",)},
        ),
        Row(image="b.jpg", split="val", captions={"en": ("a snark", "a snark")}),
    ]
    known = KnownWords.of_dataset(Dataset(tmp_path, rows), ["en", "de"])
    assert known.unknown("BLORP, snark and sleeps; a goldfish!", "en") == ["snark", "sleeps", "a"]
    assert known.languages == ["en", "de"]  # German from the names of classes alone
    assert known.count("ein Goldfisch", "de") == 1 and known.count("ein Goldfisch", "en") == 0


def test_an_inflected_form_is_known() -> None:
    known = KnownWords({"en": ["elephant", "car"]})
    assert known.unknown("elephants elephantine cars", "en") == ["elephantine", "cars"]


def test_the_file_is_the_same_each_time_and_read_back(tmp_path: Path) -> None:
    known = KnownWords({"en": ["dog", "cat"], "zh": ["狗"]})
    known.write(tmp_path)
    first = (tmp_path / KNOWN_WORDS).read_bytes()
    KnownWords({"en": ["cat", "dog"], "zh": ["狗"]}).write(tmp_path)
    assert (tmp_path / KNOWN_WORDS).read_bytes() == first
    assert json.loads(gzip.decompress(first)) == {"en": "cat dog", "zh": "狗"}
    again = KnownWords.read(tmp_path)
    assert again is not None and len(again) == 3 and again.unknown("狗 dog wolf", "en") == ["wolf"]


@pytest.mark.parametrize(
    "content", [b"", b"no gzip", gzip.compress(b"[1]", mtime=0), gzip.compress(b'{"en": 3}', mtime=0)]
)
def test_a_damaged_file_is_one_sentence(tmp_path: Path, content: bytes) -> None:
    (tmp_path / KNOWN_WORDS).write_bytes(content)
    with pytest.raises(UserError, match=r"known-words\.json\.gz is damaged"):
        KnownWords.read(tmp_path)


def test_older_model_folders_have_none(tmp_path: Path) -> None:
    assert KnownWords.read(tmp_path) is None


def test_the_shipped_model_knows_common_words(shipped: KnownWords) -> None:
    assert shipped.languages == ["en", "de", "fr", "cs", "pt", "zh", "ar", "ug", "bo", "mn"]
    for text, lang in (("two dogs play in the snow", "en"), ("ein Hund am Strand", "de"), ("小狗", "zh")):
        assert shipped.unknown(text, lang) == []
    assert shipped.unknown("the flibbertigibbet of an elephant", "en") == ["flibbertigibbet"]

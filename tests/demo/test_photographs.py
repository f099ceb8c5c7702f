"""The photographs that ship: every file has an attribution and a licence that allows it, and the page shows both."""

from __future__ import annotations

import json
import re
from pathlib import Path

from PIL import Image

from lingvis.demo.photographs import ATTRIBUTION, QUERIES, SHIPPED, attributions, gather_photographs
from lingvis.files import checksum
from lingvis.pretrained import find_model

MOST_BYTES, MOST_PIXELS = 4_000_000, 640
LICENCE = re.compile(r"Public domain( \(US Government work\))?|CC0 1\.0|CC BY(-SA)? [1-4]\.0")
NOTICE = Path(__file__).parents[2] / "NOTICE"


def test_every_photograph_is_attributed() -> None:
    photos = attributions()
    files = {file.name for file in SHIPPED.iterdir()} - {ATTRIBUTION}
    assert files == {photo.file for photo in photos} and 100 <= len(photos) <= 200
    for photo in photos:
        assert LICENCE.fullmatch(photo.licence), photo
        assert (
            photo.title and photo.author and photo.statement and photo.source and photo.path and photo.changes
        )
        assert photo.licence_url.startswith("https://") and photo.page.startswith("http")
        assert checksum(SHIPPED / photo.file) == photo.sha256


def test_they_are_small_and_without_metadata() -> None:
    assert sum(file.stat().st_size for file in SHIPPED.iterdir()) < MOST_BYTES
    for photo in attributions():
        with Image.open(SHIPPED / photo.file) as picture:
            assert picture.format == "JPEG" and max(picture.size) <= MOST_PIXELS and not picture.getexif()


def test_notice_credits_every_photograph_that_requires_it() -> None:
    notice = NOTICE.read_text(encoding="utf-8")
    required = [photo for photo in attributions() if photo.licence.startswith("CC BY")]
    assert required
    for photo in required:
        assert all(part in notice for part in (photo.file, photo.author, photo.licence, photo.page)), (
            photo.file
        )
        assert photo.licence_url in notice


def test_captions_are_credits(tmp_path: Path) -> None:
    gather_photographs(tmp_path / "photographs")
    for photo in attributions():
        caption = (tmp_path / "photographs" / photo.file).with_suffix(".en.txt").read_text(encoding="utf-8")
        assert all(part in caption for part in (photo.title, photo.author, photo.licence_url, photo.page))
        assert len(caption) < 2000 and "changes: " in caption
    assert (tmp_path / "photographs" / ATTRIBUTION).is_file()


def test_there_is_a_query_in_every_language_of_the_model() -> None:
    config = json.loads((find_model() / "config.json").read_text(encoding="utf-8"))
    assert sorted(lang for lang, _ in QUERIES) == sorted(config["languages"])

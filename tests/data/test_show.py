from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from lingvis.data import fonts
from lingvis.data.dataset import Dataset
from lingvis.data.rows import Row, Translation
from lingvis.data.sheet import TILE, contact_sheet
from lingvis.data.show import describe, to_text
from lingvis.errors import UserError


def words(text: str, lang: str) -> list[str]:
    return list(text) if lang == "zh" else text.lower().split()


def make_dataset(path: Path) -> Dataset:
    rows = [
        Row(image="a.jpg", split="train", captions={"en": ("A dog", "a DOG runs"), "zh": ("狗狗",)}),
        Row(
            image="b.jpg",
            split="train",
            captions={"en": ("A cat",)},
            parallel={"en": "A cat", "fr": "Un chat"},
            translated={"es": {"en": Translation(translator="apertium", captions=("Un gato", "Gato"))}},
        ),
        Row(image="c.jpg", split="test", captions={"zh": ("猫", "小猫"), "ar": ("قطة صغيرة",), "en": ()}),
    ]
    (path / "images").mkdir()
    for row, colour in zip(rows, ["#ff0000", "#00ff00", "#0000ff"], strict=True):
        Image.new("RGB", (900, 600), colour).save(path / "images" / row.image)
    return Dataset(path, rows)


def test_describe_counts_what_is_there(tmp_path: Path) -> None:
    description = describe(make_dataset(tmp_path), words).as_json()
    assert description == {
        "dataset": str(tmp_path),
        "images": {"train": 2, "val": 0, "test": 1, "total": 3},
        "languages": {
            "en": {
                "train": {
                    "images": 2,
                    "captions": 3,
                    "words": {"mean": 7 / 3, "min": 2, "max": 3},
                    "characters": {"mean": 20 / 3, "min": 5, "max": 10},
                    "vocabulary": 4,  # a, dog, runs, cat
                }
            },
            "zh": {
                "train": {
                    "images": 1,
                    "captions": 1,
                    "words": {"mean": 2.0, "min": 2, "max": 2},
                    "characters": {"mean": 2.0, "min": 2, "max": 2},
                    "vocabulary": 1,
                },
                "test": {
                    "images": 1,
                    "captions": 2,
                    "words": {"mean": 1.5, "min": 1, "max": 2},
                    "characters": {"mean": 1.5, "min": 1, "max": 2},
                    "vocabulary": 2,
                },
            },
            "ar": {
                "test": {
                    "images": 1,
                    "captions": 1,
                    "words": {"mean": 2.0, "min": 2, "max": 2},
                    "characters": {"mean": 9.0, "min": 9, "max": 9},
                    "vocabulary": 2,
                }
            },
        },
        "parallel": {"en": {"train": 1}, "fr": {"train": 1}},
        "translated": {"es": {"train": 2}},
    }
    assert json.loads(json.dumps(description)) == description


def test_the_table_has_a_line_for_each_language_and_split(tmp_path: Path) -> None:
    lines = to_text(describe(make_dataset(tmp_path), words)).splitlines()
    assert lines[0].endswith("3 images (train 2, val 0, test 1)")
    cells = [line.split() for line in lines[3:8]]
    assert [line[:2] for line in cells] == [
        ["en", "train"],
        ["zh", "train"],
        ["zh", "test"],
        ["ar", "test"],
        ["fr", "train"],
    ]
    assert cells[0][2:] == ["2", "3", "2.3", "(2", "to", "3)", "6.7", "(5", "to", "10)", "4", "1"]
    assert cells[4][2:] == ["1"]


def tiles(path: Path, *, columns: int, bands: int) -> list[tuple[int, int, int]]:
    """Colours in the middle of the tiles of the first row of each band, found by their size alone."""
    with Image.open(path) as opened:
        pixels = np.asarray(opened.convert("RGB")).astype(int)
    assert pixels.shape[1] == 18 + columns * (TILE + 18)
    found: list[tuple[int, int, int]] = []
    middle = 18 + TILE // 2
    for line in pixels[:, middle]:
        colour = (int(line[0]), int(line[1]), int(line[2]))
        if max(colour) > 200 and min(colour) < 60 and (not found or found[-1] != colour):
            found.append(colour)
    return found[:bands]


def near(colour: tuple[int, int, int], expected: tuple[int, int, int]) -> bool:
    return max(abs(one - other) for one, other in zip(colour, expected, strict=True)) < 12


def test_the_sheet_shows_the_pictures_of_each_split(tmp_path: Path) -> None:
    dataset = make_dataset(tmp_path)
    contact_sheet(dataset, tmp_path / "sheet.png", columns=2)
    first, second = tiles(tmp_path / "sheet.png", columns=2, bands=2)
    assert near(first, (254, 0, 0))
    assert near(second, (0, 0, 254))
    again = tmp_path / "again.png"
    contact_sheet(dataset, again, columns=2)
    assert again.read_bytes() == (tmp_path / "sheet.png").read_bytes()


def test_a_broken_picture_is_a_marked_tile_among_good_ones(tmp_path: Path) -> None:
    dataset = make_dataset(tmp_path)
    file = tmp_path / "images" / "a.jpg"
    whole = file.read_bytes()
    sheets = {}
    for name, content in {
        "whole": whole,
        "cut": whole[: len(whole) // 3],
        "text": b"no picture",
        "empty": b"",
    }.items():
        file.write_bytes(content)
        contact_sheet(dataset, tmp_path / f"{name}.png", columns=2)
        with Image.open(tmp_path / f"{name}.png") as opened:
            sheets[name] = np.asarray(opened.convert("RGB")).astype(int)
    assert (sheets["cut"] == sheets["text"]).all()
    assert (sheets["text"] == sheets["empty"]).all()
    differs = (sheets["whole"] != sheets["text"]).any(axis=2)
    rows, columns = np.nonzero(differs)
    assert differs.mean() > 0.02
    # Nothing but the tile itself changed.
    assert rows.max() - rows.min() < TILE
    assert columns.max() < 18 + TILE


def test_scripts_without_a_font_get_a_note_and_no_crash(tmp_path: Path) -> None:
    unknown = "\U0001e2c0\U0001e2c1\U0001e2c2 \U000f0000\U000f0001"  # Wancho and private use
    row = Row(
        image="a.jpg", split="val", captions={"en": ("$x_1$ \\frac " + "long " * 60, "b"), "nnp": (unknown,)}
    )
    (tmp_path / "images").mkdir()
    Image.new("L", (20, 3000)).save(tmp_path / "images" / "a.jpg")
    contact_sheet(Dataset(tmp_path, [row]), tmp_path / "sheet.png", rows=1, columns=1)
    with Image.open(tmp_path / "sheet.png") as opened:
        assert opened.format == "PNG"
        # Three lines of the long caption and one note, not sixty words.
        assert opened.height < 2 * TILE


def test_fonts_cover_what_they_claim() -> None:
    for text in ("A dog", "собака", "σκύλος", "كلب"):
        assert fonts.covering(text) == fonts.default()
    assert fonts.covering("\U000f0000\U000f0001") is None


def test_languages_take_turns(tmp_path: Path) -> None:
    langs = ["en", "de", "fr", "es"]
    captions: dict[str, tuple[str, ...]] = {lang: (f"caption in {lang}",) for lang in langs}
    rows = [Row(image=f"{number}.png", split="train", captions=captions) for number in range(2)]
    (tmp_path / "images").mkdir()
    for row in rows:
        Image.new("RGB", (10, 10), "white").save(tmp_path / "images" / row.image)
    dataset = Dataset(tmp_path, rows)
    contact_sheet(dataset, tmp_path / "turns.png", rows=1, columns=2, captions=2)
    contact_sheet(dataset, tmp_path / "same.png", rows=1, columns=2, captions=2, languages=["en", "de"])
    halves = {}
    for name in ("turns", "same"):
        with Image.open(tmp_path / f"{name}.png") as opened:
            pixels = np.asarray(opened.convert("L"))
        halves[name] = (pixels[60 + TILE :, 18 : 18 + TILE], pixels[60 + TILE :, 36 + TILE : 36 + 2 * TILE])
    assert (halves["turns"][0] == halves["same"][0]).all()
    assert (halves["same"][0] == halves["same"][1]).all()
    assert (halves["turns"][0] != halves["turns"][1]).any()


def test_the_sheet_refuses_what_it_cannot_show(tmp_path: Path) -> None:
    dataset = make_dataset(tmp_path)
    with pytest.raises(UserError, match="no captions in fr; it has: en, zh, ar"):
        contact_sheet(dataset, tmp_path / "s.png", languages=["fr"])
    with pytest.raises(UserError, match="no pictures to show"):
        contact_sheet(Dataset(tmp_path / "features-only", dataset.rows), tmp_path / "s.png")
    assert not (tmp_path / "s.png").exists()

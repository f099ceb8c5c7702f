"""Pseudo captions and the tables that translate labels."""

from __future__ import annotations

from pathlib import Path

import pytest

from lingvis.data.dataset import Dataset, write_rows
from lingvis.data.rows import Region, Row
from lingvis.errors import UserError
from lingvis.pseudo import pseudo_caption, pseudo_captions, read_label_table, table_file, write_label_table
from lingvis.pseudo.label_tables import translate_labels

BOX = (0.0, 0.0, 1.0, 1.0)


def region(label: str | None, score: float | None, attribute: str | None = None) -> Region:
    return Region(box=BOX, label=label, attribute=attribute, score=score)


REGIONS = (
    region("dog", 0.4),
    region("car", 0.9, "blue"),
    region(None, 0.95),
    region("traffic light", 0.7, "red"),
    region("dog", 0.4, "brown"),
    region("man", None, "young"),
)


def test_regions_by_confidence_attribute_before_class() -> None:
    assert pseudo_caption(REGIONS) == "young man blue car red traffic light dog brown dog"
    assert pseudo_caption(REGIONS, min_score=0.5) == "young man blue car red traffic light"
    assert pseudo_caption(()) == ""


@pytest.mark.parametrize(
    ("most", "caption"),
    [
        (0, ""),
        (1, ""),
        (2, "young man"),
        (6, "young man blue car"),
        (7, "young man blue car red traffic light"),
    ],
)
def test_no_region_is_cut_in_two(most: int, caption: str) -> None:
    assert pseudo_caption(REGIONS, max_words=most) == caption


def test_what_has_no_translation_is_left_out() -> None:
    table = {"dog": "Hund", "car": "Auto", "blue": "", "traffic light": "rote Ampel", "red": "rot", "man": ""}
    assert pseudo_caption(REGIONS, translations=table) == "Auto rot rote Ampel Hund Hund"


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    (tmp_path / "images").mkdir()
    rows = []
    for number, regions in enumerate([REGIONS, (), (region("kite", 0.5),)]):
        (tmp_path / "images" / f"{number}.jpg").touch()
        captions = {
            "en": ("A dog.",),
            "de": ("Ein Hund an der Ampel.", "Der Wagen, ein Hund."),
            "fr": ("Un chien.",),
        }
        rows.append(Row(image=f"{number}.jpg", split="train", captions=captions, regions=regions))
    write_rows(tmp_path / "captions.jsonl", rows)
    return Dataset.open(tmp_path)


def test_captions_in_every_language_that_has_a_table(dataset: Dataset) -> None:
    with pytest.raises(UserError, match=r"no labels in de: .*de\.csv.*lingvis features labels .*--lang de"):
        pseudo_captions(dataset)
    write_label_table(table_file(dataset, "de"), {"dog": "Hund", "car": "Auto", "man": "Mann"})
    write_label_table(table_file(dataset, "fr"), {"kite": "cerf-volant"})
    captions = pseudo_captions(dataset)
    assert captions == {
        "en": {"0.jpg": pseudo_caption(REGIONS), "2.jpg": "kite"},
        "de": {"0.jpg": "Mann Auto Hund Hund"},
        "fr": {"2.jpg": "cerf-volant"},
    }
    assert pseudo_captions(dataset, ["en"], max_words=4)["en"] == {
        "0.jpg": "young man blue car",
        "2.jpg": "kite",
    }


def test_no_labels_at_all(dataset: Dataset) -> None:
    rows = [row.model_copy(update={"regions": ()}) for row in dataset.rows]
    write_rows(dataset.path / "captions.jsonl", rows)
    for ask in (pseudo_captions, translate_labels):
        with pytest.raises(
            UserError, match="has no regions with labels; make them with: lingvis features detect"
        ):
            ask(Dataset.open(dataset.path))


def test_tables_are_made_from_dictionaries_and_keep_what_a_user_wrote(
    dataset: Dataset, tmp_path: Path
) -> None:
    dictionary = tmp_path / "en-de.txt"
    dictionary.write_text("dog\tköter\ndog\thund\ncar\tauto\ncar\twagen\nblue\tblau\ntraffic light\tampel\n")
    write_label_table(table_file(dataset, "de"), {"man": "Kerl", "old": "alt", "dog": ""})
    german, french = translate_labels(dataset, dictionaries=[f"de={dictionary}"])
    # Of several translations the one that captions use.
    table = read_label_table(table_file(dataset, "de"))
    expected = {
        "dog": "hund",
        "car": "wagen",
        "traffic light": "ampel",
        "blue": "blau",
        "man": "Kerl",
        "old": "alt",
    }
    assert {label: word for label, word in table.items() if word} == expected
    assert next(iter(table)) == "dog"  # the most frequent
    assert (german.lang, german.labels, german.missing) == ("de", 9, ["red", "brown", "young", "kite"])
    assert german.covered == pytest.approx(6 / 10)
    assert (french.lang, french.covered, len(french.missing)) == ("fr", 0.0, 9)
    assert set(read_label_table(table_file(dataset, "fr")).values()) == {""}
    before = table_file(dataset, "de").stat().st_mtime_ns
    translate_labels(dataset, dictionaries=[f"de={dictionary}"], languages=["de"])
    assert table_file(dataset, "de").stat().st_mtime_ns == before


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("de", "names no language or no file; write it as de=FILE"),
        ("es=x.txt", "a dictionary for es, but the languages are de, fr"),
    ],
)
def test_bad_dictionaries(dataset: Dataset, given: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        translate_labels(dataset, dictionaries=[given])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "start with ''"),
        ("dog,Hund\n", "the first line must be label,translation"),
        ("label,translation\ndog\n", "row 2: 'dog'"),
        ("label,translation\ndog,Hund\ndog,Köter\n", "row 3: .*repeats a label"),
    ],
)
def test_bad_tables(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "de.csv"
    file.write_text(text)
    with pytest.raises(UserError, match=message):
        read_label_table(file)


def test_tables_survive_commas_and_other_scripts(tmp_path: Path) -> None:
    table = {"a, b": "狗", "dog": "كلب", "x": ""}
    write_label_table(tmp_path / "labels" / "zh.csv", table)
    assert read_label_table(tmp_path / "labels" / "zh.csv") == table

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from lingvis.data.dataset import PROBLEMS_SHOWN, Dataset, read_rows, write_rows
from lingvis.data.rows import Row, TextRow, Translation
from lingvis.errors import UserError

GOOD = b'{"image": "a.jpg", "split": "train", "captions": {"en": ["A dog."]}}\n'


def make(
    path: Path, content: bytes, *, images: tuple[str, ...] = ("a.jpg", "b.jpg"), name: str = "captions.jsonl"
) -> Path:
    for image in images:
        file = path / "images" / image
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"")
    (path / name).write_bytes(content)
    return path


def message(path: Path) -> str:
    with pytest.raises(UserError) as caught:
        Dataset.open(path)
    return str(caught.value)


def test_all_problems_of_a_file_are_reported_at_once_by_line(tmp_path: Path) -> None:
    lines = [
        GOOD.strip(),
        b'{"image": "b.jpg", "split": "train", "captions": ',
        b'{"image": "b.jpg", "split": "dev", "captions": {"en": ["x"]}}',
        b"",
        b'{"image": "a.jpg", "split": "train", "captions": {"en": ["x"]}}',
        b'{"image": "c.jpg", "split": "train", "captions": {"en": ["x"]}}',
        b'{"image": "d.jpg", "split": "x", "captions": {"en": "x", "E": [""]}}',
        b'{"image": "b.jpg", "split": "val", "captions": {"de": ["K\xe4se"]}}',
        b'"a.jpg"',
    ]
    text = message(make(tmp_path, b"\n".join(lines)))
    found = [line.strip() for line in text.splitlines()[1:]]
    expected = [
        "line 2: bad JSON",
        "line 3: unknown split 'dev'",
        "line 5: image 'a.jpg' is already on line 1",
        "line 6: image 'c.jpg' is missing from images/",
        "line 7: unknown split 'x'",
        "line 7: captions.en: input should be a valid array",
        "line 7: captions.E: bad language code 'E'",
        "line 7: captions.E.0: empty caption",
        "line 7: image 'd.jpg' is missing from images/",
        "line 8: not UTF-8 at byte ",
        "line 9: expected an object",
    ]
    assert "captions.jsonl has 11 problems" in text
    assert len(found) == len(expected)
    for line in expected:
        assert any(actual.startswith(line) for actual in found), (line, found)
    numbers = [int(line.split()[1].rstrip(":")) for line in found]
    assert sorted(numbers) == [2, 3, 5, 6, 7, 7, 7, 7, 7, 8, 9]


def test_a_long_list_of_problems_is_cut_but_counted(tmp_path: Path) -> None:
    text = message(make(tmp_path, b"{\n" * 50))
    assert "50 problems" in text
    assert text.count("bad JSON") == PROBLEMS_SHOWN
    assert f"and {50 - PROBLEMS_SHOWN} more" in text


def test_an_open_dataset_is_not_read_again(tmp_path: Path) -> None:
    dataset = Dataset.open(make(tmp_path, GOOD))
    assert Dataset.open(dataset) is dataset


def test_one_problem_is_not_plural(tmp_path: Path) -> None:
    assert "has 1 problem;" in message(make(tmp_path, b"{"))


@pytest.mark.parametrize("prefix", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
def test_byte_order_mark_and_windows_line_ends_are_fine(tmp_path: Path, prefix: bytes, ending: bytes) -> None:
    dataset = Dataset.open(make(tmp_path, prefix + GOOD.replace(b"\n", ending)))
    assert [row.image for row in dataset.rows] == ["a.jpg"]
    assert dataset.rows[0].captions == {"en": ("A dog.",)}


def test_a_line_separator_inside_a_caption_ends_no_line(tmp_path: Path) -> None:
    row = Row(image="a.jpg", split="train", captions={"en": ("one\u2028two\x85three",)})
    make(tmp_path, b"")
    write_rows(tmp_path / "captions.jsonl", [row])
    assert Dataset.open(tmp_path).rows == [row]


def test_compressed_captions(tmp_path: Path) -> None:
    dataset = Dataset.open(make(tmp_path, gzip.compress(GOOD), name="captions.jsonl.gz"))
    assert len(dataset.rows) == 1


@pytest.mark.parametrize("damage", ["truncated", "flipped", "block type", "plain"])
def test_damaged_gzip_is_one_sentence(tmp_path: Path, damage: str) -> None:
    packed = bytearray(gzip.compress(GOOD * 200))
    if damage == "truncated":
        packed = packed[: len(packed) // 2]
    elif damage == "flipped":
        packed[len(packed) // 2] ^= 0xFF
    elif damage == "block type":
        packed[10] |= 0b110  # the first deflate block gets the reserved type
    else:
        packed = bytearray(GOOD)
    text = message(make(tmp_path, bytes(packed), name="captions.jsonl.gz"))
    assert "captions.jsonl.gz cannot be read" in text
    assert "\n" not in text


def test_both_files_none_and_empty_are_refused(tmp_path: Path) -> None:
    make(tmp_path, GOOD)
    (tmp_path / "captions.jsonl.gz").write_bytes(gzip.compress(GOOD))
    assert "has both captions.jsonl and captions.jsonl.gz" in message(tmp_path)
    (tmp_path / "captions.jsonl.gz").unlink()
    (tmp_path / "captions.jsonl").unlink()
    assert "name a dataset folder" in message(tmp_path)
    assert "is empty" in message(make(tmp_path, b"\n\n"))
    assert "no dataset folder at" in message(tmp_path / "nowhere")


def test_pictures_may_only_be_missing_when_there_are_features(tmp_path: Path) -> None:
    (tmp_path / "captions.jsonl").write_bytes(GOOD)
    assert "has no images/ folder" in message(tmp_path)
    (tmp_path / "features").mkdir()
    assert len(Dataset.open(tmp_path).rows) == 1


def test_pictures_in_subfolders_are_found(tmp_path: Path) -> None:
    row = GOOD.replace(b"a.jpg", b"x/y/a.jpg")
    assert Dataset.open(make(tmp_path, row, images=("x/y/a.jpg",))).rows[0].image == "x/y/a.jpg"


def some_rows() -> list[Row]:
    return [
        Row(
            image="a.jpg", split="train", captions={"en": ("a0", "a1"), "de": ("a2",)}, parallel={"fr": "ap"}
        ),
        Row(image="b.jpg", split="train", captions={"de": ("b0",)}),
        Row(image="c.jpg", split="val", captions={"en": ("c0",), "cs": ()}),
        Row(image="d.jpg", split="train", captions={"en": ("d0", "d1", "d2")}),
    ]


def test_captions_map_to_images_as_a_plain_loop_says(tmp_path: Path) -> None:
    dataset = Dataset(tmp_path, some_rows())
    for languages in (None, ["en"], ["de"], ["de", "en"]):
        captions = dataset.captions("train", languages)
        expected = [
            (row.image, lang, text)
            for row in dataset.rows
            if row.split == "train"
            for lang, texts in row.captions.items()
            if languages is None or lang in languages
            for text in texts
        ]
        got = zip(captions.image_of, captions.langs, captions.texts, strict=True)
        assert [(captions.images[image], lang, text) for image, lang, text in got] == expected
        assert captions.image_of.dtype == np.int64
        assert len(set(captions.images)) == len(captions.images) == len(set(captions.image_of.tolist()))
    assert dataset.captions("train", ["de"]).images == ["a.jpg", "b.jpg"]
    assert dataset.captions("train", source="parallel").texts == ["ap"]
    assert dataset.languages == ["en", "de"]


def test_machine_translations_are_apart_from_captions_until_asked_for(tmp_path: Path) -> None:
    rows = some_rows()
    made = {"en": Translation(translator="x", captions=("a2 in English",))}
    french = {lang: Translation(translator="x", captions=(f"de {lang}",)) for lang in ("en", "de")}
    rows[0] = rows[0].model_copy(update={"translated": {"de": made, "fr": french}})
    dataset = Dataset(tmp_path, rows)
    assert dataset.languages == ["en", "de"]
    assert "a2 in English" not in dataset.captions("train").texts
    translated = dataset.captions("train", source="translated")
    assert list(zip(translated.langs, translated.texts, strict=True)) == [
        ("de", "a2 in English"), ("fr", "de en"), ("fr", "de de"),
    ]  # fmt: skip
    with pytest.raises(UserError, match="no translated captions in en in split train; the split has: de, fr"):
        dataset.captions("train", ["en"], source="translated")
    whole = dataset.with_translations()
    assert whole.languages == ["en", "de", "fr"]
    assert whole.rows[0].captions == {
        "en": ("a0", "a1"), "de": ("a2", "a2 in English"), "fr": ("de en", "de de"),
    }  # fmt: skip
    some = dataset.with_translations(human=["en"])
    assert some.rows[0].captions["de"] == ("a2 in English",)
    assert (some.rows[1].captions, dataset.rows[1].captions) == ({}, {"de": ("b0",)})


def test_packed_rows_are_the_same_bytes_every_time(tmp_path: Path) -> None:
    for name in ("one.jsonl.gz", "two.jsonl.gz", "plain.jsonl"):
        write_rows(tmp_path / name, some_rows())
    assert (tmp_path / "one.jsonl.gz").read_bytes() == (tmp_path / "two.jsonl.gz").read_bytes()
    assert (
        gzip.decompress((tmp_path / "one.jsonl.gz").read_bytes()) == (tmp_path / "plain.jsonl").read_bytes()
    )


@pytest.mark.parametrize(
    ("split", "languages", "expected"),
    [
        ("dev", None, "unknown split 'dev'; choose one of: train, val, test"),
        ("train", ["en", "fr"], "no captions in fr in split train; the split has: de, en"),
        ("test", None, "no captions in any language in split test; the split has: none"),
    ],
)
def test_asking_for_what_is_not_there(
    tmp_path: Path, split: str, languages: list[str] | None, expected: str
) -> None:
    with pytest.raises(UserError, match=expected):
        Dataset(tmp_path, some_rows()).captions(split, languages)


def test_fingerprint_follows_the_content(tmp_path: Path) -> None:
    first = Dataset.open(make(tmp_path, GOOD)).fingerprint
    assert Dataset.open(tmp_path).fingerprint == first
    assert Dataset.open(make(tmp_path, GOOD.replace(b"dog", b"cat"))).fingerprint != first


SENTENCES = b'{"id": "t1", "captions": {"en": ["A zebra.", "Stripes"]}, "parallel": {"de": "Ein Zebra"}}'


@pytest.mark.parametrize("name", ["text-only.jsonl", "text-only.jsonl.gz"])
def test_sentences_without_pictures_are_read(name: str, tmp_path: Path) -> None:
    dataset = Dataset.open(make(tmp_path, GOOD))
    assert dataset.text_only_file is None
    assert dataset.text_only() == []
    content = SENTENCES + b'\n\n{"id": "t2"}\n'
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    assert dataset.text_only_file == tmp_path / name
    assert dataset.text_only() == [
        TextRow(id="t1", captions={"en": ("A zebra.", "Stripes")}, parallel={"de": "Ein Zebra"}),
        TextRow(id="t2"),
    ]
    assert dataset.languages == ["en"]  # they are no captions of the dataset


def test_bad_sentences_without_pictures_are_reported_by_line(tmp_path: Path) -> None:
    dataset = Dataset.open(make(tmp_path, GOOD))
    lines = [
        SENTENCES,
        b'{"id": "t1", "captions": {"en": ["again"]}}',
        b'{"captions": {"en": ["x"]}}',
        b"",
        b'{"id": "t3", "image": "a.jpg"}',
        b'{"id": "t4", "captions": {"E": ["x"], "en": " "}}',
        b'{"id": "t5", "captions": {"en": [""]}',
        b"[3]",
        b'{"id": "t6", "parallel": {"de": "K\xe4se"}}',
    ]
    (tmp_path / "text-only.jsonl").write_bytes(b"\n".join(lines))
    with pytest.raises(UserError) as caught:
        dataset.text_only()
    found = [line.strip() for line in str(caught.value).splitlines()[1:]]
    expected = [
        "line 2: id 't1' is already on line 1",
        "line 3: key 'id' is missing",
        "line 5: unknown key 'image'; allowed: id, captions, parallel",
        "line 6: captions.E: bad language code 'E'",
        "line 6: captions.en: input should be a valid array",
        "line 7: bad JSON: ",
        'line 8: expected an object like {"id": ...}, got list',
        "line 9: not UTF-8 at byte ",
    ]
    assert "text-only.jsonl has 8 problems" in str(caught.value)
    assert len(found) == len(expected)
    for line, start in zip(found, expected, strict=True):
        assert line.startswith(start)


def test_a_damaged_or_doubled_file_of_sentences_gets_a_sentence(tmp_path: Path) -> None:
    dataset = Dataset.open(make(tmp_path, GOOD))
    packed = gzip.compress(SENTENCES * 50)
    (tmp_path / "text-only.jsonl.gz").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(UserError, match=r"text-only\.jsonl\.gz cannot be read"):
        dataset.text_only()
    (tmp_path / "text-only.jsonl").write_bytes(SENTENCES)
    with pytest.raises(UserError, match=r"has both text-only\.jsonl and text-only\.jsonl\.gz"):
        dataset.text_only()


def test_written_rows_are_read_again(tmp_path: Path) -> None:
    write_rows(tmp_path / "captions.jsonl", some_rows())
    assert read_rows(tmp_path / "captions.jsonl", None) == (some_rows(), [])
    assert all(json.loads(line) for line in (tmp_path / "captions.jsonl").read_text().splitlines())

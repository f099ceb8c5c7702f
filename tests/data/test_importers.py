"""Each format from a tiny source of its real shape, and its malformed relatives."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from lingvis.data.importers import IMPORTERS, ImportedRows, ImportOptions, Source
from lingvis.data.importers.collect import split_by_hash
from lingvis.data.importers.folder import report_problems
from lingvis.data.importers.source import parse_language, split_within
from lingvis.errors import UserError


def read(format: str, source: Path, **options: Any) -> ImportedRows:
    imported = IMPORTERS.get(format)(Source(source), ImportOptions(**options))
    report_problems(source, imported.problems)
    return imported


def rows_of(imported: ImportedRows) -> dict[str, tuple[str, dict[str, tuple[str, ...]]]]:
    return {row.image: (row.split, row.captions) for row in imported.rows}


def put(path: Path, content: str | bytes | list[Any] | dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, (list, dict)):
        content = json.dumps(content, ensure_ascii=False)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def refused(format: str, source: Path, **options: Any) -> str:
    with pytest.raises(UserError) as caught:
        read(format, source, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# karpathy


def karpathy_image(name: str, split: str, *captions: str, **more: str) -> dict[str, Any]:
    return {
        "filename": name,
        "split": split,
        "sentences": [{"raw": text, "tokens": []} for text in captions],
        **more,
    }


def test_karpathy(tmp_path: Path) -> None:
    images = [
        karpathy_image("a.jpg", "train", "A  dog.\n", "A cat."),
        karpathy_image("b.jpg", "restval", "One.", filepath="val2014"),
        karpathy_image("c.jpg", "val", "Two.", "Three.", "Four.", ""),
        karpathy_image("d.jpg", "test", "Five."),
        karpathy_image("e.jpg", "test"),
    ]
    put(tmp_path / "dataset_coco.json", {"images": images, "dataset": "coco"})
    imported = read("karpathy", tmp_path)
    assert rows_of(imported) == {
        "a.jpg": ("train", {"en": ("A dog.", "A cat.")}),
        "val2014/b.jpg": ("train", {"en": ("One.",)}),
        "c.jpg": ("val", {"en": ("Two.", "Three.", "Four.")}),
        "d.jpg": ("test", {"en": ("Five.",)}),
    }
    assert imported.notes == ["empty captions left out: 1"]
    german = read("karpathy", tmp_path / "dataset_coco.json", language="de")
    assert {lang for row in german.rows for lang in row.captions} == {"de"}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("{", "is not JSON"),
        ("[]", "is not a Karpathy file"),
        ('{"images": [{"filename": "a.jpg"}]}', "KeyError('split')"),
        ('{"images": 3}', "is not a Karpathy file"),
        (
            '{"images": [{"filename": "a.jpg", "split": "dev2", "sentences": []}]}',
            "image 1: unknown split 'dev2'",
        ),
        (
            '{"images": [{"filename": "../a.jpg", "split": "val", "sentences": [{"raw": "x"}]}]}',
            "bad image name",
        ),
        ('{"images": []}', "no caption"),
        (b"\xff\xfe{", "is not UTF-8 at line 1"),
        pytest.param('{"images": [' + "1" * 5000 + "]}", "is not JSON", id="many digits"),
        (
            '{"images": [{"filename": "a.jpg", "split": "val", "sentences": [{"raw": "x"}, {"raw": "\\ud800"}]}]}',
            "dataset.json, image 1: the caption '\\ud800' cannot be written as UTF-8",
        ),
        (
            '{"images": [{"filename": "a.jpg", "split": "val", "sentences": [{"raw": null}]}]}',
            "dataset.json, image 1: the caption should be text, got NoneType",
        ),
        (
            '{"images": [{"filename": "\\udce9.jpg", "split": "val", "sentences": [{"raw": "x"}]}]}',
            "image 1: the filename '\\udce9.jpg' cannot be written as UTF-8",
        ),
        (
            '{"images": [{"filename": 3, "split": "val", "sentences": [{"raw": "x"}]}]}',
            "image 1: the filename should be text, got int",
        ),
        (
            '{"images": [{"filename": "a.jpg", "filepath": [1], "split": "val", "sentences": []}]}',
            "image 1: the filename should be text, got list",
        ),
        (
            '{"images": [{"filename": "a.jpg", "split": 3, "sentences": []}]}',
            "image 1: the split should be text, got int",
        ),
    ],
)
def test_karpathy_malformed(tmp_path: Path, content: str | bytes, expected: str) -> None:
    assert expected in refused("karpathy", put(tmp_path / "dataset.json", content))


def test_a_source_that_is_missing_or_ambiguous(tmp_path: Path) -> None:
    assert "no file or folder at" in refused("karpathy", tmp_path / "nowhere")
    assert "got none" in refused("karpathy", tmp_path)
    put(tmp_path / "dataset_a.json", "{}")
    put(tmp_path / "dataset_b.json", "{}")
    assert "got dataset_a.json, dataset_b.json; name the file" in refused("karpathy", tmp_path)


# multi30k


def task1(folder: Path, *, packed: bool = False) -> Path:
    texts = {
        "train.en": "A dog.\nA cat.\n",
        "train.de": "Ein Hund.\nEine Katze.\n",
        "train.fr": "Un chien.\nUn chat.\n",
        "val.en": "A sea.\n",
        "val.de": "Ein Meer.\n",
        "test_2016_flickr.en": "A car.\n",
        "test_2016_flickr.de": "Ein Auto.\n",
        "test_2017_flickr.en": "A bus.\n",
    }
    for name, text in texts.items():
        put(
            folder / "raw" / (name + (".gz" if packed else "")),
            gzip.compress(text.encode()) if packed else text,
        )
    put(folder / "image_splits" / "train.txt", "1.jpg#0\n2.jpg#3\n")
    put(folder / "image_splits" / "val.txt", "3.jpg\n")
    put(folder / "image_splits" / "test_2016_flickr.txt", "4.jpg\n")
    put(folder / "image_splits" / "test_2017_flickr.txt", "5.jpg\n")
    return folder


def task2(folder: Path) -> Path:
    for number in range(1, 4):
        for lang in ("en", "de"):
            put(folder / "raw" / f"train.{number}.{lang}", f"{lang}{number} one\n{lang}{number} two\n")
            put(folder / "raw" / f"test_2016.{number}.{lang}", f"{lang}{number} four\n")
    put(folder / "image_splits" / "train_images.txt", "1.jpg\n2.jpg\n")
    put(folder / "image_splits" / "test_2016_images.txt", "4.jpg\n")
    return folder


@pytest.mark.parametrize("packed", [True, False])
def test_multi30k_task_1_gives_captions_and_parallel(tmp_path: Path, packed: bool) -> None:
    imported = read("multi30k", task1(tmp_path, packed=packed))
    assert rows_of(imported) == {
        "1.jpg": ("train", {"de": ("Ein Hund.",), "en": ("A dog.",), "fr": ("Un chien.",)}),
        "2.jpg": ("train", {"de": ("Eine Katze.",), "en": ("A cat.",), "fr": ("Un chat.",)}),
        "3.jpg": ("val", {"de": ("Ein Meer.",), "en": ("A sea.",)}),
        "4.jpg": ("test", {"de": ("Ein Auto.",), "en": ("A car.",)}),
    }
    assert imported.rows[1].parallel == {"en": "A cat.", "de": "Eine Katze.", "fr": "Un chat."}


def test_multi30k_task_2_gives_independent_descriptions(tmp_path: Path) -> None:
    imported = read("multi30k", task2(tmp_path))
    one = {lang: tuple(f"{lang}{number} one" for number in (1, 2, 3)) for lang in ("de", "en")}
    assert rows_of(imported)["1.jpg"] == ("train", one)
    assert rows_of(imported)["4.jpg"][0] == "test"
    assert all(row.parallel == {} for row in imported.rows)


def test_multi30k_both_tasks_join_by_picture(tmp_path: Path) -> None:
    task1(tmp_path / "data" / "task1")
    task2(tmp_path / "data" / "task2")
    rows = {row.image: row for row in read("multi30k", tmp_path).rows}
    assert rows["1.jpg"].captions["en"] == ("en1 one", "en2 one", "en3 one")
    assert rows["1.jpg"].captions["fr"] == ("Un chien.",)
    assert rows["1.jpg"].parallel == {"en": "A dog.", "de": "Ein Hund.", "fr": "Un chien."}
    assert rows["3.jpg"].captions == {"en": ("A sea.",), "de": ("Ein Meer.",)}


def test_multi30k_flat_folder_and_a_picture_with_two_sentences(tmp_path: Path) -> None:
    put(tmp_path / "test_2017_mscoco.en", "One.\nTwo.\nThree.\n")
    put(tmp_path / "test_2017_mscoco.de", "Eins.\n\nDrei.\n")
    put(tmp_path / "image_splits" / "test_2017_mscoco.txt", "a.jpg#1\nb.jpg#2\na.jpg#3\n")
    imported = read("multi30k", tmp_path)
    assert rows_of(imported) == {
        "a.jpg": ("test", {"de": ("Eins.", "Drei."), "en": ("One.", "Three.")}),
        "b.jpg": ("test", {"en": ("Two.",)}),
    }
    assert [row.parallel for row in imported.rows] == [{"de": "Eins.", "en": "One."}, {}]


def test_multi30k_malformed(tmp_path: Path) -> None:
    assert "has no file like train.en" in refused("multi30k", tmp_path)
    put(tmp_path / "train.en", "One.\nTwo.\n")
    assert "no list of the pictures of train" in refused("multi30k", tmp_path)
    put(tmp_path / "image_splits" / "train.txt", "a.jpg\n")
    assert "has 2 lines for 1 images" in refused("multi30k", tmp_path)
    assert "is a file" in refused("multi30k", tmp_path / "train.en")
    put(tmp_path / "train.en", "One.\n")
    for year in (2017, 2018):
        put(tmp_path / f"test_{year}_flickr.en", "One.\n")
    assert "several test sets" in refused("multi30k", tmp_path)


def test_an_image_in_two_splits_is_refused(tmp_path: Path) -> None:
    for name in ("train", "val"):
        put(tmp_path / f"{name}.en", "One.\n")
        put(tmp_path / "image_splits" / f"{name}.txt", "a.jpg\n")
    text = refused("multi30k", tmp_path)
    assert "'a.jpg' is in split val here but in train in train, line 1" in text


# coco


def coco(*pairs: tuple[str, str], key: str = "caption") -> dict[str, Any]:
    names = list(dict.fromkeys(name for name, _ in pairs))
    return {
        "images": [{"id": 7 + place, "file_name": name} for place, name in enumerate(names)],
        # The order of annotations is not that of images, and counts differ.
        "annotations": [
            {"id": number, "image_id": 7 + names.index(name), key: text, "tokenized_caption": "x y"}
            for number, (name, text) in reversed(list(enumerate(pairs)))
        ],
    }


def test_coco_merges_languages_and_splits(tmp_path: Path) -> None:
    put(tmp_path / "captions_train2014.json", coco(("a.jpg", "A."), ("b.jpg", "B."), ("a.jpg", "AA.")))
    put(tmp_path / "captions_val2014.json", coco(("c.jpg", "C.")))
    put(tmp_path / "stair_captions_v1.2_train.json", coco(("b.jpg", "び。")))
    put(tmp_path / "stair_captions_v1.2_train_tokenized.json", coco(("b.jpg", "び 。")))
    put(tmp_path / "captions_val.de.json", coco(("c.jpg", "Ce.")))
    put(tmp_path / "instances_train2014.json", {"images": [], "annotations": [{"bbox": []}]})
    assert rows_of(read("coco", tmp_path)) == {
        "a.jpg": ("train", {"en": ("AA.", "A.")}),
        "b.jpg": ("train", {"en": ("B.",), "ja": ("び。",)}),
        "c.jpg": ("val", {"de": ("Ce.",), "en": ("C.",)}),
    }


def test_coco_cn_lines_with_split_lists(tmp_path: Path) -> None:
    lines = "COCO_val2014_000000000042#0\t一只 狗。\nCOCO_val2014_000000000042#1\t狗#2\nCOCO_train2014_000000000001#0\t猫\n"
    put(tmp_path / "imageid.human-written-caption.txt", lines)
    put(tmp_path / "imageid.human-written-caption.bosonseg.txt", lines.replace("狗", "狗 "))
    put(tmp_path / "coco-cn_train.txt", "COCO_val2014_000000000042\n")
    put(tmp_path / "coco-cn_test.txt", "COCO_train2014_000000000001\n")
    put(tmp_path / "coco-cn_readme_test.txt", "these are notes on the test\n")
    assert rows_of(read("coco", tmp_path)) == {
        "COCO_val2014_000000000042.jpg": ("train", {"zh": ("一只 狗。", "狗#2")}),
        "COCO_train2014_000000000001.jpg": ("test", {"zh": ("猫",)}),
    }


def test_coco_language_and_split_from_options_or_names(tmp_path: Path) -> None:
    file = put(tmp_path / "yjcaptions26k_clean.json", coco(("COCO_train2014_1.jpg", "いぬ")))
    assert rows_of(read("coco", file)) == {"COCO_train2014_1.jpg": ("train", {"ja": ("いぬ",)})}
    assert rows_of(read("coco", file, split="test"))["COCO_train2014_1.jpg"][0] == "test"
    file = put(tmp_path / "vi" / "captions_train2017.json", coco(("1.jpg", "Con chó")))
    assert rows_of(read("coco", file, language="vi")) == {"1.jpg": ("train", {"vi": ("Con chó",)})}
    file = put(tmp_path / "flickr8kcn.txt", "1_2.jpg#zhc#0 狗\n")
    assert rows_of(read("coco", file, language="zh", split="val")) == {"1_2.jpg": ("val", {"zh": ("狗",)})}


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("captions_train2014.json", {"images": []}, "is not a COCO captions file"),
        ("captions_train2014.json", coco(("a.jpg", "A."), key="text"), "KeyError('caption')"),
        (
            "captions_train2014.json",
            {"images": [], "annotations": [{"image_id": 3, "caption": "x"}]},
            "image_id 3",
        ),
        ("captions_train2014.json", "{}", "is not a COCO captions file"),
        ("my_train.json", coco(("a.jpg", "A.")), "does not state its language; set language"),
        (
            "captions.en.json",
            coco(("a.jpg", "A.")),
            "does not state the split of image 'a.jpg'; set split",
        ),
        ("caption_train.zh.txt", "a.jpg 狗\n", "line 1: expected 'image#number caption'"),
        (
            "captions_train2014.json",
            '{"images": [{"id": 3, "file_name": "a.jpg"}], "annotations": [{"image_id": 3, "caption": null}]}',
            "captions_train2014.json, annotation 1: the caption should be text, got NoneType",
        ),
        (
            "captions.en.json",
            {"images": [{"id": 3, "file_name": 42}], "annotations": [{"image_id": 3, "caption": "x"}]},
            "captions.en.json, image 1: the file_name should be text, got int",
        ),
        (
            "captions.en.json",
            {"images": [{"id": 3, "file_name": ["a"]}], "annotations": [{"image_id": 3, "caption": "x"}]},
            "captions.en.json, image 1: the file_name should be text, got list",
        ),
        (
            "captions_train2014.json",
            '{"images": [{"id": 3, "file_name": "a.jpg"}], "annotations": [{"image_id": 3, "caption": "\\udfff"}]}',
            "captions_train2014.json, annotation 1: the caption '\\udfff' cannot be written as UTF-8",
        ),
    ],
)
def test_coco_malformed(tmp_path: Path, name: str, content: str | dict[str, Any], expected: str) -> None:
    assert expected in refused("coco", put(tmp_path / name, content))


def test_coco_folder_without_captions(tmp_path: Path) -> None:
    assert "has no file *caption*.json" in refused("coco", tmp_path)


# xtd10


def test_xtd10(tmp_path: Path) -> None:
    put(tmp_path / "XTD10" / "test_image_names.txt", "COCO_val2014_1.jpg\nCOCO_train2014_2.jpg\n")
    put(tmp_path / "XTD10" / "test_1kcaptions_kr.txt", "개\n고양이\n")
    put(tmp_path / "XTD10" / "test_1kcaptions_es.txt", "Un\u2028perro\nUn gato")
    put(tmp_path / "MIC" / "test_1kcaptions_en.txt", "A dog\nA cat\n")
    put(tmp_path / "STAIR" / "test_1kcaptions_jp.txt", "いぬ\nねこ\n")
    imported = read("xtd10", tmp_path)
    assert rows_of(imported) == {
        "COCO_val2014_1.jpg": (
            "test",
            {"en": ("A dog",), "es": ("Un perro",), "ko": ("개",), "ja": ("いぬ",)},
        ),
        "COCO_train2014_2.jpg": (
            "test",
            {"en": ("A cat",), "es": ("Un gato",), "ko": ("고양이",), "ja": ("ねこ",)},
        ),
    }
    # STAIR's Japanese was written from the picture: no translation.
    assert imported.rows[1].parallel == {"en": "A cat", "es": "Un gato", "ko": "고양이"}


def test_xtd10_malformed(tmp_path: Path) -> None:
    assert "got none" in refused("xtd10", tmp_path)
    names = put(tmp_path / "test_image_names.txt", "1.jpg\n2.jpg\n")
    assert "is a file" in refused("xtd10", names)
    assert "has no test_1kcaptions_XX.txt" in refused("xtd10", tmp_path)
    put(tmp_path / "test_1kcaptions_en.txt", "A dog\n")
    assert "has 1 lines for 2 image names" in refused("xtd10", tmp_path)
    put(tmp_path / "test_1kcaptions_en.txt", "A dog\nA cat\n")
    put(tmp_path / "MIC" / "test_1kcaptions_en.txt", "A dog\nA fox\n")
    assert "two different files for en" in refused("xtd10", tmp_path)


# table


@pytest.mark.parametrize(("suffix", "between"), [("csv", ","), ("csv", ";"), ("tsv", "\t")])
def test_table_long_form(tmp_path: Path, suffix: str, between: str) -> None:
    table = [
        ["image", "caption", "lang", "split"],
        ["a.jpg", '"A dog, ""Rex""; runs\non"', "en", "train"],
        ["a.jpg", "Ein Hund", "de", "train"],
        ["b.jpg", "Dois", "pt_br", "dev"],
        ["a.jpg", "A dog", "EN", "train"],
        ["b.jpg", "", "en", "validation"],
    ]
    file = put(tmp_path / f"t.{suffix}", "\r\n".join(between.join(row) for row in table) + "\r\n\r\n")
    assert rows_of(read("csv", file)) == {
        "a.jpg": ("train", {"en": ('A dog, "Rex"; runs on', "A dog"), "de": ("Ein Hund",)}),
        "b.jpg": ("val", {"pt-BR": ("Dois",)}),
    }


def test_table_wide_form_and_splits_by_name(tmp_path: Path) -> None:
    names = [f"{number}.jpg" for number in range(300)]
    lines = [f"{name},Dog {name},Hund {name}" for name in names]
    file = put(
        tmp_path / "t.csv", "\ufeffimage,caption_en,caption_de\n" + "\n".join(lines) + "\n300.jpg,,Nur\n"
    )
    rows = rows_of(read("csv", file))
    assert rows["5.jpg"][1] == {"en": ("Dog 5.jpg",), "de": ("Hund 5.jpg",)}
    assert rows["300.jpg"][1] == {"de": ("Nur",)}
    counts = {split: sum(row[0] == split for row in rows.values()) for split in ("train", "val", "test")}
    assert 220 <= counts["train"] <= 260
    assert min(counts["val"], counts["test"]) >= 15
    # The split hangs on the name alone: half of the pictures have the same splits.
    half = put(tmp_path / "half.csv", "image,caption_en\n" + "".join(f"{name},x\n" for name in names[::2]))
    assert all(row[0] == rows[name][0] for name, row in rows_of(read("csv", half)).items())
    assert {row[0] for row in rows_of(read("csv", file, split="val")).values()} == {"val"}


def test_table_parquet_with_lists(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pyarrow.table(
        {
            "image": ["a.jpg", "b.jpg"],
            "caption": [["One", "Two"], ["Three", None]],
            "caption_de": ["Eins", None],
            "split": ["test", None],
            "width": [3, 4],
        }
    )
    parquet.write_table(table, tmp_path / "t.parquet")
    assert rows_of(read("csv", tmp_path, language="en")) == {
        "a.jpg": ("test", {"en": ("One", "Two"), "de": ("Eins",)}),
        "b.jpg": (split_by_hash("b.jpg"), {"en": ("Three",)}),
    }
    put(tmp_path / "t.parquet", b"PAR1 no")
    assert "is not a complete Parquet file" in refused("csv", tmp_path / "t.parquet")
    parquet.write_table(pyarrow.table({"image": ["a.jpg"], "caption_en": [3]}), tmp_path / "t.parquet")
    assert "column caption_en should hold text, got int" in refused("csv", tmp_path / "t.parquet")
    latin = pyarrow.array(["A caf\udce9".encode("utf-8", "surrogateescape")]).view(pyarrow.string())
    parquet.write_table(pyarrow.table({"image": ["a.jpg"], "caption_en": latin}), tmp_path / "t.parquet")
    assert "t.parquet, rows 1 to 1: text that is not UTF-8" in refused("csv", tmp_path / "t.parquet")


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("t.csv", "", "has the columns none; it needs image and caption"),
        ("t.csv", "image,text\na,b\n", "has the columns image, text"),
        ("t.csv", "image,caption\na.jpg,A dog\n", "line 2: no language; add a column lang"),
        ("t.csv", "image,caption,lang\na.jpg,A dog,en\n,x,en\n", "line 3: the image is empty"),
        ("t.csv", "image,caption,lang\na.jpg,A dog, brown,en\n", "line 2: 4 cells for 3 columns"),
        ("t.csv", 'image,caption,lang\na.jpg,"A dog,en\n', "line 2: unexpected end of data"),
        ("t.csv", "image,caption,lang,split\na.jpg,A dog,en,x\n", "line 2: unknown split 'x'"),
        ("t.csv", "image,caption_english\na.jpg,A dog\n", "column caption_english: bad language code"),
        ("t.xlsx", "image", "is not a table; allowed are .csv, .parquet, .tsv"),
        (
            "t.csv",
            "image,caption,lang,split\na.jpg,A,en,val\na.jpg,B,en,test\n",
            "line 3: image 'a.jpg' is in split",
        ),
    ],
)
def test_table_malformed(tmp_path: Path, name: str, content: str, expected: str) -> None:
    assert expected in refused("csv", put(tmp_path / name, content))


# sidecar


def test_sidecar(tmp_path: Path) -> None:
    for name in ("dog.jpg", "x/my.photo.PNG", "x/a.jpg", "x/a.de.jpg", "lonely.jpg"):
        put(tmp_path / name, b"")
    put(tmp_path / "dog.txt", "A dog.\n\n  A brown dog.\n")
    put(tmp_path / "dog.de.txt", "Ein Hund.")
    put(tmp_path / "x" / "my.photo.pt-br.txt", "Uma foto")
    put(tmp_path / "x" / "a.de.txt", "belongs to a.de.jpg")
    put(tmp_path / "x" / "a.fr.txt", "Un")
    put(tmp_path / "README.txt", "notes")
    imported = read("folder", tmp_path, language="en")
    assert {image: captions for image, (_, captions) in rows_of(imported).items()} == {
        "dog.jpg": {"en": ("A dog.", "A brown dog."), "de": ("Ein Hund.",)},
        "x/my.photo.PNG": {"pt-BR": ("Uma foto",)},
        "x/a.de.jpg": {"en": ("belongs to a.de.jpg",)},
        "x/a.jpg": {"fr": ("Un",)},
    }
    assert all(row.split == split_by_hash(row.image) for row in imported.rows)
    assert imported.notes == [
        "pictures without captions left out: 1",
        "text files without a picture left out: 1, README.txt first",
    ]


def test_sidecar_file_names_that_are_not_utf8(tmp_path: Path) -> None:
    def latin(name: str) -> Path:
        return tmp_path / os.fsdecode(name.encode("latin-1"))

    put(tmp_path / "dog.jpg", b"")
    put(tmp_path / "dog.txt", "A dog.")
    try:
        put(latin("café.txt"), "A bar.")
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    # Without a picture it is left out, and said so in a note that any terminal can show.
    assert read("folder", tmp_path, language="en").notes == [
        "text files without a picture left out: 1, caf\\udce9.txt first"
    ]
    put(latin("café.jpg"), b"")
    text = refused("folder", tmp_path, language="en")
    assert "caf\\udce9.txt, line 1: the name of the image 'caf\\udce9.jpg' cannot be written as UTF-8" in text
    assert text.encode()


def test_sidecar_malformed(tmp_path: Path) -> None:
    assert "no caption" in refused("folder", tmp_path)
    put(tmp_path / "dog.jpg", b"")
    text = put(tmp_path / "dog.txt", "A dog.")
    assert "does not state its language" in refused("folder", tmp_path)
    assert "is a file" in refused("folder", text)
    put(tmp_path / "dog.png", b"")
    assert "belongs to both dog.jpg and dog.png" in refused("folder", tmp_path, language="en")


# shared


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("en", "en"),
        ("JP", "ja"),
        ("kr", "ko"),
        ("pt_br", "pt-BR"),
        ("ZH-hant-tw", "zh-Hant-TW"),
        ("photo", None),
        ("", None),
    ],
)
def test_languages_as_sources_write_them(text: str, code: str | None) -> None:
    assert parse_language(text) == code


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("captions_train2014.json", "train"),
        ("stair_captions_v1.2_val_tokenized.json", "val"),
        ("dev_caps.txt", "val"),
        ("contest.json", None),
        ("trainval.json", None),
        ("train_test.json", None),
    ],
)
def test_splits_in_file_names(name: str, split: str | None) -> None:
    assert split_within(name) == split


def test_every_format_is_listed_with_a_summary() -> None:
    names = ["karpathy", "multi30k", "coco", "xtd10", "precomp", "liwe", "msrvtt", "vatex", "csv", "folder"]
    assert IMPORTERS.names() == names
    assert all(entry.summary for entry in IMPORTERS)

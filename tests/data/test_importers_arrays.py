"""precomp and liwe: captions with arrays of features, with and without repeated images."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from lingvis.data.importers import IMPORTERS, ImportedRows, ImportOptions, Source
from lingvis.data.importers.folder import report_problems
from lingvis.errors import UserError

Floats = NDArray[np.float32]


def vectors(images: int, *shape: int) -> Floats:
    return np.random.default_rng(3).normal(size=(images, *shape)).astype(np.float32)


def put(
    folder: Path, prefix: str, array: NDArray[Any] | None, ids: list[str] | None = None, **captions: list[str]
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if array is not None:
        np.save(folder / f"{prefix}ims.npy", array)
    if ids is not None:
        (folder / f"{prefix}ids.txt").write_text("\n".join(ids) + "\n")
    for lang, lines in captions.items():
        name = f"{prefix}caps.txt" if lang == "plain" else f"{prefix}caps.{lang}.txt"
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def read(format: str, source: Path, **options: Any) -> ImportedRows:
    imported = IMPORTERS.get(format)(Source(source), ImportOptions(**options))
    report_problems(source, imported.problems)
    return imported


def refused(format: str, source: Path, **options: Any) -> str:
    with pytest.raises(UserError) as caught:
        read(format, source, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def captions_of(imported: ImportedRows, lang: str = "en") -> dict[str, tuple[str, ...]]:
    return {row.image: row.captions.get(lang, ()) for row in imported.rows}


def features_of(imported: ImportedRows) -> dict[str, Floats]:
    assert imported.features is not None
    return dict(zip(imported.features.names, imported.features, strict=True))


@pytest.mark.parametrize("shape", [(4,), (3, 4)])
@pytest.mark.parametrize("per_image", [1, 2, 5])
@pytest.mark.parametrize("repeated", [True, False])
@pytest.mark.parametrize("ids", ["none", "images", "captions", "unique"])
def test_captions_find_their_image(
    tmp_path: Path, shape: tuple[int, ...], per_image: int, repeated: bool, ids: str
) -> None:
    # More images than are compared at once, so that a group may lie across the border of two blocks.
    count = 160
    array = vectors(count, *shape)
    texts = [f"image {image} caption {place}" for image in range(count) for place in range(per_image)]
    names = [f"{1000 + image}" for image in range(count)]
    listing = {
        "none": None,
        "images": names,
        "captions": [name for name in names for _ in range(per_image)],
        "unique": [
            f"{name}" if place == 0 else f"{name}-{place}" for name in names for place in range(per_image)
        ],
    }[ids]
    stored = np.repeat(array, per_image, axis=0) if repeated else array
    put(tmp_path, "train_", stored, listing, plain=texts)
    imported = read("precomp", tmp_path)
    expected = names if listing is not None else [f"train_{place:06d}" for place in range(count)]
    assert [row.image for row in imported.rows] == expected
    found, kept = captions_of(imported), features_of(imported)
    for image, name in enumerate(expected):
        assert found[name] == tuple(f"image {image} caption {place}" for place in range(per_image))
        np.testing.assert_array_equal(kept[name], array[image].reshape(-1, 4))


def test_unequal_repeats_follow_the_rows(tmp_path: Path) -> None:
    array = vectors(3, 4)[[0, 0, 0, 1, 2, 2]]
    put(tmp_path, "train_", array, plain=list("abcdef"))
    assert list(captions_of(read("precomp", tmp_path)).values()) == [("a", "b", "c"), ("d",), ("e", "f")]


def test_equal_neighbours_with_different_repeated_ids_stay_two_images(tmp_path: Path) -> None:
    array = np.ones((4, 4), dtype=np.float16)
    put(tmp_path, "train_", array, ["1", "1", "2", "2"], plain=list("abcd"))
    assert captions_of(read("precomp", tmp_path)) == {"1": ("a", "b"), "2": ("c", "d")}


def test_splits_language_testall_and_id_mapping(tmp_path: Path) -> None:
    folder = tmp_path / "precomp"
    put(folder, "train_", vectors(2, 4), ["5", "6"], plain=["a", "b"])
    put(folder, "dev_", vectors(1, 4), ["7"], plain=["c", ""])
    put(folder, "test_", vectors(1, 4), ["8"], plain=["d"])
    put(folder, "testall_", vectors(2, 4), ["8", "9"], plain=["d", "e"])
    (tmp_path / "id_mapping.json").write_text(json.dumps({"5": "train2014/5.jpg", "9": "val2014/9.jpg"}))
    imported = read("precomp", folder, language="de")
    assert [(row.image, row.split, row.captions) for row in imported.rows] == [
        ("train2014/5.jpg", "train", {"de": ("a",)}),
        ("6", "train", {"de": ("b",)}),
        ("7", "val", {"de": ("c",)}),
        ("8", "test", {"de": ("d",)}),
        ("val2014/9.jpg", "test", {"de": ("e",)}),
    ]
    assert imported.notes == [
        "test was left out: testall holds the whole test split",
        "empty captions left out: 1",
    ]


@pytest.mark.parametrize(
    ("array", "ids", "captions", "expected"),
    [
        (vectors(3, 4), None, ["x"] * 7, "7 captions for 3 images"),
        (vectors(3, 4), None, ["x"] * 2, "2 captions for 3 images"),
        (vectors(3, 4), ["1", "2"], ["x"] * 3, "2 ids for 3 images"),
        (vectors(3, 4), ["1", "2", "1"], ["x"] * 3, "image '1' is in train and again in train"),
        (vectors(3, 2, 2, 2), None, ["x"] * 3, "expected floats [images, dim]"),
        (np.arange(12).reshape(3, 4), None, ["x"] * 3, "holds int64 [3, 4]"),
        (np.array([{"a": 1}] * 3), None, ["x"] * 3, "is not a complete .npy array"),
        (None, None, ["x"], "train_ims.npy is missing"),
    ],
)
def test_precomp_malformed(
    tmp_path: Path, array: NDArray[Any] | None, ids: list[str] | None, captions: list[str], expected: str
) -> None:
    put(tmp_path, "train_", array, ids, plain=captions)
    assert expected in refused("precomp", tmp_path)


def test_precomp_more_malformed(tmp_path: Path) -> None:
    assert "has no {split}_caps.txt" in refused("precomp", tmp_path)
    put(tmp_path, "train_", vectors(2, 4), plain=["a", "b"])
    assert "is a file" in refused("precomp", tmp_path / "train_caps.txt")
    put(tmp_path, "dev_", vectors(2, 5), plain=["a", "b"])
    assert "has vectors of 5 numbers and the split before it 4" in refused("precomp", tmp_path)
    content = (tmp_path / "train_ims.npy").read_bytes()
    (tmp_path / "train_ims.npy").write_bytes(content[:-5])
    assert "train_ims.npy is not a complete .npy array" in refused("precomp", tmp_path)


def header(shape: str) -> bytes:
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}}}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00v\x00" + text.encode()


def archive() -> bytes:
    made = io.BytesIO()
    np.savez(made, vectors(2, 4))
    return made.getvalue()


@pytest.mark.parametrize(
    "content",
    [archive(), b"PK\x03\x04", header("(2, 4"), header(f"({10**30}, 4)")],
    ids=["archive", "half an archive", "half a header", "too big"],
)
def test_precomp_array_that_is_none(tmp_path: Path, content: bytes) -> None:
    put(tmp_path, "train_", None, plain=["a", "b"])
    (tmp_path / "train_ims.npy").write_bytes(content)
    assert "train_ims.npy is not a complete .npy array" in refused("precomp", tmp_path)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("null", "id_mapping.json, id '2': the file name should be text, got NoneType"),
        ('"\\ud800"', "id_mapping.json, id '2': the file name '\\ud800' cannot be written as UTF-8"),
    ],
)
def test_precomp_mapping_to_what_is_no_name(tmp_path: Path, name: str, expected: str) -> None:
    put(tmp_path, "train_", vectors(2, 4), ["1", "2"], plain=["a", "b"])
    (tmp_path / "id_mapping.json").write_text(f'{{"1": "a.jpg", "2": {name}}}')
    assert expected in refused("precomp", tmp_path)


def test_the_same_id_in_two_splits_is_refused(tmp_path: Path) -> None:
    put(tmp_path, "train_", vectors(2, 4), ["1", "2"], plain=["a", "b"])
    put(tmp_path, "test_", vectors(1, 4), ["2"], plain=["c"])
    assert "image '2' is in train and again in test" in refused("precomp", tmp_path)


@pytest.mark.parametrize("repeated", [True, False])
def test_liwe_languages_with_different_counts(tmp_path: Path, repeated: bool) -> None:
    array = vectors(2, 3, 4)
    stored = np.repeat(array, 5, axis=0) if repeated else array
    english = [f"en{number}" for number in range(10)]
    put(tmp_path, "train_", stored, en=english, de=["d0", "d1"], jp=["j0", "j1", "j2", "j3"])
    put(tmp_path, "dev_", array[:1] + 1, en=["v"])
    imported = read("liwe", tmp_path)
    assert [(row.split, row.captions) for row in imported.rows] == [
        ("train", {"de": ("d0",), "en": tuple(english[:5]), "ja": ("j0", "j1")}),
        ("train", {"de": ("d1",), "en": tuple(english[5:]), "ja": ("j2", "j3")}),
        ("val", {"en": ("v",)}),
    ]
    for kept, original in zip(
        features_of(imported).values(), [array[0], array[1], array[0] + 1], strict=True
    ):
        np.testing.assert_array_equal(kept, original)


def test_liwe_files_without_a_split_in_their_names(tmp_path: Path) -> None:
    put(tmp_path / "train", "", vectors(1, 4), en=["a"], de=["b"])
    put(tmp_path / "test", "", vectors(1, 4), en=["c"])
    imported = read("liwe", tmp_path)
    assert [(row.image, row.split, row.captions) for row in imported.rows] == [
        ("train/000000", "train", {"de": ("b",), "en": ("a",)}),
        ("test/000000", "test", {"en": ("c",)}),
    ]
    assert "set split" in refused("liwe", tmp_path / "train")
    assert read("liwe", tmp_path / "train", split="val").rows[0].split == "val"


def test_liwe_malformed(tmp_path: Path) -> None:
    assert "has no {split}_caps.<lang>.txt" in refused("liwe", tmp_path)
    put(tmp_path, "train_", vectors(2, 4), english=["a", "b"])
    assert "bad language code 'english'" in refused("liwe", tmp_path)
    (tmp_path / "train_caps.english.txt").unlink()
    put(tmp_path, "train_", None, en=["a", "b", "c"])
    assert "train_caps.en.txt has 3 captions for 2 images" in refused("liwe", tmp_path)

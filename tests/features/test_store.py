"""The store: round trip, variable sizes, damage, importers."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from lingvis.errors import UserError
from lingvis.features.store import FeatureStore, write_store

RNG = np.random.default_rng(0)
NAMES = ["a.jpg", "ä/b.jpg", "c.jpg"]
SETS = [RNG.normal(size=(size, 6)).astype(np.float32) for size in (2, 5, 1)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_store(tmp_path / "mine", NAMES, iter(SETS))
    return tmp_path / "mine"


def test_sets_of_any_size_come_back_rounded_to_half(folder: Path) -> None:
    store = FeatureStore.open(folder)
    assert (store.names, store.dim, store.manifest.origin.kind, len(store)) == (NAMES, 6, "region", 3)
    assert store.offsets.tolist() == [0, 2, 7, 8]
    assert isinstance(store.values, np.memmap)
    assert store.boxes is None
    for number, given in enumerate(SETS):
        np.testing.assert_array_equal(store[number], given.astype(np.float16))
    with pytest.raises(IndexError):
        store[3]
    assert store.manifest.origin.backbone == "imported"
    store.verify()
    assert {file.name for file in folder.iterdir()} == {
        "manifest.json",
        "values.npy",
        "offsets.npy",
        "names.json",
    }


def test_importers_can_bind_the_rest(tmp_path: Path) -> None:
    write = partial(write_store, kind="global", backbone="resnet152")
    write(tmp_path / "g", ["a", "b"], [np.ones(4), np.zeros(4)])
    store = FeatureStore.open(tmp_path / "g")
    assert (store.manifest.origin.kind, store.values.shape) == ("global", (2, 4))
    assert store.manifest.origin.backbone == "resnet152"


def test_boxes_are_kept(tmp_path: Path) -> None:
    boxes = [np.arange(4 * len(rows)).reshape(-1, 4) for rows in SETS]
    write_store(tmp_path / "b", NAMES, SETS, boxes=boxes)
    store = FeatureStore.open(tmp_path / "b")
    assert store.boxes is not None
    np.testing.assert_array_equal(store.boxes, np.concatenate(boxes).astype(np.float32))


def test_index_finds_names_and_lists_the_missing(folder: Path) -> None:
    store = FeatureStore.open(folder)
    found = store.index(["c.jpg", "a.jpg", "c.jpg"])
    assert found.dtype == np.int64
    assert found.tolist() == [2, 0, 2]
    with pytest.raises(UserError, match=r"lack 7 of the pictures: 0, 1, 2, 3, 4 and 2 more"):
        store.index([*map(str, range(7)), "a.jpg"])


@pytest.mark.parametrize("name", ["values.npy", "offsets.npy", "names.json"])
def test_a_file_of_another_size_is_refused(name: str, folder: Path) -> None:
    data = (folder / name).read_bytes()
    for changed in (data[:-3], data + b"123", b""):
        (folder / name).write_bytes(changed)
        with pytest.raises(UserError, match=r"is damaged: .*; delete it and extract or import it again"):
            FeatureStore.open(folder)
    (folder / name).unlink()
    with pytest.raises(UserError, match="is damaged"):
        FeatureStore.open(folder)


def test_changed_content_is_found_by_verify(folder: Path) -> None:
    data = bytearray((folder / "values.npy").read_bytes())
    data[-1] ^= 1
    (folder / "values.npy").write_bytes(data)
    with pytest.raises(UserError, match=r"values\.npy does not match its checksum"):
        FeatureStore.open(folder).verify()


@pytest.mark.parametrize(
    "change",
    [{"dim": 7}, {"vectors": 9}, {"pictures": 2}, {"format": 2}, {"extra": 1}, {"dim": "six"}],
)
def test_a_wrong_manifest_is_refused(change: dict[str, object], folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | change))
    with pytest.raises(UserError, match="damaged"):
        FeatureStore.open(folder)


@pytest.mark.parametrize("content", ["", "{", "[]", "null"])
def test_a_manifest_that_is_none_is_refused(content: str, folder: Path) -> None:
    (folder / "manifest.json").write_text(content)
    with pytest.raises(UserError, match=r"manifest\.json is damaged or of another version"):
        FeatureStore.open(folder)


def test_offsets_must_divide_the_vectors(folder: Path) -> None:
    np.save(folder / "offsets.npy", np.array([0, 2, 2, 8], dtype=np.int64))
    with pytest.raises(UserError, match="does not divide"):
        FeatureStore.open(folder)


@pytest.mark.parametrize(
    ("names", "arrays", "message"),
    [
        (["a", "b"], [np.ones((1, 3))], "1 arrays for 2 pictures"),
        (["a"], [np.ones((1, 3))] * 2, "2 arrays for 1 pictures"),
        ([], [], "0 arrays for 0 pictures"),
        (["a", "a"], [np.ones((1, 3))] * 2, "same picture twice"),
        (["a", "b"], [np.ones((1, 3)), np.ones((1, 4))], "of b have 4 values per vector"),
        (["a"], [np.ones((0, 3))], "not empty"),
        (["a"], [np.ones((1, 2, 3))], "shape"),
        (["a"], [np.array([[1.0, np.nan]])], "not finite"),
        (["a"], [np.array([[1.0, 1e6]])], "too large"),
    ],
)
def test_bad_arrays_leave_the_old_store_alone(
    names: list[str], arrays: list[np.ndarray], message: str, folder: Path
) -> None:
    before = (folder / "manifest.json").read_bytes()
    with pytest.raises(UserError, match=message):
        write_store(folder, names, arrays)
    assert (folder / "manifest.json").read_bytes() == before
    assert [path.name for path in folder.parent.iterdir()] == ["mine"]

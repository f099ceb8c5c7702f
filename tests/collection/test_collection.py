"""The class that does what the commands do: make, open, add, remove, search."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from lingvis import Collection
from lingvis.collection.rebuilds import RebuiltError, UnavailableError
from lingvis.errors import UserError

from .conftest import make_model, make_pictures


def names(collection: Collection) -> list[str]:
    return sorted(Path(row.path).name for row in collection.store.files())


def test_a_collection_is_made_filled_searched_and_emptied(model: Path, photos: Path, tmp_path: Path) -> None:
    place = tmp_path / "photos.lv"
    made = Collection.create(place, model, device="cpu")
    assert len(made) == 0 and len(Collection.open(place)) == 0
    assert made.search("a dog", lang="en") == []
    report = made.add([photos])
    assert (report.added, report.pictures) == (5, 5)
    (first,) = made.search(image=photos / "003.png", k=1)
    assert Path(first.path).name == "003.png"
    assert made.remove([photos / "000.png", first.id, photos / "never.png", "no id"]) == 2
    assert names(made) == ["001.png", "002.png", "004.png"]
    assert [hit.id for hit in Collection.open(place, device="cpu").search("a dog", k=9)].count(first.id) == 0
    assert made.remove([first.id]) == 0
    assert made.add([str(photos)]).added == 2, "the files are still there"


def test_creating_needs_a_free_place_and_opening_a_collection(
    model: Path, photos: Path, collection: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match="no collection at"):
        Collection.open(collection)
    Collection(collection, model=model).add([photos])
    with pytest.raises(UserError, match=r"photos\.lv exists; open it, or name a new one"):
        Collection.create(collection, model)
    with pytest.raises(UserError, match="batch_size must be at least 1, got 0"):
        Collection.open(collection).add([photos], batch_size=0)


def test_a_rebuild_with_another_model_is_searched_at_once(
    model: Path, photos: Path, collection: str, tmp_path: Path
) -> None:
    Collection.create(collection, model).add([photos])
    other = make_model(tmp_path / "other", image_seed=1)
    opened = Collection.open(collection, model=other, device="cpu")
    with pytest.raises(UserError, match="another image side"):
        opened.add([photos])
    assert opened.add([photos], rebuild=True).added == 5
    assert opened.search(image=photos / "002.png", k=1)[0].score > 0.99
    assert opened.store.header.model == str(other)


def test_pictures_of_queries_are_encoded_as_indexed_ones(
    model: Path, tmp_path: Path, collection: str
) -> None:
    """From a path, from an open file and in the collection: one decoder, so the same vector."""
    paths = make_pictures(tmp_path / "photos", 2, suffix="jpg")
    opened = Collection.create(collection, model, device="cpu")
    opened.add([tmp_path / "photos"])
    for path in paths:
        by_path = opened.encode(image=path)
        with path.open("rb") as file:
            np.testing.assert_array_equal(opened.encode(image=file), by_path)
        (row,) = [row for row in opened.store.files() if row.path == str(path)]
        stored = opened.store.vectors([row.id])[row.id]
        np.testing.assert_allclose(stored, by_path, atol=1e-3)  # stored in half precision


def test_an_open_collection_does_not_undo_a_newer_model(
    model: Path, photos: Path, collection: str, tmp_path: Path
) -> None:
    Collection.create(collection, model).add([photos])
    opened = Collection.open(collection, device="cpu")
    opened.search("a dog", lang="en")
    newer = make_model(tmp_path / "newer", text_seed=1)
    Collection.open(collection, model=newer, device="cpu").add([photos])
    with pytest.raises(RebuiltError, match="has a newer model; open it again"):
        opened.add([photos])
    assert Collection.open(collection).store.header.model == str(newer)


def test_a_store_that_cannot_be_opened_is_unavailable(model: Path, photos: Path, collection: str) -> None:
    Collection.create(collection, model).add([photos])
    lazy = Collection(collection)
    shutil.rmtree(collection)
    with pytest.raises(UnavailableError, match="no collection at"):
        lazy.statistics()

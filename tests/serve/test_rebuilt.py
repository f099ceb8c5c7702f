"""A server goes on while its collection changes under it."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from lingvis.collection.collection import Collection
from lingvis.collection.rebuilds import RebuiltError
from lingvis.collection.stores.records import Hit
from lingvis.collection.stores.sqlite.store import SqliteStore
from lingvis.errors import UserError
from lingvis.serve.settings import ServerSettings

from ..collection.conftest import make_model, make_pictures
from ..collection.indexing import index_folders
from .conftest import Client, in_thread


def answers_with(client: Client, model: str) -> bool:
    """Whether the server has the model by now; until then it says that it is not ready."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        answer = client.search("x")
        if answer.status == 200:
            return bool(client.get("/api/collection").json["model"] == model)
        assert answer.status == 503 and "has another model now" in answer.error
        assert answer.headers["retry-after"] == "5"
        time.sleep(0.05)
    return False


def test_new_pictures_other_models_and_the_end(home: Path, tmp_path: Path) -> None:
    photos, place = tmp_path / "photos", tmp_path / "photos.lv"
    make_pictures(photos, 3)
    index_folders(place, [photos], model=home / "model", device="cpu")
    with in_thread(Collection.open(place, device="cpu"), ServerSettings()) as client:
        assert len(client.search("x").json["hits"]) == 3
        make_pictures(photos, 2, first=10)
        index_folders(place, [photos], device="cpu")
        assert len(client.search("x").json["hits"]) == 5, "new pictures are found at once"

        index_folders(place, [photos], rebuild=True, model=home / "model", device="cpu")
        assert len(client.search("x").json["hits"]) == 5, "the same model again changes nothing"

        other = make_model(tmp_path / "other", image_seed=1)
        index_folders(place, [photos], rebuild=True, model=other, device="cpu")
        first = client.search("x")
        assert first.status == 503 and "has another model now" in first.error
        id = Collection.open(place).search("x", k=1)[0].id
        assert client.get(f"/api/items/{id}").status in (200, 503)
        assert answers_with(client, "other")
        expected = Collection.open(place, device="cpu").search("x")
        assert client.search("x").json["hits"] == [hit.to_json() for hit in expected]

        shutil.rmtree(place)
        gone = client.search("x")
        assert gone.status == 503 and "cannot be read" in gone.error
        assert client.get("/api/health").status == 200


def test_a_replaced_picture_gets_a_new_thumbnail(home: Path, tmp_path: Path) -> None:
    photos, place = tmp_path / "photos", tmp_path / "photos.lv"
    (path,) = make_pictures(photos, 1)
    index_folders(place, [photos], model=home / "model", device="cpu")
    with in_thread(Collection.open(place, device="cpu"), ServerSettings()) as client:
        (old,) = client.search("x").json["hits"]
        address = f"/api/items/{old['id']}/thumbnail"
        before = client.get(address)
        Image.new("RGB", (60, 40), "blue").save(path)
        index_folders(place, [photos], device="cpu")
        (new,) = client.search("x").json["hits"]
        assert new["id"] == old["id"] and new["hash"] != old["hash"]
        after = client.get(address, {"If-None-Match": before.headers["etag"]})
        assert after.status == 200 and after.body != before.body


class Unseen(SqliteStore):
    """A store whose other process changes the model between the question and its answer."""

    change: Callable[[], object] = staticmethod(lambda: None)

    def search(self, *args: Any, **options: Any) -> list[list[Hit]]:
        found = super().search(*args, **options)
        change, self.change = self.change, lambda: None
        change()
        return found


def test_a_language_is_added(home: Path, tmp_path: Path) -> None:
    photos, place = tmp_path / "photos", tmp_path / "photos.lv"
    make_pictures(photos, 3)
    (photos / "000.en.txt").write_text("the house")
    index_folders(place, [photos], model=home / "model", device="cpu")
    newer = make_model(tmp_path / "newer", text_seed=1)
    given = Collection.open(place, model=home / "model", device="cpu")
    opened = Collection.open(place, device="cpu")
    raced = Collection(place, device="cpu")
    raced._store = Unseen(place)
    with in_thread(Collection.open(place, device="cpu"), ServerSettings()) as client:
        for collection in (given, opened, raced):
            assert collection.search("the house", lang="en", captions=True)[0].score > 0.99
        first = client.search("the house", lang="en", captions=True)
        assert first.status == 200 and first.json["hits"][0]["score"] > 0.99

        raced.store.change = lambda: index_folders(place, [photos], model=newer, device="cpu")  # type: ignore[attr-defined]
        with pytest.raises(RebuiltError, match="has a newer model; open it again"):
            raced.search("the house", lang="en", captions=True)
        assert not opened.outdated, "it has not been asked since"
        with pytest.raises(RebuiltError, match="has a newer model; open it again"):
            opened.search("the house", lang="en", captions=True)
        assert len(opened.search("the house", lang="en")) == 3 and opened.outdated
        with pytest.raises(
            UserError, match=rf"were encoded by another text side; .*--model {home / 'model'}$"
        ):
            given.search("the house", lang="en", captions=True)
        assert not given.outdated, "it was told which model to use"

        pictures = client.search("the house", lang="en")
        assert pictures.status == 200, "pictures are found by the old model until the new one is there"
        deadline = time.monotonic() + 30
        while client.get("/api/collection").json["model"] != "newer":
            assert time.monotonic() < deadline
            time.sleep(0.05)
        captions = client.search("the house", lang="en", captions=True)
        assert captions.status == 200 and captions.json["hits"][0]["score"] > 0.99
        expected = Collection.open(place, device="cpu").search("the house", lang="en")
        assert client.search("the house", lang="en").json["hits"] == [hit.to_json() for hit in expected]

        halfway = opened.store.header.model_copy(update={"text_fingerprint": ""})
        opened.store.replace_header(halfway)
        captions = client.search("the house", lang="en", captions=True)
        assert captions.status == 422 and "are being encoded" in captions.error
        assert captions.error.endswith(f"--model {newer}")
        assert client.search("the house", lang="en").status == 200

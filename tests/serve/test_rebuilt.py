"""A server goes on while its collection changes under it."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from lingvis.index.collection import Collection
from lingvis.jobs.index import index_folders
from lingvis.serve.settings import Settings

from ..index.conftest import make_model, make_pictures
from .conftest import Client, in_thread


def answers_with(client: Client, model: str) -> bool:
    """Whether the server has the model by now; until then it says that it is not ready."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        answer = client.search("x")
        if answer.status == 200:
            return bool(client.get("/api/collection").json["model"] == model)
        assert answer.status == 503 and "rebuilt with another model" in answer.error
        assert answer.headers["retry-after"] == "5"
        time.sleep(0.05)
    return False


def test_new_pictures_other_models_and_the_end(home: Path, tmp_path: Path) -> None:
    photos, place = tmp_path / "photos", tmp_path / "photos.lv"
    make_pictures(photos, 3)
    index_folders(place, [photos], model=home / "model", device="cpu")
    with in_thread(Collection.open(place, device="cpu"), Settings()) as client:
        assert len(client.search("x").json["hits"]) == 3
        make_pictures(photos, 2, first=10)
        index_folders(place, [photos], device="cpu")
        assert len(client.search("x").json["hits"]) == 5, "new pictures are found at once"

        index_folders(place, [photos], rebuild=True, model=home / "model", device="cpu")
        assert len(client.search("x").json["hits"]) == 5, "the same model again changes nothing"

        other = make_model(tmp_path / "other", image_seed=1)
        index_folders(place, [photos], rebuild=True, model=other, device="cpu")
        first = client.search("x")
        assert first.status == 503 and "rebuilt with another model" in first.error
        id = Collection.open(place).search("x", k=1)[0].id
        assert client.get(f"/api/items/{id}").status in (200, 503)
        assert answers_with(client, "other")
        expected = Collection.open(place, device="cpu").search("x")
        assert client.search("x").json["hits"] == [hit.to_json() for hit in expected]

        shutil.rmtree(place)
        gone = client.search("x")
        assert gone.status == 503 and "cannot be read" in gone.error
        assert client.get("/api/health").status == 200

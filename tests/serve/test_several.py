"""Several collections in one server: paths, names, one token, one model."""

from __future__ import annotations

import gc
import shutil
from pathlib import Path

import pytest

from lingvis.cli import main
from lingvis.collection.collection import Collection
from lingvis.serve.several.names import named

from ..collection.conftest import make_pictures
from .conftest import Client, serving

TOKEN = {"Authorization": "Bearer correct-horse-battery"}


@pytest.fixture(scope="module")
def places(home: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("several").resolve()
    made = []
    for name, count in (("holiday", 2), ("work & art", 3)):
        make_pictures(folder / name, count, first=10 * count)
        Collection.create(folder / f"{name}.lv", home / "model", device="cpu").add([folder / name])
        made.append(folder / f"{name}.lv")
    return made


def test_each_has_its_path_and_the_first_the_short_one(places: list[Path]) -> None:
    log = places[0].parent / "log"
    env = {"LINGVIS_TOKEN": "correct-horse-battery"}
    with serving(*map(str, places), "--read-only", env=env, log=log) as (port, _):
        client, stranger = Client(port, TOKEN), Client(port, {})
        listed = client.get("/api/collections").json
        assert listed == {
            "collections": [
                {"name": "holiday", "path": "/c/holiday/", "pictures": 2},
                {"name": "work & art", "path": "/c/work%20%26%20art/", "pictures": 3},
            ],
            "current": "holiday",
        }
        second = "/c/work%20%26%20art"
        assert client.get(f"{second}/api/collections").json["current"] == "work & art"
        sizes = [client.get(f"{base}/api/collection").json["pictures"] for base in ("", "/c/holiday", second)]
        assert sizes == [2, 2, 3]
        first = client.search("a dog", lang="en").json["hits"]
        assert client.get("/c/holiday/api/search", q="a dog", lang="en").json["hits"] == first
        other = client.get(f"{second}/api/search", q="a dog", lang="en").json["hits"]
        assert len(other) == 3 and not {hit["id"] for hit in other} & {hit["id"] for hit in first}
        assert client.get(f"{second}/api/items/{other[0]['id']}/thumbnail").status == 200
        assert client.get(f"/api/items/{other[0]['id']}").status == 404
        assert client.get(f"{second}/").body == client.get("/").body
        moved = client.get(second)
        assert (
            moved.status == 307 and moved.headers["location"] == f"{second.rpartition('/')[2]}/"
        )  # relative, for a proxy
        assert "has no collection of this name" in client.get("/c/nothing/api/search").error
        assert stranger.get(f"{second}/api/collection").status == 401
        assert stranger.get(f"{second}/").status == 200, "the page asks for the token"
        for prefix in ("/c/holiday", second):
            answer = client.ask("GET", f"{prefix}/api/collection", headers={"Sec-Fetch-Site": "cross-site"})
            assert answer.status == 403
        assert client.get("/api/albums").json["writable"] is False, "by --read-only"
        assert "lingvis_pictures 5.0" in client.get("/metrics").body.decode()


def test_equal_names_and_missing_collections_are_reported(
    places: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = shutil.copytree(places[0], tmp_path / "holiday.lv")
    for others in ([copy], [places[0]]):
        with pytest.raises(SystemExit) as caught:
            main(["serve", str(places[0]), *map(str, others), "--port", "0"])
        assert caught.value.code == 2
        assert "would both have the name 'holiday' on the page; rename one of them" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["serve", str(places[0]), str(tmp_path / "nothing.lv"), "--port", "0"])
    assert "no collection at" in capsys.readouterr().err
    addresses = ["postgresql://u:secret@h/d?collection=museum", str(places[0])]
    assert list(named([Collection(address) for address in addresses])) == ["museum", "holiday"]


def test_collections_of_one_model_share_it(places: list[Path], home: Path) -> None:
    first, second = (Collection.open(place, device="cpu") for place in places)
    assert first.model is second.model
    other = shutil.copytree(home / "model", places[0].parent / "model")
    third = Collection.open(places[0], model=other, device="cpu")
    assert third.model is not first.model
    (other / "card.md").write_text("changed")
    assert Collection.open(places[0], model=other, device="cpu").model is not third.model
    from lingvis.collection.shared_models import _LOADED

    before = len(_LOADED)
    del third
    gc.collect()
    assert len(_LOADED) < before, "a model that nobody uses is dropped"

"""Pictures without a query, over real sockets and on the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from lingvis.cli import main
from lingvis.collection.collection import Collection
from lingvis.collection.stores.records import Filter

from ..collection.conftest import make_pictures
from ..collection.exif import exif_of
from ..collection.indexing import index_folders
from .conftest import Client, serving

PARIS, SYDNEY = ((48, 51, 30), "N", (2, 17, 42), "E"), ((33, 51, 54), "S", (151, 12, 36), "E")


@pytest.fixture(scope="module")
def album(home: Path) -> Path:
    """trip: pictures of three months, some with a position; trip/more: without dates."""
    folder = home / "trip"
    folder.mkdir()
    for number, (taken, place) in enumerate(
        [("2021:05:03 10:00:00", PARIS), ("2021:05:04 09:30:00", None), ("2020:12:24 18:00:00", SYDNEY)]
    ):
        exif = exif_of(taken=taken, camera=("SONY", "ILCE-7M3"), place=place)
        Image.new("RGB", (40, 30), (50 * number, 90, 20)).save(folder / f"{number}.jpg", exif=exif)
    make_pictures(folder / "more", 2)
    index_folders(home / "trip.lv", [folder], model=home / "model", device="cpu")
    return home / "trip.lv"


@pytest.fixture(scope="module")
def browsed(album: Path) -> Iterator[Client]:
    with serving(str(album), log=album.parent / "trip.log") as (port, _):
        yield Client(port, {})


def test_pages_months_folders_and_places(browsed: Client, album: Path) -> None:
    opened = Collection.open(album)
    first = browsed.get("/api/browse", k=3).json
    rest = browsed.get("/api/browse", k=3, offset=3).json["items"]
    assert first["items"] + rest == [info.to_json() for info in opened.browse()]
    assert (first["k"], first["offset"]) == (3, 0)
    assert [(Path(item["path"]).name, item["date"]) for item in rest] == [
        ("0.jpg", "2021-05-03T10:00:00"),
        ("2.jpg", "2020-12-24T18:00:00"),
    ]
    assert rest[0]["camera"] == "SONY ILCE-7M3" and rest[0]["latitude"] == pytest.approx(48.858333)
    months = browsed.get("/api/timeline").json["months"]
    assert months[1:] == [{"month": "2021-05", "pictures": 2}, {"month": "2020-12", "pictures": 1}]
    folder = str(album.parent / "trip")
    assert browsed.get("/api/folders").json["folders"] == [
        {"folder": folder, "pictures": 3},
        {"folder": f"{folder}/more", "pictures": 2},
    ]
    places = browsed.get("/api/places", step=5).json["places"]
    assert [(round(place["latitude"]), place["pictures"]) for place in places] in (
        [(49, 1), (-34, 1)],
        [(-34, 1), (49, 1)],
    )


def test_filters_without_words(browsed: Client, album: Path) -> None:
    may: Any = {"after": "2021-05-01", "before": "2021-05-31"}
    assert [Path(item["path"]).name for item in browsed.get("/api/browse", **may).json["items"]] == [
        "1.jpg",
        "0.jpg",
    ]
    assert browsed.get("/api/timeline", **may).json["months"] == [{"month": "2021-05", "pictures": 2}]
    more = str(album.parent / "trip" / "more")
    assert browsed.get("/api/folders", folder=more).json["folders"] == [{"folder": more, "pictures": 2}]
    down_under = browsed.get("/api/browse", area="-45,110,-10,155").json["items"]
    assert [Path(item["path"]).name for item in down_under] == ["2.jpg"]
    assert [hit["id"] for hit in browsed.search("x", area="-45,110,-10,155").json["hits"]] == [
        down_under[0]["id"]
    ]


def test_refusals_are_sentences(browsed: Client) -> None:
    refused: list[tuple[str, Any]] = [
        ("/api/browse", {"k": 0}),
        ("/api/browse", {"k": 201}),
        ("/api/browse", {"area": "1,2,3"}),
        ("/api/browse", {"area": "50,0,40,10"}),
        ("/api/browse", {"area": "nan,0,40,10"}),
        ("/api/timeline", {"k": 5}),
        ("/api/folders", {"after": "yesterday"}),
        ("/api/places", {"step": 0}),
        ("/api/examples", {"lang": "x" * 50}),
    ]
    for path, parameters in refused:
        answer = browsed.get(path, **parameters)
        assert answer.status == 422 and answer.error, (path, parameters)
    assert "SOUTH,WEST,NORTH,EAST" in browsed.get("/api/browse", area="1,2,3").error


def test_examples_find_their_pictures(browsed: Client) -> None:
    for lang, expected in (("de", "de"), ("ru", "en")):
        examples = browsed.get("/api/examples", lang=lang).json["examples"]
        assert 1 <= len(examples) <= 6 and {example["lang"] for example in examples} == {expected}
        assert len({example["text"] for example in examples}) == len(examples)
        assert browsed.get("/api/examples", lang=lang).json["examples"] == examples


def test_the_newest_on_the_command_line(album: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["search", str(album), "--after", "2021-05-01", "--before", "2021-05-31", "-k", "1"])
    assert capsys.readouterr().out == f"   1  2021-05-04 09:30  {album.parent / 'trip' / '1.jpg'}\n"
    main(["search", str(album), "--area", "48,2,49,3", "--json"])
    (picture,) = json.loads(capsys.readouterr().out)
    assert Path(picture["path"]).name == "0.jpg" and picture["camera"] == "SONY ILCE-7M3"
    with pytest.raises(SystemExit) as end:
        main(["search", str(album), "--area", "1,2"])
    assert end.value.code == 2 and "write four numbers" in capsys.readouterr().err
    assert Collection.open(album).browse(k=1, where=Filter(format="tiff")) == []

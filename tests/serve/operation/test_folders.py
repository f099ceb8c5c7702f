"""`lingvis serve FOLDER`: indexed at the first start, brought up to date at the next, with the model that ships."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest

from lingvis.cli import main
from lingvis.collection.places import default_place, is_picture_folder
from lingvis.errors import UserError
from lingvis.serve.operation.folders import kept_indexed

from ...collection.conftest import make_pictures
from ..conftest import Client, serving


def test_default_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    one, other = tmp_path / "a" / "My Pictures (2024)", tmp_path / "b" / "My Pictures (2024)"
    for folder in (one, other):
        folder.mkdir(parents=True)
    (tmp_path / "link").symlink_to(one)
    place = default_place(one)
    assert place.parent == tmp_path / "data" / "lingvis" / "collections"
    assert place.name.startswith("My-Pictures-2024-") and place.suffix == ".lv"
    assert default_place(tmp_path / "link") == place != default_place(other)
    monkeypatch.chdir(one)
    assert default_place(".") == place and default_place("/").name.startswith("pictures-")
    assert is_picture_folder(one) and not is_picture_folder("postgresql://me@db/x")


def names(client: Client) -> list[str]:
    hits = client.search("a picture", k=50).json["hits"]
    return sorted(Path(hit["path"]).name for hit in hits)


def test_serve_search_and_index_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    photos = tmp_path / "photos"
    first, second, third = make_pictures(photos, 3)
    with pytest.raises(SystemExit):
        main(["search", str(photos), "a dog"])
    assert f"not indexed yet; index them with: lingvis index {photos}" in capsys.readouterr().err
    assert not (tmp_path / "data").exists()
    with serving(str(photos), log=tmp_path / "log") as (port, _):
        client = Client(port, {})
        assert names(client) == ["000.png", "001.png", "002.png"]
        assert client.get("/api/collection").json["model"] == "lingvis-base"
    assert f"{default_place(photos)}: 3 pictures; 3 added" in (tmp_path / "log").read_text()

    first.unlink()
    second.write_bytes(make_pictures(tmp_path / "elsewhere", 1, first=50)[0].read_bytes())
    make_pictures(photos, 1, first=9)
    with serving(str(photos), log=tmp_path / "log") as (port, _):
        client, deadline = Client(port, {}), time.monotonic() + 60
        while names(client) != ["001.png", "002.png", "009.png"] and time.monotonic() < deadline:
            time.sleep(0.2)
        while "pruned" not in (log := (tmp_path / "log").read_text()) and time.monotonic() < deadline:
            time.sleep(0.2)
    assert "3 pictures; 1 added, 1 updated, 1 unchanged, 1 pruned" in log

    third.unlink()
    main(["index", str(photos)])
    assert "2 pictures; 0 added, 0 updated, 2 unchanged, 1 pruned" in capsys.readouterr().out
    main(["search", str(photos), "a dog", "-k", "9"])
    lines = capsys.readouterr().out.splitlines()
    assert sorted(line.rpartition("/")[2] for line in lines if "/" in line) == ["001.png", "009.png"]


def test_a_named_collection_and_the_end_of_the_other_process(home: Path, tmp_path: Path) -> None:
    """Indexing takes longer than the server lives; both end together."""
    photos = tmp_path / "photos"
    make_pictures(photos, 1500)
    place, model = shutil.copytree(home / "photos.lv", tmp_path / "own.lv"), home / "model"
    with serving(str(photos), "--collection", str(place), "--model", str(model), log=tmp_path / "log") as (
        port,
        pid,
    ):
        assert len(names(Client(port, {}))) >= 9
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        command = Path(f"/proc/{children[0]}/cmdline").read_bytes()
        assert b"index" in command and str(place).encode() in command
    assert not any(Path(f"/proc/{child}").exists() for child in children)
    assert "is being indexed" in (tmp_path / "log").read_text()


def test_refusals(home: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    model, place = home / "model", str(tmp_path / "x.lv")
    with (
        pytest.raises(
            UserError, match="empty holds no pictures that can be indexed; name a folder of pictures"
        ),
        kept_indexed(str(empty), collection=place, model=model, device="cpu"),
    ):
        pass
    with (
        pytest.raises(UserError, match=r"photos.lv is no folder of pictures"),
        kept_indexed(str(home / "photos.lv"), collection="x.lv"),
    ):
        pass
    with pytest.raises(SystemExit), kept_indexed(str(empty), model=tmp_path / "none", collection=f"{place}2"):
        pass

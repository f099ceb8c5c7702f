"""The engine of a collection in a folder: SQLite unless another is named, kept until a rebuild names another."""

from __future__ import annotations

from pathlib import Path

import pytest

from lingvis.cli import main
from lingvis.collection.collection import Collection
from lingvis.collection.rebuilds import RebuiltError
from lingvis.collection.stores.lance.store import LanceStore
from lingvis.collection.stores.sqlite.store import SqliteStore
from lingvis.errors import UserError


def test_a_rebuild_moves_a_collection_to_another_engine(
    model: Path, photos: Path, collection: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["index", collection, str(photos), "--device", "cpu"]
    main([*command, "--model", str(model)])
    opened = Collection.open(collection, device="cpu")
    first = opened.search("the house", lang="en", k=3)
    assert isinstance(opened.store, SqliteStore) and len(first) == 3
    with pytest.raises(SystemExit) as ended:
        main([*command, "--engine", "lance"])
    assert ended.value.code == 2
    assert f"lingvis: collection {collection} is on engine sqlite, not lance; " in capsys.readouterr().err
    main([*command, "--model", str(model), "--engine", "lance", "--rebuild"])
    with pytest.raises(RebuiltError, match="was rebuilt on another engine; open it again"):
        opened.search("the house", lang="en")
    moved = opened.reopened()
    assert isinstance(moved.store, LanceStore)
    again = moved.search("the house", lang="en", k=3)
    assert [(hit.rank, hit.path) for hit in again] == [(hit.rank, hit.path) for hit in first]
    assert [hit.score for hit in again] == pytest.approx([hit.score for hit in first], abs=1e-6)
    assert moved.add([photos]).unchanged == 5 and isinstance(moved.store, LanceStore)


def test_an_unknown_engine_is_told_before_anything_is_made(
    model: Path, photos: Path, collection: str
) -> None:
    for make in (
        lambda: Collection.create(collection, model, engine="duck", device="cpu"),  # type: ignore[arg-type]
        lambda: Collection(collection, model=model, engine="duck", device="cpu").add([photos]),  # type: ignore[arg-type]
    ):
        with pytest.raises(UserError, match="unknown engine 'duck'; choose one of: lance, sqlite"):
            make()
    assert not Path(collection).exists()

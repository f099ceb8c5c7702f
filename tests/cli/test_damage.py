"""Every file of every folder that we read, damaged in every way: a result or one sentence, never a traceback."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from lingvis.cli import main
from lingvis.collection.collection import Collection
from lingvis.training.run import train

from ..collection.conftest import make_model, make_pictures
from ..conftest import make_rich_dataset
from ..damage import FEW, check_every_file
from ..training.small_runs import Killed, kill_at

SMALL = ["data.features=toy-grid", "image.encoder.dim=8", "text.encoder.dim=8", "training.epochs=1"]
SMALL += ["text.tokenizer.min_count=1", "text.words.dim=8", "training.batch_size=16"]


OPEN = ("*-shm", "*-wal")  # files of a database that go when its last connection closes


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_rich_dataset(tmp_path_factory.mktemp("data") / "rich")


@pytest.fixture(scope="module")
def trained(dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("runs") / "run"
    train("demo", dataset, run, overrides=SMALL, device="cpu")
    return run


def test_model_folder(
    trained: Path, dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def commands(run: Path) -> list[list[str]]:
        return [["evaluate", str(run), str(dataset), "--device", "cpu"]]

    ignored = ["events.*", "*.png", "*.md", "log.jsonl", "recipe.toml"]
    assert check_every_file(trained, tmp_path, commands, capsys, ignored=ignored)


def test_model_folder_with_a_transformer(
    dataset: Path, tiny_bert: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bert = [f"text.{part}.model={tiny_bert}" for part in ("tokenizer", "words")]
    small = [each for each in SMALL if not each.startswith(("text.words", "text.tokenizer"))]
    run = train(
        "vse_infinity_bert",
        dataset,
        tmp_path / "made" / "run",
        overrides=[*small, "image.encoder.hidden=8", *bert],
        device="cpu",
    ).path

    def commands(run: Path) -> list[list[str]]:
        return [["evaluate", str(run), str(dataset), "--device", "cpu"]]

    ignored = [
        "events.*",
        "*.png",
        "*.md",
        "log.jsonl",
        "recipe.toml",
        "model.safetensors",
        "run/config.json",
    ]
    assert check_every_file(run, tmp_path, commands, capsys, ignored=ignored, kinds=FEW)


def test_unfinished_run(
    dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "begun" / "run"
    recipe = ["train", "la", str(dataset), "--device", "cpu", *SMALL]
    recipe += [
        "image.encoder.hidden=8",
        "text.head.dim=8",
        "text.words.vector_dim=4",
        "training.checkpoint_seconds=0",
    ]
    recipe += [
        "data.vectors=captions",
        "pretraining.tokens=9",
        "pretraining.among=3",
        "pretraining.epochs=1",
        "text.words.vector_dim=4",
    ]
    kill_at(2, monkeypatch)
    with pytest.raises(Killed):
        main([*recipe, "--out", str(run)])
    monkeypatch.undo()

    def commands(copy: Path) -> list[list[str]]:
        return [[*recipe, "--out", str(copy), "--resume"]]

    ignored = ["events.*", "run.json", "*.jsonl"]
    assert check_every_file(run, tmp_path, commands, capsys, ignored=ignored, kinds=FEW)


def test_dataset(dataset: Path, trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def evaluate(copy: Path) -> list[list[str]]:
        return [["evaluate", str(trained), str(copy), "--device", "cpu"]]

    def show(copy: Path) -> list[list[str]]:
        return [["data", "show", str(copy)]]

    ignored = ["*.png", "vectors/*/*", "text-only.jsonl"]
    assert check_every_file(dataset, tmp_path, evaluate, capsys, ignored=ignored, kinds=FEW)
    ignored = ["*.png", "vectors/*/*", "features/*/*"]
    assert check_every_file(dataset, tmp_path, show, capsys, ignored=ignored, kinds=FEW)


def test_word_vectors(dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def commands(copy: Path) -> list[list[str]]:
        shutil.rmtree(tmp_path / "new", ignore_errors=True)
        recipe = ["train", "embn", str(copy), *SMALL]
        recipe += ["image.encoder.hidden=8", "text.head.dim=8", "text.words.vector_dim=6"]
        return [[*recipe, "--device", "cpu", "--out", str(tmp_path / "new")]]

    assert check_every_file(
        dataset, tmp_path, commands, capsys, ignored=["*.png", "*.jsonl", "features/*/*"], kinds=FEW[:4]
    )


def test_collection(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, photos = make_model(tmp_path / "model"), tmp_path / "photos"
    make_pictures(photos, 3)
    collection = tmp_path / "made" / "c.lv"
    Collection(collection, model=run, device="cpu").add([photos])
    make_pictures(photos, 1, first=3)

    def search(copy: Path) -> list[list[str]]:
        return [["search", str(copy), "a dog", "--device", "cpu"]]

    def index(copy: Path) -> list[list[str]]:
        return [["index", str(copy), str(photos), "--device", "cpu"]]

    assert check_every_file(collection, tmp_path, search, capsys, ignored=["*.txn", "lock", *OPEN], kinds=FEW)
    kinds = ("random", "cut off", "missing")
    assert check_every_file(collection, tmp_path, index, capsys, ignored=["*.txn", *OPEN], kinds=kinds)

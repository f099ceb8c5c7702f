"""The studies of the shipped model: records per precision, and the card that is made from them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from lingvis.data.dataset import write_rows
from lingvis.data.rows import Row
from lingvis.features.extract import extract
from lingvis.model.compress import compress
from lingvis.model.folder import ModelConfig
from studies.__main__ import main
from studies.pretrained.report import precision_table
from studies.records import RUNS, append, read
from studies.tables.results.records import Results

from ..model.live_model import make_live_model
from ..pretrained.test_pretrained import SECTIONS

COUNT = 6


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six pictures of split test with captions in two languages, six of split val with three."""
    folder = tmp_path_factory.mktemp("pretrained") / "data"
    (folder / "images").mkdir(parents=True)
    rows = []
    for number in range(2 * COUNT):
        name, split = f"{number}.png", "test" if number < COUNT else "val"
        Image.new("RGB", (24, 16), (20 * number, 200 - 15 * number, 90)).save(folder / "images" / name)
        captions = {"en": [f"word{number} of {number}"], "de": [f"Wort {number}"]}
        if split == "val":
            captions["bo"] = [f"ཚིག {number}"]
        rows.append(Row.model_validate({"image": name, "split": split, "captions": captions}, strict=False))
    write_rows(folder / "captions.jsonl", rows)
    extract(folder, kind="pixels", device="cpu")
    return folder


@pytest.fixture(scope="module")
def run(dataset: Path) -> Path:
    sentences = {"en": ["word3 of 3"], "de": ["Wort 2"], "bo": ["ཚིག 8"]}
    return make_live_model(dataset.parent / "run", sentences)


@pytest.fixture(scope="module")
def results(dataset: Path, run: Path) -> Path:
    """results/, with the records of the run on both splits."""
    folder = dataset.parent / "results"
    for name, split in (("lingvis-base", "test"), ("trained-on-train", "val")):
        measure(run, dataset, folder, "--name", name, "--split", split)
    return folder


def measure(run: Path, dataset: Path, results: Path, *options: str) -> None:
    out = ["--out", str(results / "precision"), "--protocol", "all", "--device", "cpu"]
    main(["precision", str(run), str(dataset), *options, *out])


def test_every_precision_has_a_record_and_is_measured_once(
    run: Path, dataset: Path, results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = [record for record in read(results / "precision" / RUNS) if record["split"] == "test"]
    assert [record["name"] for record in records] == [
        f"lingvis-base/test/{weights}" for weights in ("float32", "float16", "int8")
    ]
    whole, half, quarter = (record["weight_bytes"] for record in records)
    assert whole == (run / "model.safetensors").stat().st_size
    assert 0.49 < half / whole < 0.52 and 0.24 < quarter / whole < 0.30
    assert len({record["image_fingerprint"] for record in records}) == 3
    for record in records:
        assert sorted(record["languages"]) == ["de", "en"]
        assert 0 < record["ms_per_sentence"] < 10_000 and 0 < record["ms_per_picture"] < 10_000
    before = (results / "precision" / RUNS).read_bytes()
    measure(run, dataset, results, "--name", "lingvis-base")
    assert (results / "precision" / RUNS).read_bytes() == before
    assert "lingvis-base/test/int8: " in capsys.readouterr().out
    other = make_live_model(dataset.parent / "other", {"en": ["x"], "de": ["y"]})
    config = ModelConfig.read(other).model_copy(update={"image_fingerprint": "another"})
    config.write(other)
    with pytest.raises(SystemExit):
        measure(other, dataset, results, "--name", "lingvis-base")
    assert "was measured with another model, data or protocol" in capsys.readouterr().err


def write_card(model: Path, results: Path, validation: str = "trained-on-train") -> None:
    main(["card", str(model), "--validation", validation, "--results", str(results / "precision")])


def with_scores(results: Path, target: Path, change: float) -> Path:
    """A copy of the records on test in which int8 changes mR and A by a number."""
    for record in read(results / "precision" / RUNS):
        scores: dict[str, Any] = record["languages"]
        base = {"en": 50.0, "de": 40.0, "bo": 30.0}
        more = change if record["weights"] == "int8" else 0.0
        for lang, each in scores.items():
            each["mR"] = base[lang] + more
        append(target / "precision" / RUNS, {**record, "A": 45.0 + more})
    return target


def test_the_card_has_the_numbers_of_the_records(
    run: Path, results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "lingvis-base"
    compress(run, model)
    stored = with_scores(results, tmp_path / "results", -0.25)
    write_card(model, stored)
    assert "at most 0.25 mR lost in int8" in capsys.readouterr().out
    card = (model / "card.md").read_text(encoding="utf-8")
    headings = [line.removeprefix("## ") for line in card.splitlines() if line.startswith("## ")]
    assert headings == SECTIONS
    rows = {line.split(" | ")[0]: line for line in card.splitlines() if line.startswith("| ")}
    assert rows["| en"].startswith("| en | human | test | ") and rows["| en"].endswith(" | 49.8 |")
    assert rows["| bo"].startswith("| bo | machine translation, proofread | val * | ")
    assert rows["| bo"].endswith(" | 29.8 |")
    assert "A changes from 45.00 to 44.75; the language that loses most loses 0.25 mR" in card
    assert "on split train and val of" in card
    (record,) = [
        each for each in read(stored / "precision" / RUNS) if each["name"] == "lingvis-base/test/int8"
    ]
    assert f"- {record['parameters']['total']:,} parameters: " in card
    assert f"{record['ms_per_picture']:.0f} ms per picture" in card
    assert "non-commercial research and education" in card
    assert "starts from efficientnet-lite2, trained" in card  # the network of recipe lingvis


def test_the_card_is_not_written_for_another_model_or_too_much_loss(
    run: Path, results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "lingvis-base"
    compress(run, model)
    before = (model / "card.md").read_bytes()
    for records, validation, problem in (
        (with_scores(results, tmp_path / "lossy", -0.5), "trained-on-train", "int8 loses 0.50 mR on average"),
        (results, "unheard-of", "has no record unheard-of/val/int8; measure it with"),
        (tmp_path / "empty", "trained-on-train", "has no record lingvis-base/test of this model"),
    ):
        with pytest.raises(SystemExit):
            write_card(model, records, validation)
        assert problem in capsys.readouterr().err
    config = json.loads((model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps({**config, "image_fingerprint": "0" * 64}))
    with pytest.raises(SystemExit):
        write_card(model, results)
    assert (
        "has no record lingvis-base/test of this model (image side 000000000000)" in capsys.readouterr().err
    )
    assert (model / "card.md").read_bytes() == before


def test_the_table_compares_precisions(results: Path, tmp_path: Path) -> None:
    stored = with_scores(results, tmp_path, -0.25)
    lines = precision_table(Results(stored)).splitlines()
    assert lines[0].startswith("| weights | ")
    assert [line.split(" | ")[0] for line in lines[2:5]] == ["| float32", "| float16", "| int8"]
    assert " | 50.00 | " in lines[2] and " | 49.75 | " in lines[4]
    assert "not been measured" in precision_table(Results(tmp_path / "none"))

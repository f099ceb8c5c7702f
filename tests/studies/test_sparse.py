"""The sparse-annotation study from the command to the picture, on a dataset of 36 pictures."""

from __future__ import annotations

import csv
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from lingvis.data.dataset import Dataset
from lingvis.errors import UserError
from lingvis.features.detect import detect
from lingvis.training.sources.collect import collect_sentences
from lingvis.training.validate import load_recipe
from studies import grid
from studies.sparse.cells import Annotation
from studies.sparse.methods import ABLATIONS
from studies.sparse.report import ablation_table, draw_curve, sparse_csv, sparse_table
from studies.sparse.run import run_sparse_study

from ..conftest import make_rich_dataset

SMALL = [
    "data.features=toy-grid",
    "training.batch_size=4",
    "training.epochs=1",
    "image.encoder.dim=16",
    "text.encoder.dim=16",
    "text.words.dim=16",
    "text.tokenizer.min_count=1",
]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With `global` detections that tell the thing, and not its colour."""
    folder = make_rich_dataset(tmp_path_factory.mktemp("bench") / "rich")
    opened = Dataset.open(folder)
    lines = []
    for row in opened.rows:
        regions = [
            {"box": [0.0, 0.0, 8.0, 8.0], "label": region.label, "score": 0.8} for region in row.regions
        ]
        lines.append(json.dumps({"image": row.image, "regions": regions}))
    file = folder.parent / "global.jsonl"
    file.write_text("\n".join(lines))
    detect(opened, f"regions:{file}", name="global")
    return folder


def run(dataset: Path, folder: Path, **options: Any) -> list[dict[str, Any]]:
    given: dict[str, Any] = {
        "images": (0.5,),
        "per_image": (1,),
        "seeds": (0,),
        "overrides": SMALL,
        "work": folder / "work",
        "device": "cpu",
    }
    return run_sparse_study(dataset, folder / "out", **{**given, **options})


@pytest.fixture(scope="module")
def measured(dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All methods at one sparsity, and all ablations, by the command itself in two processes."""
    folder = tmp_path_factory.mktemp("measured")
    arguments = ["sparse", str(dataset), *SMALL, "--images", "0.5", "--per-image", "1"]
    arguments += ["--seeds", "0", "--ablations", "--at-once", "2", "--device", "cpu"]
    arguments += ["--out", str(folder / "out"), "--work", str(folder / "work")]
    done = subprocess.run(
        [sys.executable, "-m", "studies", *arguments],
        env={**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "160"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    (folder / "printed.txt").write_text(done.stdout)
    return folder


def records(measured: Path) -> dict[str, dict[str, Any]]:
    return {file.stem: json.loads(file.read_text()) for file in (measured / "out" / "runs").iterdir()}


def test_the_command_writes_records_rows_and_a_picture(measured: Path) -> None:
    found = records(measured)
    methods = ["a3vse", "vsepp", "vse_infinity_region", "scan_t2i"]
    expected = {f"{method}-0.5x1-0" for method in methods} | {"s_g"}
    assert set(found) == expected | {f"{name}-0.1x5-0" for name in ("a3vse", *ABLATIONS)}
    rows = list(csv.DictReader((measured / "out" / "sparse.csv").open()))
    assert len(rows) == 2 * len(found)
    for row in rows:
        drawn = f"-{row['images']}x{row['per_image']}-{row['seed']}"
        name = row["method"] + ("" if row["method"] == "s_g" else drawn)
        result = found[name]["result"]
        assert float(row["R@5"]) == pytest.approx(result[row["direction"]]["R@5"], abs=0.01)
        assert float(row["mR"]) == pytest.approx(result["mR"], abs=0.01)
        assert int(row["pairs"]) == found[name]["pairs"]
    with Image.open(measured / "out" / "sparse.png") as picture:
        assert picture.width > picture.height > 500
    printed = (measured / "printed.txt").read_text()
    for label in ("A3VSE", "VSE++", "SCAN t2i", "s_g", "without attention", "full model"):
        assert label in printed
    assert not any((measured / "work").iterdir())


def test_all_methods_learn_from_the_same_annotation_for_as_many_steps(dataset: Path, measured: Path) -> None:
    found = records(measured)
    learnt = [found[name] for name in found if name.endswith("-0.5x1-0")]
    assert len({each["annotation_sha256"] for each in learnt}) == 1
    assert {each["pairs"] for each in learnt} == {10}  # of 19 pictures, one caption each
    for each in found.values():
        if "recipe" in each:
            # 38 captions in batches of 4: half of nine steps.
            assert each["recipe"]["training"]["sampling"]["least_steps"] == 4
            assert each["recipe"]["data"]["features"] == "toy-grid"
    given = [*SMALL, "data.images=0.5", "data.per_image=1", "training.seed=3"]
    opened = Dataset.open(dataset)
    sentences = collect_sentences(load_recipe("vsepp", given), opened, ["en"])
    drawn = Annotation.draw(opened, "en", 0.5, 1, 3)
    assert drawn.pairs == len(sentences.texts)
    assert drawn == Annotation.draw(opened, "en", 0.5, 1, 3)
    assert drawn.sha256 != Annotation.draw(opened, "en", 0.5, 1, 4).sha256


def test_an_ablation_is_one_change(measured: Path) -> None:
    found = records(measured)
    full = found["a3vse-0.1x5-0"]["recipe"]
    changes = {}
    for name in ABLATIONS:
        recipe = found[f"{name}-0.1x5-0"]["recipe"]
        changes[name] = {key: recipe[key] for key in recipe if recipe[key] != full[key]}
    terms = full["terms"]["domains"]
    assert changes == {
        "no-s": {"pseudo": {**full["pseudo"], "weight": 0.0}},
        "swap-s_g": {"pseudo": {**full["pseudo"], "detections": "global"}},
        "no-attention": {
            "image": {**full["image"], "pooling": {"name": "mean"}},
            "text": {**full["text"], "pooling": {"name": "mean"}},
        },
        "no-adversaries": {"terms": {"domains": {**terms, "weight": 0.0}}},
        "no-intra": {"terms": {"domains": {**terms, "intra": [0.0, 0.0]}}},
        "no-cross": {"terms": {"domains": {**terms, "cross": [0.0, 0.0]}}},
        "no-transitive": {"terms": {"domains": {**terms, "transitive": [0.0, 0.0]}}},
    }
    assert found["a3vse-0.1x5-0"]["pairs"] == 4


def test_a_record_says_how_it_was_made_and_names_no_folder(measured: Path) -> None:
    file = measured / "out" / "runs" / "a3vse-0.5x1-0.json"
    record = json.loads(file.read_text())
    assert record["selection"] == "epoch of best mR on val, then test once"
    assert record["training"]["validation_mR"] == pytest.approx(
        max(score for _, score in record["validation"])
    )
    assert str(measured) not in file.read_text()
    tags = json.loads((measured / "out" / "runs" / "s_g.json").read_text())
    assert (tags["tags"], tags["matching"]) == ("global", "the same words, letter by letter")
    assert (tags["different_tags"], tags["wordnet_sha256"], tags["pairs"]) == (5, "", 0)
    assert tags["result"]["mR"] > tags["result"]["chance"]


def test_nothing_is_trained_again_and_other_values_do_not_mix(
    dataset: Path, measured: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grid, "train", lambda *_, **__: pytest.fail("trained again"))
    assert len(run(dataset, measured, ablations=True)) == 13
    with pytest.raises(UserError, match="was measured with other data or values; choose another --out"):
        run(dataset, measured, overrides=[*SMALL, "training.epochs=2"])
    with pytest.raises(UserError, match=r"s_g\.json was measured with other data or values"):
        run(dataset, measured, methods=["s_g"], tags="")


def test_a_run_that_fails_does_not_keep_the_others(dataset: Path, tmp_path: Path) -> None:
    mine = tmp_path / "work" / "vsepp-0.5x1-0"
    mine.mkdir(parents=True)
    (mine / "letter.txt").write_text("mine")
    with pytest.raises(UserError) as caught:
        run(dataset, tmp_path, methods=["vsepp", "s_g", "a3vse"], keep=True)
    told = str(caught.value)
    assert "1 run failed, all others are kept:\n  vsepp-0.5x1-0: " in told and "is not empty" in told
    assert {file.stem for file in (tmp_path / "out" / "runs").iterdir()} == {"a3vse-0.5x1-0", "s_g"}
    assert len((tmp_path / "out" / "sparse.csv").read_text().splitlines()) == 1 + 2 * 2
    assert (tmp_path / "work" / "a3vse-0.5x1-0" / "model.safetensors").exists()


def test_all_annotations_are_learnt_from_without_detectors(dataset: Path, tmp_path: Path) -> None:
    (record,) = run(dataset, tmp_path, methods=["a3vse"], images=[1.0], per_image=[0])
    assert (record["pairs"], record["recipe"]["pseudo"]["weight"]) == (38, 0)
    assert (tmp_path / "out" / "runs" / "a3vse-1xall-0.json").exists()


def test_what_learns_without_detectors_asks_for_none(dataset: Path, tmp_path: Path) -> None:
    options = {"methods": ["no-s"], "images": [0.5], "per_image": [1]}
    (record,) = run(dataset, tmp_path, overrides=[*SMALL, "pseudo.detections=nothing"], **options)
    assert record["recipe"]["pseudo"] | {"weight": 0, "detections": "nothing"} == record["recipe"]["pseudo"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"methods": ["a4vse"]},
            "unknown method 'a4vse'; choose among: a3vse, no-adversaries, no-attention",
        ),
        ({"images": [0.0]}, "--images has 0; give shares above 0 and up to 1"),
        ({"images": [1.5]}, "--images has 1.5"),
        ({"images": [0.001]}, "leaves none of 19 training images"),
        ({"per_image": [-1]}, "--per-image has -1; give 1 or more captions, or 0 for all"),
        ({"seeds": []}, "--images, --per-image and --seeds need a number each"),
        ({"at_once": 0}, "--at-once is 0; give 1 or more"),
        ({"lang": "de"}, "--lang is de, but s_g matches the names that detectors give, which are in en"),
        ({"tags": "places"}, "detections/places; make them with"),
        ({"tags": "", "ablations": True}, "--tags is '', but the ablation swap-s_g swaps"),
        ({"methods": ["a3vse"], "overrides": [*SMALL, "pseudo.detections=nothing"]}, "detections/nothing"),
        ({"wordnet": Path("nowhere")}, "data.noun cannot be read"),
        ({"overrides": ["data.features=nothing"]}, "features/nothing"),
        ({"overrides": [*SMALL, "training.epochs=0"]}, "training.epochs"),
    ],
)
def test_wrong_values_get_a_sentence(
    options: dict[str, Any], sentence: str, dataset: Path, tmp_path: Path
) -> None:
    with pytest.raises(UserError) as caught:
        run(dataset, tmp_path, **options)
    assert sentence in str(caught.value)
    assert not (tmp_path / "out").exists()


def made_up(method: str, images: float, per_image: int, seed: int, value: float) -> dict[str, Any]:
    recalls = {"R@1": value, "R@5": value + 1, "R@10": value + 2}
    back = {key: number + 10 for key, number in recalls.items()}
    drawn = {
        "images": images,
        "per_image": per_image,
        "pairs": round(1000 * images * per_image),
        "seed": seed,
    }
    about = {"method": method, **drawn, "lang": "en", "split": "test"}
    return {**about, "result": {"t2i": recalls, "i2t": back, "mR": value + 6}}


def test_tables_and_rows_are_means_and_numbers_of_the_records(tmp_path: Path) -> None:
    found = [
        made_up("s_g", 0.0, 0, 0, 2.0),
        made_up("a3vse", 0.1, 5, 0, 20.0),
        made_up("a3vse", 0.1, 5, 1, 23.0),
        made_up("no-s", 0.1, 5, 0, 10.0),
        made_up("vsepp", 0.5, 1, 0, 11.0),
        made_up("vsepp", 0.2, 1, 0, 7.0),
    ]
    deviation = statistics.stdev([26.0, 29.0])
    assert sparse_table(found) == (
        ["images", "captions each", "pairs", "A3VSE", "VSE++", "s_g"],
        [
            ["20%", "1", "200", "", "13.0", "8.0"],
            ["10%", "5", "500", f"27.5 ± {deviation:.1f}", "", "8.0"],
            ["50%", "1", "500", "", "17.0", "8.0"],
        ],
    )
    elsewhere = sparse_table([*found, made_up("no-s", 0.2, 1, 0, 3.0)])
    assert elsewhere[0][3:] == ["A3VSE", "VSE++", "A3VSE, no s", "s_g"]
    assert [row[5] for row in elsewhere[1]] == ["9.0", "16.0", ""]
    head, rows = ablation_table(found)
    assert head[:4] == ["A3VSE", "t2i R@1", "t2i R@5", "t2i R@10"]
    assert [row[0] for row in rows] == ["no s", "full model"]
    assert rows[0][1:] == ["10.0", "11.0", "12.0", "20.0", "21.0", "22.0", "16.0"]
    assert ablation_table(found[:3])[1] == []
    lines = sparse_csv(found).splitlines()
    assert lines[0] == "method,images,per_image,pairs,seed,direction,R@1,R@5,R@10,mR,split"
    assert lines[3] == "a3vse,0.1,5,500,0,t2i,20.00,21.00,22.00,26.00,test"
    for name, some in (("all", found), ("tags", found[:1]), ("learnt", found[1:])):
        draw_curve(some, tmp_path / f"{name}.png")
        assert (tmp_path / f"{name}.png").stat().st_size > 10_000

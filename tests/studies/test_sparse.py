"""The sparse-annotation study from the command to the picture, on a dataset of 36 pictures."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import statistics
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from lingvis.data.dataset import Dataset
from lingvis.errors import UserError
from lingvis.features.detect import detect
from lingvis.training.run import open_with_features
from lingvis.training.sources.collect import collect_sentences
from lingvis.training.validate import load_recipe
from studies import grid
from studies.__main__ import main
from studies.recipe_values import values_of
from studies.records import RUNS, Record, read
from studies.sparse.cells import Annotation, SparseSetting
from studies.sparse.grid import trained_cells
from studies.sparse.methods import ABLATED, ABLATIONS, METHODS, ablations_of
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
    """A dataset with `global` detections that name the thing and not its colour."""
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
    """All methods and one ablation, at the sparsity of ablations, by the command itself."""
    folder = tmp_path_factory.mktemp("measured")
    arguments = ["sparse", str(dataset), *SMALL, "--images", "0.1", "--per-image", "5", "--seeds", "0"]
    arguments += ["--methods", *METHODS, "no-attention", "--device", "cpu"]
    arguments += ["--out", str(folder / "out"), "--work", str(folder / "work")]
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()) as printed:
        patch.setenv("COLUMNS", "160")
        main(arguments)
    (folder / "printed.txt").write_text(printed.getvalue())
    return folder


def records(folder: Path) -> dict[str, Record]:
    """Records by name; `values`: all values of the recipe."""
    out = folder / "out"
    stored = {record["name"]: record for record in read(out / RUNS)}
    return {
        name: record | ({"values": values_of(record, out)} if "base" in record else {})
        for name, record in stored.items()
    }


def test_the_command_writes_records_rows_and_a_picture(measured: Path) -> None:
    found = records(measured)
    methods = ["a3vse", "vsepp", "vse_infinity_region", "scan_t2i", "dpc", "dan", "no-attention"]
    assert set(found) == {f"{method}-0.1x5-0" for method in methods} | {"s_g"}
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
    for label in ("A3VSE", "VSE++", "SCAN t2i", "DPC", "DAN", "s_g", "without attention", "full model"):
        assert label in printed
    assert not any((measured / "work").iterdir())


def test_all_methods_have_the_same_annotation_and_steps(dataset: Path, measured: Path) -> None:
    found = records(measured)
    learnt = [found[name] for name in found if name.endswith("-0.1x5-0")]
    assert len({each["annotation_sha256"] for each in learnt}) == 1
    assert {each["pairs"] for each in learnt} == {4}  # of 19 pictures two, two captions each
    for each in found.values():
        if "values" in each:
            # 38 captions in batches of 4: half of nine steps.
            assert each["values"]["training"]["sampling"]["least_steps"] == 4
            assert each["values"]["data"]["features"] == "toy-grid"
    given = [*SMALL, "data.images=0.5", "data.per_image=1", "training.seed=3"]
    opened = Dataset.open(dataset)
    sentences = collect_sentences(load_recipe("vsepp", given), opened, ["en"])
    drawn = Annotation.draw(opened, "en", 0.5, 1, 3)
    assert drawn.pairs == len(sentences.texts)
    assert drawn == Annotation.draw(opened, "en", 0.5, 1, 3)
    assert drawn.sha256 != Annotation.draw(opened, "en", 0.5, 1, 4).sha256


def test_an_ablation_is_one_change(dataset: Path, tmp_path: Path) -> None:
    opened, store = open_with_features(dataset, "toy-grid")
    setting = SparseSetting(
        dataset=dataset,
        dataset_sha256=opened.fingerprint,
        overrides=(*SMALL, "pseudo.detections=joined"),
        out=tmp_path,
        work=tmp_path,
        device="cpu",
        lang="en",
        split="test",
        features="toy-grid",
        pairs=38,
        tags="global",
        wordnet=None,
        wordnet_sha256="",
        keep=False,
    )
    grid = [(method, *ABLATED) for method in ("a3vse", *ABLATIONS)]
    cells = trained_cells(setting, opened, store, grid, [0])
    assert [cell.name for cell in cells] == [f"{name}-0.1x5-0" for name in ("a3vse", *ABLATIONS)]
    assert len({cell.identity for cell in cells}) == len(cells)
    full, *ablated = [cell.values() for cell in cells]
    changes = {
        name: {key: values[key] for key in values if values[key] != full[key]}
        for name, values in zip(ABLATIONS, ablated, strict=True)
    }
    terms = full["terms"]

    def changed(term: str, **values: Any) -> dict[str, Any]:
        return {**terms, term: {**terms[term], **values}}

    assert changes == {
        "no-s": {
            "pseudo": {"name": "none"},
            "terms": {**changed("pseudo", weight=0.0), "matching": {**terms["matching"], "weight": 1.0}},
        },
        "swap-s_g": {"pseudo": {**full["pseudo"], "detections": "global"}},
        "regions": {"pseudo": {**full["pseudo"], "detections": ""}},
        "no-attention": {
            "image": {**full["image"], "pooling": {"name": "mean"}},
            "text": {**full["text"], "pooling": {"name": "mean"}},
        },
        "no-adversaries": {"terms": changed("domains", weight=0.0)},
        "no-intra": {"terms": changed("domains", intra=[0.0, 0.0])},
        "no-cross": {"terms": changed("domains", cross=[0.0, 0.0])},
        "no-transitive": {"terms": changed("domains", transitive=[0.0, 0.0])},
    }


def test_a_record_is_complete_and_names_no_folder(measured: Path) -> None:
    record = records(measured)["a3vse-0.1x5-0"]
    assert (record["study"], record["recipe"]) == ("sparse", "a3vse")
    assert (record["images"], record["per_image"], record["pairs"]) == (0.1, 5, 4)
    assert record["overrides"]["data.features"] == "toy-grid"
    assert record["selection"] == "epoch of best mR on val, then test once"
    assert record["training"]["validation_mR"] == pytest.approx(
        max(score for _, score in record["validation"])
    )
    assert str(measured) not in (measured / "out" / RUNS).read_text()
    tags = records(measured)["s_g"]
    assert (tags["tags"], tags["matching"]) == ("global", "the same words, letter by letter")
    assert (tags["different_tags"], tags["wordnet_sha256"], tags["pairs"]) == (5, "", 0)
    assert tags["result"]["mR"] > tags["result"]["chance"]
    assert "count against the model" in tags["ties"]
    for way in ("i2t", "t2i"):  # at random a tie is lost less often
        assert tags["random_ties"][way]["R@1"] >= tags["result"][way]["R@1"]


def test_nothing_is_trained_again_and_other_values_do_not_mix(
    dataset: Path, measured: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grid, "train", lambda *_, **__: pytest.fail("trained again"))
    same = {"images": [0.1], "per_image": [5]}
    assert len(run(dataset, measured, **same)) == 7
    with pytest.raises(UserError, match="was measured with other data or values; choose another --out"):
        run(dataset, measured, overrides=[*SMALL, "training.epochs=2"], **same)
    with pytest.raises(UserError, match=r"record s_g of .* was measured with other data or values"):
        run(dataset, measured, methods=["s_g"], tags="")


def test_the_ablations_join_the_methods(
    dataset: Path, measured: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_training(*_: object, **__: object) -> None:
        raise UserError("not trained here")

    monkeypatch.setattr(grid, "train", no_training)
    with pytest.raises(UserError) as caught:
        run(dataset, measured, methods=["s_g"], images=[0.1], per_image=[5], ablations=True)
    message = str(caught.value)
    assert message.startswith("6 runs failed, all others are kept:")  # of seven ablations, one has a record
    expected = set(ablations_of([])) - {"no-attention"}
    assert all(f"  {name}-0.1x5-0: not trained here" in message for name in expected)


def test_a_failed_run_does_not_stop_the_others(dataset: Path, tmp_path: Path) -> None:
    mine = tmp_path / "work" / "vsepp-0.5x1-0"
    mine.mkdir(parents=True)
    (mine / "letter.txt").write_text("mine")
    with pytest.raises(UserError) as caught:
        run(dataset, tmp_path, methods=["vsepp", "s_g", "a3vse"], keep=True)
    message = str(caught.value)
    assert "1 run failed, all others are kept:\n  vsepp-0.5x1-0: " in message and "is not empty" in message
    assert set(records(tmp_path)) == {"a3vse-0.5x1-0", "s_g"}
    assert len((tmp_path / "out" / "sparse.csv").read_text().splitlines()) == 1 + 2 * 2
    assert (tmp_path / "work" / "a3vse-0.5x1-0" / "model.safetensors").exists()


def test_with_all_annotations_there_are_no_pseudo_captions(
    dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (record,) = run(dataset, tmp_path, methods=["a3vse"], images=[1.0], per_image=[5])
    assert (record["name"], record["pairs"]) == ("a3vse-1x5-0", 38)
    monkeypatch.setattr(grid, "train", lambda *_, **__: pytest.fail("trained again"))
    row = run(dataset, tmp_path, methods=["a3vse"], images=[1.0], per_image=[5], whole=True)
    assert [each["name"] for each in row] == ["a3vse-1x5-0"]  # the row of all annotations
    values = records(tmp_path)["a3vse-1x5-0"]["values"]
    assert values["pseudo"] == {"name": "none"}
    assert (values["terms"]["pseudo"]["weight"], values["terms"]["matching"]["weight"]) == (0, 1)


def test_an_ablation_without_pseudo_captions_needs_no_detections(dataset: Path, tmp_path: Path) -> None:
    options = {"methods": ["no-s"], "images": [0.5], "per_image": [1]}
    (record,) = run(dataset, tmp_path, overrides=[*SMALL, "pseudo.detections=nothing"], **options)
    assert record["overrides"]["pseudo.name"] == "none" and record["without"] == ["pseudo.detections"]
    assert record["overrides"]["terms.pseudo.weight"] == 0


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"methods": ["a4vse"]},
            "unknown method 'a4vse'; choose among: a3vse, dan, dpc, no-adversaries",
        ),
        ({"images": [0.0]}, "--images has 0; give shares above 0 and up to 1"),
        ({"images": [1.5]}, "--images has 1.5"),
        ({"images": [0.001]}, "leaves none of 19 training images"),
        ({"per_image": [-1]}, "--per-image has -1; give 1 or more captions, or 0 for all"),
        ({"seeds": []}, "--images, --per-image and --seeds need a number each"),
        ({"at_once": 0}, "--at-once is 0; give 1 or more"),
        ({"lang": "de"}, "--lang is de, but s_g matches the labels of detectors, which are in en"),
        ({"tags": "places"}, "detections/places; make them with"),
        ({"tags": "", "ablations": True}, "--tags is '', but the ablation swap-s_g swaps"),
        ({"methods": ["a3vse"], "overrides": [*SMALL, "pseudo.detections=nothing"]}, "detections/nothing"),
        ({"wordnet": Path("nowhere")}, "data.noun cannot be read"),
        ({"overrides": ["data.features=nothing"]}, "features/nothing"),
        ({"overrides": [*SMALL, "training.epochs=0"]}, "training.epochs"),
    ],
)
def test_wrong_values_are_reported(
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
        ["images", "captions each", "pairs", "A3VSE", "VSE++", "s_g, ties count against it"],
        [
            ["20%", "1", "200", "", "13.0", "8.0"],
            ["10%", "5", "500", f"27.5 ± {deviation:.1f}", "", "8.0"],
            ["50%", "1", "500", "", "17.0", "8.0"],
        ],
    )
    elsewhere = sparse_table([*found, made_up("no-s", 0.2, 1, 0, 3.0)])
    assert elsewhere[0][3:] == ["A3VSE", "VSE++", "A3VSE, no s", "s_g, ties count against it"]
    told = sparse_table([found[0] | {"random_ties": {"mR": 9.04}}, found[1]])
    assert (told[0][-1], told[1][0][-1]) == ("s_g, ties count against it (broken at random)", "8.0 (9.0)")
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

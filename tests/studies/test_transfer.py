"""The learning curve of Translator from the command to the picture, on a dataset of 36 pictures."""

from __future__ import annotations

import contextlib
import csv
import io
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from lingvis.data.dataset import Dataset, write_rows
from lingvis.errors import UserError
from lingvis.text.vectors.store import VECTORS, VectorsOrigin, write_vectors
from lingvis.text.vectors.table import WordTable
from studies import grid
from studies.__main__ import main
from studies.recipe_values import values_of
from studies.records import RUNS, Record, append, read
from studies.tables.papers import _translator
from studies.tables.results.records import Results
from studies.tables.results.transfer import transfer
from studies.transfer.methods import METHODS
from studies.transfer.report import draw_curve, transfer_csv, transfer_table
from studies.transfer.run import run_transfer_study

from ..conftest import COLOURS, THINGS, make_toy_dataset

GERMAN = {german.lower(): english for english, german in {**COLOURS, **THINGS}.items()} | {
    "ein": "a",
    "ist": "is",
}
SMALL = [
    "data.features=toy-grid",
    "training.batch_size=8",
    "image.encoder.dim=16",
    "text.encoder.dim=16",
    "text.words.vector_dim=8",
    "training.sampling.least_steps=2",
    "training.epochs=1",
]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = make_toy_dataset(tmp_path_factory.mktemp("bench") / "toy")
    generator = np.random.default_rng(0)
    tables = {
        lang: WordTable(words, generator.normal(size=(len(words), 8)).astype(np.float32))
        for lang, words in (("en", ["the", *GERMAN.values()]), ("de", [*GERMAN]))
    }
    origins = {lang: VectorsOrigin(source="random", sentences=lang) for lang in tables}
    write_vectors(folder / VECTORS / "captions", tables, origins, dict.fromkeys(tables, 0))
    lines = [f"{german}\t{english}\n" for german, english in GERMAN.items()]
    (folder / "de-en.txt").write_text("".join(lines), encoding="utf-8")
    return folder


def run(dataset: Path, folder: Path, **options: Any) -> list[dict[str, Any]]:
    given: dict[str, Any] = {
        "source": "en",
        "target": "de",
        "sizes": (6,),
        "seeds": (0,),
        "overrides": SMALL,
        "dictionary": dataset / "de-en.txt",
        "work": folder / "work",
        "device": "cpu",
    }
    return run_transfer_study(dataset, folder / "out", **{**given, **options})


@pytest.fixture(scope="module")
def measured(dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All methods, one size, one seed, by the command itself in two processes."""
    folder = tmp_path_factory.mktemp("measured")
    arguments = ["transfer", str(dataset), *SMALL, "--source", "en", "--target", "de"]
    arguments += ["--sizes", "6", "--seeds", "0", "--dictionary", str(dataset / "de-en.txt")]
    arguments += ["--out", str(folder / "out"), "--work", str(folder / "work"), "--at-once", "2"]
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()) as printed:
        patch.setenv("COLUMNS", "120")
        main([*arguments, "--device", "cpu"])
    (folder / "printed.txt").write_text(printed.getvalue())
    return folder


def records(folder: Path) -> dict[str, Record]:
    """Records by name; `values`: all values of the recipe."""
    out = folder / "out"
    return {record["name"]: record | {"values": values_of(record, out)} for record in read(out / RUNS)}


def test_the_command_writes_records_rows_and_a_picture(measured: Path) -> None:
    out = measured / "out"
    found = records(measured)
    assert set(found) == {f"en-de/{method}-6-0" for method in METHODS}
    rows = list(csv.DictReader((out / "en-de.csv").open()))
    assert len(rows) == 5 * 2
    assert list(rows[0]) == ["method", "size", "seed", "direction", "R@1", "R@5", "R@10", "mR", "split"]
    for row in rows:
        record = found[f"en-de/{row['method']}-{row['size']}-0"]
        assert float(row["R@5"]) == pytest.approx(record["result"][row["direction"]]["R@5"], abs=0.01)
        assert float(row["mR"]) == pytest.approx(record["result"]["mR"], abs=0.01)
    with Image.open(out / "en-de.png") as picture:
        assert picture.width > picture.height > 500
    printed = (measured / "printed.txt").read_text()
    for label in ("FS", "FS + image side of the source", "T1", "T2, Procrustes", "T2, RCSLS"):
        assert label in printed
    assert "en -> de, split test" in printed


def test_a_record_is_complete_and_names_no_folder(measured: Path) -> None:
    found = records(measured)
    record = found["en-de/t2-rcsls-6-0"]
    assert (record["study"], record["recipe"]) == ("transfer", "translator_t2")
    assert record["values"]["text"]["words"]["map"] == "rcsls"
    assert found["en-de/t2-procrustes-6-0"]["overrides"]["text.words.map"] == "procrustes"
    assert record["values"]["start"]["run"] == "source-en-0"
    assert record["values"]["data"]["captions"] == record["learnt_from"] == 6
    assert record["values"]["optimizer"]["factors"] == {"text.words.vectors": 0.0, "image": 0.0}
    assert record["selection"] == "epoch of best mR on val, then test once"
    best = max(score for _, score in record["validation"])
    assert record["training"]["validation_mR"] == pytest.approx(best)
    assert str(measured) not in (measured / "out" / RUNS).read_text()
    control = found["en-de/fs-image-6-0"]["values"]
    assert control["start"]["parts"] == ["image"]
    assert control["text"]["words"]["map"] == "none"
    assert found["en-de/fs-6-0"]["values"]["start"]["run"] == ""


def test_the_source_model_stays_and_nothing_is_trained_again(
    dataset: Path, measured: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [
        folder.name for folder in (measured / "work").iterdir() if folder.is_dir() and any(folder.iterdir())
    ] == ["source-en-0"]
    monkeypatch.setattr(grid, "train", lambda *_, **__: pytest.fail("trained again"))
    assert len(run(dataset, measured)) == 5
    (control,) = run(dataset, measured, methods=["fs-image"])
    assert control["method"] == "fs-image"
    assert (
        len((measured / "out" / "en-de.csv").read_text().splitlines()) == 1 + 5 * 2
    )  # all records of the pair
    file = measured / "out" / RUNS
    whole = file.read_text()
    file.write_text("".join(line for line in whole.splitlines(keepends=True) if "en-de/t1-6-0" not in line))
    with pytest.raises(pytest.fail.Exception, match="trained again"):
        run(dataset, measured, methods=["t1"])
    file.write_text(whole)


def test_other_values_do_not_mix_with_stored_ones(dataset: Path, measured: Path) -> None:
    other = [*SMALL, "training.epochs=2"]
    with pytest.raises(UserError, match="was measured with other data or values; choose another --out"):
        run(dataset, measured, overrides=other)
    options = {
        "source": "en",
        "target": "de",
        "sizes": [6],
        "seeds": [0],
        "overrides": other,
        "methods": ["t1"],
    }
    with pytest.raises(
        UserError, match="source-en-0 was trained with other data or values; choose another --work"
    ):
        run_transfer_study(
            dataset,
            measured / "second",
            work=measured / "work",
            device="cpu",
            **options,  # type: ignore[arg-type]
        )


def test_a_language_without_test_captions_is_reported_on_val(dataset: Path, tmp_path: Path) -> None:
    copy = tmp_path / "data"
    copy.mkdir()
    for name in ("images", "features", VECTORS):
        (copy / name).symlink_to(dataset / name)
    rows = [
        row if row.split != "test" else row.model_copy(update={"captions": {"en": row.captions["en"]}})
        for row in Dataset.open(dataset).rows
    ]
    write_rows(copy / "captions.jsonl", rows)
    (record,) = run(copy, tmp_path, methods=["fs"], sizes=[0])
    assert record["name"] == "en-de/fs-all-0"
    assert (record["size"], record["learnt_from"]) == (0, 19)
    assert (record["split"], record["selection"]) == ("val", "epoch of best mR on val, then val once")
    assert record["result"]["mR"] == pytest.approx(record["training"]["validation_mR"])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"methods": ["t3"]}, "unknown method 't3'; choose among: fs, fs-image, t1, t2-procrustes, t2-rcsls"),
        ({"target": "en"}, "--source and --target are both en"),
        ({"target": "fr"}, "has no captions in fr in split train"),
        ({"sizes": [20]}, "--sizes has 20, but de has 19 training captions; give up to 19, or 0 for all"),
        ({"sizes": [-1]}, "--sizes has -1"),
        ({"at_once": 0}, "--at-once is 0; give 1 or more"),
        ({"sizes": []}, "--sizes and --seeds need a number each"),
    ],
)
def test_wrong_values_are_reported(
    options: dict[str, Any], sentence: str, dataset: Path, tmp_path: Path
) -> None:
    with pytest.raises(UserError) as caught:
        run(dataset, tmp_path, **options)
    assert sentence in str(caught.value)
    assert not (tmp_path / "out").exists()


def made_up(method: str, size: int, seed: int, value: float) -> dict[str, Any]:
    recalls = {"R@1": value, "R@5": value + 1, "R@10": value + 2}
    back = {key: number + 10 for key, number in recalls.items()}
    pair = {"source": "de", "target": "fr", "split": "test", "method": method, "seed": seed, "size": size}
    return {**pair, "learnt_from": size, "result": {"t2i": recalls, "i2t": back, "mR": value + 6}}


def test_the_table_and_rows_are_means_and_numbers_of_the_records(tmp_path: Path) -> None:
    records = [made_up("fs", 100, 0, 1.0), made_up("fs", 100, 1, 4.0), made_up("t1", 3000, 0, 20.0)]
    columns, rows = transfer_table(records)
    assert columns == ["mR", "100", "3,000"]
    deviation = statistics.stdev([7.0, 10.0])
    assert rows == [["FS", f"8.5 ± {deviation:.1f}", ""], ["T1", "", "26.0"]]
    lines = transfer_csv(records).splitlines()
    assert lines[1] == "fs,100,0,t2i,1.00,2.00,3.00,7.00,test"
    assert lines[2] == "fs,100,0,i2t,11.00,12.00,13.00,7.00,test"
    for method, value in (("fs-image", 5.0), ("t2-procrustes", 12.5)):
        records.append(made_up(method, 100, 0, value))
    for number, record in enumerate(records):
        append(tmp_path / "transfer" / RUNS, {"name": str(number), **record})
    assert transfer(Results(tmp_path)).splitlines()[-1] == (
        "The image side of the source alone gives FS +2.5 of +10.0 points with 100 captions that T2 gains."
    )
    draw_curve(records, tmp_path / "curve.png")
    assert (tmp_path / "curve.png").stat().st_size > 10_000


def test_the_control_is_compared_on_its_own_pairs_and_whole_seeds(tmp_path: Path) -> None:
    """The image side was measured for one of two pairs, and for a seed without the others."""
    scores = {
        ("de", "fr"): {"fs": 5.0, "t1": 10.0, "t2-procrustes": 20.0, "fs-image": 12.0},
        ("en", "ar"): {"fs": 7.0, "t1": 12.0, "t2-procrustes": 40.0},
    }
    for (source, target), methods in scores.items():
        for method, score in methods.items():
            for seed in (0, 1):
                given = {
                    "method": method,
                    "source": source,
                    "target": target,
                    "seed": seed,
                    "learnt_from": 300,
                }
                name = f"{source}-{target}/{method}-300-{seed}"
                append(tmp_path / "transfer" / RUNS, {"name": name, **given, "result": {"mR": score + seed}})
    lines = {claim.text.split(" (")[0]: claim for claim in _translator(Results(tmp_path))}
    control = lines["It is not the image side alone"]
    assert "mean of 1 pairs" in control.text
    assert control.numbers.startswith(
        "T2 20.5 ± 0.7, FS with the image side 12.5 ± 0.7: +8.0 (seeds: 2 and 2)"
    )
    others = lines["An aligned start helps further"]
    assert "mean of 2 pairs" in others.text
    assert others.numbers.startswith("T2 30.5 ± 0.7, T1 11.5 ± 0.7: +19.0")
    # A seed that lacks a pair does not count.
    given = {"method": "fs", "source": "de", "target": "fr", "seed": 2, "learnt_from": 300}
    append(tmp_path / "transfer" / RUNS, {"name": "de-fr/fs-300-2", **given, "result": {"mR": 90.0}})
    first = _translator(Results(tmp_path))[0]
    assert "FS 6.5 ± 0.7" in first.numbers

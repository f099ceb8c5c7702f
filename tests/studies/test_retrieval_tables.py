"""The tables of VSE-infinity's supplement: from the command to the blocks of the docs."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

import pytest

from lingvis.errors import UserError
from lingvis.training.validate import load_recipe
from studies import grid
from studies.__main__ import main
from studies.records import RUNS, Record, append, read
from studies.retrieval_tables.methods import TABLES, VARIANTS
from studies.retrieval_tables.report import reading, table_rows
from studies.retrieval_tables.run import run_retrieval_tables
from studies.tables import generate
from studies.tables.results import plots
from studies.tables.results.records import Results

SMALL = [
    "data.features=toy-grid",
    "training.batch_size=16",
    "training.epochs=1",
    "image.encoder.dim=8",
    "image.encoder.hidden=6",
    "text.encoder.dim=8",
    "text.words.dim=8",
    "text.tokenizer.min_count=1",
]


def test_variants_differ_and_every_row_has_one() -> None:
    values = [load_recipe(each.recipe, each.overrides).model_dump_json() for each in VARIANTS.values()]
    assert len(set(values)) == len(VARIANTS)
    rows = [row for table in TABLES.values() for row in table.rows]
    assert {row.variant for row in rows} == set(VARIANTS)
    for table in TABLES.values():
        assert all(len(row.words) == len(table.columns) for row in table.rows)
        for row in table.rows:
            assert not row.against or row.against in {each.variant for each in table.rows}


def test_variants_change_what_their_tables_name() -> None:
    parts = {name: load_recipe(each.recipe, each.overrides) for name, each in VARIANTS.items()}
    assert (parts["gpo-last"].image.pooling.name, parts["gpo-last"].text.pooling.name) == ("gpo", "last")
    assert parts["kmax-kmax"].image.pooling.options.get("k", 5) == 5
    assert parts["drop-pictures"].image.augment == parts["region"].image.augment
    assert parts["drop-pictures"].text.augment.name == parts["no-drop"].image.augment.name == "none"
    for side in ("image", "text"):
        assert getattr(parts["features"], side).pooling.options == {"feature_conditioned": True}
        assert getattr(parts["per-dimension"], side).pooling.options == {"per_dimension": True}
        assert getattr(parts["grid-transformer"], side).pooling.options == {"decoder": "transformer"}


@pytest.fixture(scope="module")
def measured(toy_dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tables")
    arguments = ["retrieval-tables", str(toy_dataset), *SMALL, "--tables", "7", "--seeds", "0"]
    arguments += [
        "--device",
        "cpu",
        "--out",
        str(folder / "retrieval-tables"),
        "--work",
        str(folder / "work"),
    ]
    main(arguments)
    return folder


def test_a_variant_is_trained_once(
    measured: Path, toy_dataset: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = measured / "retrieval-tables" / RUNS
    records = read(file)
    assert [record["name"] for record in records] == ["region-0", "per-dimension-0"]
    assert not any((measured / "work").iterdir())
    before = file.read_text()
    monkeypatch.setattr(grid, "train", lambda *_, **__: pytest.fail("trained again"))
    options: dict[str, Any] = {"work": measured / "work", "device": "cpu", "seeds": (0,)}
    out = measured / "retrieval-tables"
    again = run_retrieval_tables(toy_dataset, out, tables=(7, 7), overrides=SMALL, **options)
    assert [record["row"] for record in again] == ["region", "per-dimension"]
    assert file.read_text() == before
    with pytest.raises(UserError, match=r"record region-0 of .* was measured with other data or values"):
        run_retrieval_tables(
            toy_dataset, out, tables=(7,), overrides=[*SMALL, "optimizer.lr=1e-3"], **options
        )
    with pytest.raises(UserError, match="there is no table 6 on retrieval; choose among: 1, 2, 3, 7, 8"):
        run_retrieval_tables(toy_dataset, out, tables=(6,), **options)


def test_records_have_the_learned_weights_and_blocks_show_what_there_is(
    measured: Path, tmp_path: Path
) -> None:
    results = Results(measured)
    (region,) = results.seeds("retrieval-tables", "region")
    assert list(region["coefficients"]) == ["pictures", "sentences"]
    for curve in region["coefficients"]["pictures"]:
        assert sum(curve) == pytest.approx(1, abs=1e-3)
    shown = generate.BLOCKS["retrieval-table-7"](results)
    assert "| yes |" in shown and f"{region['result']['rsum']:.1f} |" in shown
    assert "Of " not in shown  # one seed has no standard error
    assert generate.BLOCKS["retrieval-table-2"](results).count("\n") == 2  # variant region alone
    assert generate.BLOCKS["retrieval-table-1"](Results(tmp_path)) == "Not measured yet."
    plots.draw(results, tmp_path / "images")
    plots.draw(Results(tmp_path), tmp_path / "empty")
    drawn, empty = (tmp_path / folder / "coefficients.png" for folder in ("images", "empty"))
    assert drawn.stat().st_size > 3 * empty.stat().st_size


def made_up(variant: str, sums: list[float]) -> list[Record]:
    """Records whose four recalls have these sums."""
    recalls = [{"R@1": value / 4, "R@5": value / 4} for value in sums]
    return [
        {"name": f"{variant}-{seed}", "row": variant, "result": {"i2t": each, "t2i": each, "rsum": 1.0}}
        for seed, each in enumerate(recalls)
    ]


def test_differences_are_those_of_the_means_and_agree_if_they_are_clear(tmp_path: Path) -> None:
    given = {
        "region": [120.0, 122.0, 124.0],
        "mean-last": [100.0, 101.0, 102.0],
        "mean-gpo": [121.0, 123.0, 125.0],
        "gpo-last": [150.0, 151.0, 152.0],
    }
    records = {variant: made_up(variant, sums) for variant, sums in given.items()}
    for each in (record for runs in records.values() for record in runs):
        append(tmp_path / RUNS, each)

    def runs(variant: str) -> list[Record]:
        return records.get(variant, [])

    head, rows = table_rows(TABLES[1], runs)
    found = {tuple(row[:2]): dict(zip(head, row, strict=True)) for row in rows}
    assert len(found) == 4
    last = found["mean", "last state (paper: CLS)"]
    error = (statistics.variance(given["region"]) / 3 + statistics.variance(given["mean-last"]) / 3) ** 0.5
    assert last["difference"] == f"-21.0 ± {error:.1f}"
    assert last["sum of the four"] == "101.0 ± 1.0"
    # 67.7 + 92.6 + 54.8 + 85.1 against 79.7 + 96.4 + 64.8 + 91.4
    assert (last["in the paper"], last["agrees"]) == ("-32.1", "yes")
    assert found["mean", "GPO"]["agrees"] == "not clear"
    assert found["GPO", "last state (paper: CLS)"]["agrees"] == "no"
    assert found["GPO", "GPO"]["difference"] == found["GPO", "GPO"]["agrees"] == ""
    assert reading(TABLES[1], runs) == (
        "Of 3 differences of the paper: 1 with the same sign here, 1 with the other sign here, "
        "1 within two standard errors of zero here."
    )

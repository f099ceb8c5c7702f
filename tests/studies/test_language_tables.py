"""The tables, claims and plots of docs/studies/languages.md say what the records say, also while some are missing."""

from __future__ import annotations

import importlib
import json
import statistics
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

TESTED = ("en", "de", "fr", "cs", "pt", "zh", "ar")
LANGUAGES = (*TESTED, "ug", "bo", "mn")


@pytest.fixture
def docs() -> Callable[[str], ModuleType]:
    """Modules of studies/tables by name."""
    return lambda name: importlib.import_module(f"studies.tables.{name}")


def write(results: Path, name: str, *seeds: dict[str, float], training: int = 10_000_000) -> None:
    """A record with an mR for each language and seed; val is one point above test."""
    runs = []
    for seed, scores in enumerate(seeds):
        test = {
            lang: {"mR": mr, "i2t": {"R@1": mr, "R@10": mr + 1}, "t2i": {"R@1": mr + 2, "R@10": mr + 3}}
            for lang, mr in scores.items()
            if lang in TESTED
        }
        run: dict[str, Any] = {
            "seed": seed,
            "training": {"seconds": 120.0 + 60 * seed},
            "parameters": {
                "text": 9_000_000,
                "total": training,
                "training": training,
                "test": 7_000_000,
                "table": 500,
            },
            "validation_languages": {lang: mr + 1 for lang, mr in scores.items()},
        }
        runs.append(run | ({"test": {"languages": test}} if test else {}))
    path = results / "languages" / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"runs": runs}))


def flat(score: float) -> dict[str, float]:
    return dict.fromkeys(LANGUAGES, score)


def lines(text: str) -> dict[str, dict[str, str]]:
    """A Markdown table: first cell -> head -> cell."""
    head, _, *rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines()]
    assert all(len(row) == len(head) for row in rows)
    return {row[0]: dict(zip(head, row, strict=True)) for row in rows}


def verdict(claims: str, start: str) -> tuple[str, str]:
    found = next(row for claim, row in lines(claims).items() if claim.startswith(start))
    return found["verdict"], found["measured"]


def test_a_row_of_several_seeds(docs: Any, tmp_path: Path) -> None:
    first, second = ({lang: base + 2 * n for n, lang in enumerate(LANGUAGES)} for base in (30.0, 32.0))
    write(tmp_path, "smalr", first, second)
    row = lines(docs("languages").languages_table(docs("records").Records(tmp_path)))["SMALR"]
    a = [statistics.mean(each[lang] for lang in TESTED) for each in (first, second)]
    ha = [statistics.mean(each[lang] for lang in TESTED[:6]) for each in (first, second)]
    assert row["A"] == f"{statistics.mean(a):.1f} ± {statistics.stdev(a):.1f}"
    assert row["HA"] == f"{statistics.mean(ha):.1f} ± {statistics.stdev(ha):.1f}"
    assert row["de"] == "33.0"
    assert row["ug *"] == "46.0", "on val, one above the scores"
    assert (row["trained, M"], row["at test, M"], row["minutes"], row["seeds"]) == ("10.0", "7.0", "2.5", "2")


def test_models_of_one_language_are_summed_once_all_are_there(docs: Any, tmp_path: Path) -> None:
    records = docs("records").Records(tmp_path)
    for lang in LANGUAGES[:-1]:
        write(tmp_path, f"embn-{lang}", {lang: 30.0})
    partial = lines(docs("languages").languages_table(records))["EmbN, one model a language"]
    assert (partial["A"], partial["mn *"], partial["trained, M"], partial["minutes"]) == ("30.0", "", "", "")
    write(tmp_path, "embn-mn", {"mn": 30.0})
    whole = lines(docs("languages").languages_table(records))["EmbN, one model a language"]
    assert (whole["mn *"], whole["trained, M"], whole["minutes"]) == ("31.0", "100.0", "20.0")


def test_no_mean_without_all_its_languages(docs: Any, tmp_path: Path) -> None:
    write(tmp_path, "s_liwe-2", {"en": 30.0, "de": 20.0})
    row = lines(docs("languages").languages_table(docs("records").Records(tmp_path)))["S-LIWE, 2 languages"]
    assert (row["en"], row["de"], row["A"], row["HA"]) == ("30.0", "20.0", "", "")


@pytest.mark.parametrize(
    ("hem", "la", "expected"),
    [
        ([31.5], [30.0], "confirmed"),
        ([30.9], [30.0], "undecided"),
        ([28.5], [30.0], "refuted"),
        ([30.9, 31.1], [30.0], "undecided"),
        ([30.5, 30.7], [30.0, 30.1], "confirmed"),  # 0.55 against 2 * sqrt(0.02 / 2 + 0.005 / 2) = 0.22
        ([30.0, 32.0], [30.0, 30.1], "undecided"),  # 0.95 against 2 * sqrt(2 / 2 + 0.005 / 2) = 2.0
    ],
)
def test_verdicts(docs: Any, tmp_path: Path, hem: list[float], la: list[float], expected: str) -> None:
    write(tmp_path, "hem", *map(flat, hem))
    write(tmp_path, "la", *map(flat, la))
    found, numbers = verdict(docs("claims").claims(docs("records").Records(tmp_path)), "HEM is better")
    assert found == expected
    assert f"(seeds: {len(hem)} and {len(la)})" in numbers


def test_a_claim_without_its_records_is_not_measured(docs: Any, tmp_path: Path) -> None:
    write(tmp_path, "hem", flat(40.0))
    claims = lines(docs("claims").claims(docs("records").Records(tmp_path)))
    assert {row["verdict"] for row in claims.values()} == {"not measured"}


@pytest.mark.parametrize(("own", "expected"), [(42.9, "refuted"), (43.1, "confirmed")])
def test_the_goal_is_three_points_above_the_best_row(
    docs: Any, tmp_path: Path, own: float, expected: str
) -> None:
    for names in docs("languages").ROWS.values():
        for name in names:
            write(tmp_path, name, flat(38.0) if len(names) == 1 else {name.split("-")[1]: 38.0})
    english = tmp_path / "flickr8k-ml" / "vse_infinity_region.json"
    english.parent.mkdir()
    (tmp_path / "languages" / "vse_infinity-en.json").rename(english)
    write(tmp_path, "hem", flat(40.0))
    write(tmp_path, "lingvis", flat(own))
    claims = docs("claims").claims(docs("records").Records(tmp_path))
    found, numbers = verdict(claims, "`lingvis` has an A")
    assert found == expected
    assert f"`lingvis` {own}, HEM 40.0: +{own - 40:.1f}" in numbers
    assert verdict(claims, "`lingvis` is better in every")[0] == "confirmed"
    write(tmp_path, "vse_infinity-cs", {"cs": own + 2})
    claims = docs("claims").claims(docs("records").Records(tmp_path))
    assert verdict(claims, "`lingvis` is better in every")[0] == "refuted"
    (tmp_path / "languages" / "mule.json").unlink()
    claims = docs("claims").claims(docs("records").Records(tmp_path))
    so_far = "refuted" if expected == "refuted" else "confirmed so far, 17 of 18 measured"
    assert verdict(claims, "`lingvis` has an A")[0] == so_far


def test_parameters_are_compared_exactly(docs: Any, tmp_path: Path) -> None:
    write(tmp_path, "mule", flat(40.0), training=100_000_000)
    for size, expected in ((20_000_000, "confirmed"), (30_000_000, "refuted")):
        write(tmp_path, "smalr", flat(40.0), training=size)
        found, numbers = verdict(
            docs("claims").claims(docs("records").Records(tmp_path)), "SMALR has a fifth"
        )
        assert found == expected
        assert f"{size / 1e8:.2f} of it" in numbers


def test_consistency(docs: Any, tmp_path: Path) -> None:
    def report(score: float) -> dict[str, Any]:
        return {"languages": {lang: {"mR": score} for lang in TESTED[:5]}, "A": score}

    (tmp_path / "languages").mkdir()
    record = {"smalr": {"single": report(40.0), "mean": report(44.0), "learned": report(44.5)}}
    (tmp_path / "languages" / "consistency.json").write_text(json.dumps(record))
    records = docs("records").Records(tmp_path)
    table = lines(docs("languages").consistency(records))
    assert table["SMALR, CLC-C"]["fr"] == table["SMALR, CLC-C"]["mean"] == "44.5"
    assert table["`lingvis`, CLC-A"]["en"] == "not measured"
    claims = docs("claims").claims(records)
    assert verdict(claims, "CLC-A is better than none, SMALR")[0] == "confirmed"
    assert verdict(claims, "CLC-C at least equals CLC-A, SMALR")[0] == "undecided"


def test_sizes_of_liwe_count_the_words_alone(docs: Any, tmp_path: Path) -> None:
    from lingvis.text.encoders import GRU

    shared = sum(each.numel() for each in GRU(input_dim=300, dim=1024, bidirectional=True).parameters())
    write(tmp_path, "s_liwe-1", {"en": 30.0})
    table = lines(docs("questions").liwe_sizes(docs("records").Records(tmp_path)))
    row = table["LIWE (384, 448)"]
    assert row["word values, M"] == f"{(9_000_000 - shared) / 1e6:.2f}"
    assert (row["i2t R@1"], row["t2i R@10"], row["mR"], row["times fewer"]) == ("30.0", "33.0", "30.0", "")
    assert table["LIWE (128, 256)"]["i2t R@1"] == "not measured"


def test_the_weight_of_masking_is_read_on_val(docs: Any, tmp_path: Path) -> None:
    write(tmp_path, "smalr-lambda-2", {lang: 30.0 + n for n, lang in enumerate(LANGUAGES)})
    table = lines(docs("questions").lambdas(docs("records").Records(tmp_path)))
    column = "mR on val, mean of ten languages"
    assert (table["1e-2"][column], table["1e-1"][column]) == ("35.5", "not measured")


def test_every_record_that_is_read_is_a_row_that_is_trained(docs: Any) -> None:
    trained, elsewhere = importlib.import_module("studies.languages.rows").ROWS, docs("records").ELSEWHERE
    read = {name for names in docs("languages").ROWS.values() for name in names}
    read |= {*docs("questions").LIWE.values(), *docs("questions").LAMBDAS.values(), "la-no-exploration"}
    plots = docs("plots")
    read |= {
        plots._row(name, count)
        for name, *_ in plots.MODELS.values()
        for count in plots.COUNTS
        if (name, count) not in (("mule", 1), ("smalr", 1))
    }
    assert read - set(elsewhere) <= set(trained)


def test_the_summary_has_the_means_of_seven_languages(docs: Any, tmp_path: Path) -> None:
    write(tmp_path, "smalr", {lang: 30.0 + n for n, lang in enumerate(LANGUAGES)})
    row = lines(docs("languages").languages_summary(docs("records").Records(tmp_path)))["SMALR"]
    assert [row[lang] for lang in TESTED] == ["30.0", "31.0", "32.0", "33.0", "34.0", "35.0", "36.0"]
    assert (row["mean"], row["parameters, M"]) == ("33.0", "10.0")


def test_blocks_and_plots_without_any_record(docs: Any, tmp_path: Path) -> None:
    records = docs("records").Records(tmp_path)
    for name, block in docs("generate").LANGUAGES.items():
        assert "not measured" in block(records).lower(), name
    docs("plots").draw(records, tmp_path / "images")
    assert {path.name for path in (tmp_path / "images").iterdir()} == set(docs("plots").PLOTS)


def test_plots_are_small_and_repeat_themselves(docs: Any, tmp_path: Path) -> None:
    for n, name in enumerate(
        ("mule", "pca-50", "threshold-5", "smalr", "smalr-2-languages", "smalr-lambda-3")
    ):
        write(tmp_path, name, flat(30.0 + n), training=(n + 1) * 10_000_000)
    records = docs("records").Records(tmp_path)
    for folder in ("one", "two"):
        docs("plots").draw(records, tmp_path / folder)
    for name in docs("plots").PLOTS:
        drawn = (tmp_path / "one" / name).read_bytes()
        assert len(drawn) < 120_000
        assert drawn == (tmp_path / "two" / name).read_bytes()


def test_labels_of_crowded_points_do_not_overlap(docs: Any) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5))
    axes = figure.add_subplot()
    points = {f"model {n}": (1 + 0.01 * n, 1 + 0.01 * (n % 2)) for n in range(5)}
    axes.set(xlim=(0.9, 1.2), ylim=(0.9, 1.2))
    docs("labels").place_labels(axes, points, list(points.values()))
    boxes = [text.get_window_extent() for text in axes.texts]
    assert len(boxes) == len(points)
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))

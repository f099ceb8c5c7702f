"""Tables, claims and plots of the study of languages agree with the records, also while some are missing."""

from __future__ import annotations

import statistics
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from studies.languages.rows import EARLIER_ROWS
from studies.languages.rows import ROWS as TRAINED
from studies.records import RUNS, append
from studies.tables import generate
from studies.tables.results import ablations, languages, plots
from studies.tables.results.claims import claims
from studies.tables.results.label_places import place_labels
from studies.tables.results.language_scores import ELSEWHERE
from studies.tables.results.records import Results

TESTED = ("en", "de", "fr", "cs", "pt", "zh", "ar")
LANGUAGES = (*TESTED, "ug", "bo", "mn")
LANGUAGE_BLOCKS = (
    "claims",
    "consistency",
    "consistency-machine",
    "dictionary-coverage",
    "dictionary-rules",
    "exploration",
    "lambda",
    "languages-summary",
    "languages-table",
    "latent",
    "lingvis-speed",
    "liwe-sizes",
    "machine-captions",
    "plateaus",
    "pretraining",
    "search-log",
    "sentences",
    "translated-languages",
)


def write(
    results: Path,
    row: str,
    *seeds: dict[str, float],
    training: int = 10_000_000,
    folder: str = "languages",
    caveats: tuple[str, ...] = (),
) -> None:
    """A record per seed with an mR per language; val is one point above test."""
    for seed, scores in enumerate(seeds):
        test = {
            lang: {"mR": mr, "i2t": {"R@1": mr, "R@10": mr + 1}, "t2i": {"R@1": mr + 2, "R@10": mr + 3}}
            for lang, mr in scores.items()
            if lang in TESTED
        }
        run: dict[str, Any] = {
            "name": f"{row}/{seed}",
            "row": row,
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
            "caveats": list(caveats),
        }
        append(results / folder / RUNS, run | ({"test": {"languages": test}} if test else {}))


def flat(score: float) -> dict[str, float]:
    return dict.fromkeys(LANGUAGES, score)


def lines(text: str) -> dict[str, dict[str, str]]:
    """A Markdown table: first cell -> head -> cell."""
    head, _, *rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines()]
    assert all(len(row) == len(head) for row in rows)
    return {row[0]: dict(zip(head, row, strict=True)) for row in rows}


def verdict(decided: str, start: str) -> tuple[str, str]:
    found = next(row for claim, row in lines(decided).items() if claim.startswith(start))
    return found["verdict"], found["measured"]


def test_a_row_of_several_seeds(tmp_path: Path) -> None:
    first, second = ({lang: base + 2 * n for n, lang in enumerate(LANGUAGES)} for base in (30.0, 32.0))
    write(tmp_path, "smalr", first, second)
    row = lines(languages.languages_table(Results(tmp_path)))["SMALR"]
    a = [statistics.mean(each[lang] for lang in TESTED) for each in (first, second)]
    ha = [statistics.mean(each[lang] for lang in TESTED[:6]) for each in (first, second)]
    assert row["A"] == f"{statistics.mean(a):.1f} ± {statistics.stdev(a):.1f}"
    assert row["HA"] == f"{statistics.mean(ha):.1f} ± {statistics.stdev(ha):.1f}"
    assert row["de"] == "33.0 ± 1.4"
    assert row["ug *"] == "46.0 ± 1.4", "on val, one above the scores"
    assert (row["trained, M"], row["at test, M"], row["minutes"], row["seeds"]) == ("10.0", "7.0", "2.5", "2")


def test_models_of_one_language_are_summed_if_none_is_missing(tmp_path: Path) -> None:
    for lang in LANGUAGES[:-1]:
        write(tmp_path, f"embn-{lang}", {lang: 30.0})
    partial = lines(languages.languages_table(Results(tmp_path)))["EmbN, one model per language"]
    assert (partial["A"], partial["mn *"], partial["trained, M"], partial["minutes"]) == ("30.0", "", "", "")
    write(tmp_path, "embn-mn", {"mn": 30.0})
    whole = lines(languages.languages_table(Results(tmp_path)))["EmbN, one model per language"]
    assert (whole["mn *"], whole["trained, M"], whole["minutes"]) == ("31.0", "100.0", "20.0")


def test_a_mean_needs_all_its_languages(tmp_path: Path) -> None:
    write(tmp_path, "s_liwe-2", {"en": 30.0, "de": 20.0})
    row = lines(languages.languages_table(Results(tmp_path)))["S-LIWE, 2 languages"]
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
def test_verdicts(tmp_path: Path, hem: list[float], la: list[float], expected: str) -> None:
    write(tmp_path, "hem", *map(flat, hem))
    write(tmp_path, "la", *map(flat, la))
    found, numbers = verdict(claims(Results(tmp_path)), "HEM is better")
    assert found == expected
    assert f"(seeds: {len(hem)} and {len(la)})" in numbers


def test_a_claim_without_its_records_is_not_measured(tmp_path: Path) -> None:
    write(tmp_path, "hem", flat(40.0))
    decided = lines(claims(Results(tmp_path)))
    assert {row["verdict"] for row in decided.values()} == {"not measured"}


@pytest.mark.parametrize(("own", "expected"), [(42.9, "refuted"), (43.1, "confirmed")])
def test_the_goal_is_three_points_above_the_best_row(tmp_path: Path, own: float, expected: str) -> None:
    for names in languages.ROWS.values():
        for name in names:
            write(tmp_path, name, flat(38.0) if len(names) == 1 else {name.split("-")[1]: 38.0})
    write(tmp_path, "vse_infinity_region", {"en": 38.0}, folder="flickr8k-ml")
    write(tmp_path, "hem", flat(40.0))
    write(tmp_path, "lingvis_frozen", flat(own))
    decided = claims(Results(tmp_path))
    found, numbers = verdict(decided, "`lingvis_frozen` has an A")
    assert found == expected
    assert f"`lingvis_frozen` {own}, HEM 40.0: +{own - 40:.1f}" in numbers
    assert verdict(decided, "`lingvis_frozen` is better in every")[0] == "confirmed"
    write(tmp_path, "vse_infinity-cs", {"cs": own + 2})
    decided = claims(Results(tmp_path))
    assert verdict(decided, "`lingvis_frozen` is better in every")[0] == "refuted"
    file = tmp_path / "languages" / RUNS
    kept = [line for line in file.read_text().splitlines(keepends=True) if '"mule/' not in line]
    file.write_text("".join(kept))
    decided = claims(Results(tmp_path))
    so_far = "refuted" if expected == "refuted" else "confirmed so far, 20 of 21 measured"
    assert verdict(decided, "`lingvis_frozen` has an A")[0] == so_far


def test_parameters_are_compared_exactly(tmp_path: Path) -> None:
    write(tmp_path, "mule", flat(40.0), training=100_000_000)
    for size, expected in ((20_000_000, "confirmed"), (30_000_000, "refuted")):
        write(tmp_path, "smalr", flat(40.0), training=size)
        found, numbers = verdict(claims(Results(tmp_path)), "SMALR has a fifth")
        assert found == expected
        assert f"{size / 1e8:.2f} of it" in numbers


def test_consistency(tmp_path: Path) -> None:
    def report(score: float) -> dict[str, Any]:
        return {"languages": {lang: {"mR": score} for lang in TESTED[:5]}, "A": score}

    reports = {"single": report(40.0), "mean": report(44.0), "learned": report(44.5)}
    append(tmp_path / "languages" / RUNS, {"name": "consistency", "models": {"smalr": reports}})
    results = Results(tmp_path)
    table = lines(languages.consistency(results))
    assert table["SMALR, CLC-C"]["fr"] == table["SMALR, CLC-C"]["mean"] == "44.5"
    assert table["`lingvis_frozen`, CLC-A"]["en"] == "not measured"
    decided = claims(results)
    assert verdict(decided, "CLC-A is better than none, SMALR")[0] == "confirmed"
    assert verdict(decided, "CLC-C at least equals CLC-A, SMALR")[0] == "undecided"


def test_sizes_of_liwe_count_the_words_alone(tmp_path: Path) -> None:
    from lingvis.text.encoders import GRU

    shared = sum(each.numel() for each in GRU(input_dim=300, dim=1024, bidirectional=True).parameters())
    write(tmp_path, "s_liwe-1", {"en": 30.0})
    table = lines(ablations.liwe_sizes(Results(tmp_path)))
    row = table["LIWE (384, 448)"]
    assert row["word values, M"] == f"{(9_000_000 - shared) / 1e6:.2f}"
    assert (row["i2t R@1"], row["t2i R@10"], row["mR"], row["times fewer"]) == ("30.0", "33.0", "30.0", "")
    assert table["LIWE (128, 256)"]["i2t R@1"] == "not measured"


def test_the_weight_of_masking_is_read_on_val(tmp_path: Path) -> None:
    write(tmp_path, "smalr-lambda-2", {lang: 30.0 + n for n, lang in enumerate(LANGUAGES)})
    table = lines(ablations.lambdas(Results(tmp_path)))
    column = "mR on val, mean of ten languages"
    assert (table["1e-2"][column], table["1e-1"][column]) == ("35.5", "not measured")


def test_pretraining_shows_the_first_and_the_best_recall(tmp_path: Path) -> None:
    log = [
        {"epoch": 0, "R@10": 20.0},
        {"epoch": 1, "loss": 0.2, "blind": 0.1, "R@10": 30.0},
        {"epoch": 2, "loss": 0.15, "blind": 0.1, "R@10": 45.0},
        {"epoch": 3, "loss": 0.12, "blind": 0.1, "R@10": 41.0},
        {"tokens": 40000, "used": 1234, "shared": 25.4},
    ]
    assert ablations.pretraining(Results(tmp_path)) == "Not measured."
    record = {"name": "la/1", "row": "la", "seed": 1, "pretraining": log}
    append(tmp_path / "languages" / RUNS, record)
    line = ablations.pretraining(Results(tmp_path)).splitlines()[-1]
    cells = (
        "LA, HEM and SMALR, 10 languages | 1 | 0.200 | 0.120 | 0.100 | 30.0 | 45.0 | 1,234 of 40,000 | 25 %"
    )
    assert line == f"| {cells} |"


def test_every_row_of_the_tables_is_trained() -> None:
    read = {name for names in languages.ROWS.values() for name in names}
    read |= {*ablations.LIWE.values(), *ablations.LAMBDAS.values(), "la-no-exploration"}
    read |= {plots._row(name, count) for name, _, _, counts in plots.MODELS.values() for count in counts}
    assert read - {*ELSEWHERE, *EARLIER_ROWS} <= set(TRAINED)


def test_the_summary_has_the_means_of_seven_languages(tmp_path: Path) -> None:
    write(tmp_path, "smalr-fixed-rise", {lang: 30.0 + n for n, lang in enumerate(LANGUAGES)})
    row = lines(languages.languages_summary(Results(tmp_path)))["SMALR, fixed rise"]
    assert [row[lang] for lang in TESTED] == ["30.0", "31.0", "32.0", "33.0", "34.0", "35.0", "36.0"]
    assert (row["mean"], row["parameters, M"]) == ("33.0", "10.0")


def test_blocks_and_plots_without_any_record(tmp_path: Path) -> None:
    results = Results(tmp_path)
    for name in LANGUAGE_BLOCKS:
        assert "not measured" in generate.BLOCKS[name](results).lower(), name
    plots.draw(results, tmp_path / "images")
    assert {path.name for path in (tmp_path / "images").iterdir()} == set(plots.PLOTS)


def test_plots_are_small_and_reproducible(tmp_path: Path) -> None:
    for n, name in enumerate(
        ("mule", "pca-50", "threshold-5", "smalr", "smalr-2-languages", "smalr-lambda-3")
    ):
        write(tmp_path, name, flat(30.0 + n), training=(n + 1) * 10_000_000)
    results = Results(tmp_path)
    for folder in ("one", "two"):
        plots.draw(results, tmp_path / folder)
    for name in plots.PLOTS:
        drawn = (tmp_path / "one" / name).read_bytes()
        assert len(drawn) < 120_000
        assert drawn == (tmp_path / "two" / name).read_bytes()


def test_labels_of_crowded_points_do_not_overlap() -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5))
    axes = figure.add_subplot()
    points = {f"model {n}": (1 + 0.01 * n, 1 + 0.01 * (n % 2)) for n in range(5)}
    axes.set(xlim=(0.9, 1.2), ylim=(0.9, 1.2))
    place_labels(axes, points, list(points.values()))
    boxes = [text.get_window_extent() for text in axes.texts]
    assert len(boxes) == len(points)
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))


def test_caveats_stand_below_a_block_with_the_rows_that_they_concern(tmp_path: Path) -> None:
    write(tmp_path, "hem", flat(40.0), caveats=("typed in", "times: measured beside tests"))
    write(tmp_path, "la", flat(40.0), caveats=("typed in",))
    write(tmp_path, "mule", flat(40.0), flat(41.0), caveats=("times: measured beside tests",))
    page = "<!-- results:{0} -->\nold\n<!-- /results:{0} -->\n"
    timed = generate.fill(page.format("languages-table"), Results(tmp_path))
    assert timed.splitlines()[-5:] == [
        "",
        "Caveats of these numbers:",
        "- times: measured beside tests (`mule`, `hem`)",
        "- typed in (`la`, `hem`)",
        "<!-- /results:languages-table -->",
    ]
    untimed = generate.fill(page.format("languages-summary"), Results(tmp_path))
    assert "beside tests" not in untimed and "old" not in untimed
    assert "Caveats" not in generate.fill(page.format("claims"), Results(tmp_path), caveats=False)
    results = Results(tmp_path)
    results.seeds("languages", "hem")
    assert results.take_caveats(times=False) == "Caveats of these numbers:\n- typed in"
    assert results.take_caveats(times=False) == ""

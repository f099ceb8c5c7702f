"""Tables of all models in ten languages, and of queries with translations; missing rows are marked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from studies.tables.markdown import millions, spread, table
from studies.tables.results.language_scores import (
    HUMAN,
    LANGUAGES,
    ON_VAL,
    PARALLEL,
    SIZES,
    STUDY,
    TESTED,
    LanguageScores,
    scores,
)
from studies.tables.results.records import Results

MISSING = "not measured"
MARK = "†"
# Label of a line and its rows: one, or one per language.
ROWS: dict[str, tuple[str, ...]] = {
    "VSE-infinity, one model per language": tuple(f"vse_infinity-{lang}" for lang in LANGUAGES),
    "EmbN, one model per language": tuple(f"embn-{lang}" for lang in LANGUAGES),
    "PAR EmbN": ("par_embn",),
    "S-LIWE, 1 language": ("s_liwe-1",),
    "S-LIWE, 2 languages": ("s_liwe-2",),
    "S-LIWE, 10 languages": ("s_liwe-10",),
    "L-LIWE, 10 languages": ("l_liwe-10",),
    "MULE": ("mule",),
    "MULE, aligned word vectors": ("mule-aligned",),
    "MULE, aligned word vectors, fixed rise": ("mule-fixed-rise",),
    **{f"MULE, words from {count} occurrences on": (f"threshold-{count}",) for count in (5, 20, 50)},
    **{f"MULE, vectors of {dim} by PCA": (f"pca-{dim}",) for dim in (200, 100, 50)},
    **{f"MULE, words below {count} by dictionary": (f"dictionary-{count}",) for count in (5, 20, 50)},
    "LA": ("la",),
    "HEM": ("hem",),
    "SMALR": ("smalr",),
    "SMALR, fixed rise": ("smalr-fixed-rise",),
    "`lingvis_frozen`": ("lingvis_frozen",),
    "`lingvis`": ("lingvis",),
}
SHIPPED = "lingvis-base/test/int8"  # the record of the model that ships
# Lines of the summary; of SMALR the form whose training succeeds.
SHORT = (
    "VSE-infinity, one model per language",
    "EmbN, one model per language",
    "S-LIWE, 10 languages",
    "MULE",
    "SMALR, fixed rise",
    "`lingvis_frozen`",
    "`lingvis`",
)
QUERY_METHODS = {"single": "as they are", "mean": "CLC-A", "learned": "CLC-C"}
MODELS = {"smalr": "SMALR", "lingvis_frozen": "`lingvis_frozen`"}
# Of queries with machine translations.
TRANSLATED_MODELS = {"smalr-10-es-uk": "SMALR with es and uk", **MODELS}


def languages_table(results: Results) -> str:
    """The table of SMALR: mR by language, means, sizes, minutes."""
    head = ["model", *TESTED, "HA", "A", *(f"{lang} *" for lang in ON_VAL)]
    head += ["trained, M", "at test, M", "word table, M", "minutes", "seeds"]
    rows = [[label, *cells(scores(results, *names), len(head) - 1)] for label, names in ROWS.items()]
    for label, report in _reports(results.find(STUDY, "consistency") or {}):
        numbers = [_of(report, lang) for lang in PARALLEL] if report else [MISSING]
        rows.append([f"{label} {MARK}", *numbers])
    return table(head, [[*row, *[""] * (len(head) - len(row))] for row in rows])


def languages_summary(results: Results) -> str:
    """The best of each kind: mR by language on test, their mean, and the size."""
    head = ["model", *TESTED, "mean", "parameters, M"]
    rows = []
    for label in SHORT:
        row = scores(results, *ROWS[label])
        if row is None:
            rows.append([label, MISSING, *[""] * (len(head) - 2)])
        else:
            by_lang = [_optional(row.test.get(lang)) for lang in TESTED]
            size = millions(row.sizes["training"]) if row.complete else ""
            rows.append([label, *by_lang, _optional(row.average(TESTED)), size])
    shipped = results.find("precision", SHIPPED)
    if shipped is not None:
        by_lang = [_of(shipped, lang) for lang in TESTED]
        size = millions(shipped["parameters"]["total"])
        rows.append(["`lingvis-base`, as it ships", *by_lang, f"{shipped['A']:.1f}", size])
    return table(head, rows)


def cells(row: LanguageScores | None, width: int) -> list[str]:
    """The numbers of a line in the order of the head."""
    if row is None:
        return [MISSING, *[""] * (width - 1)]
    means = [_optional(row.average(languages)) for languages in (HUMAN, TESTED)]
    by_lang = {lang: _optional(row.best(lang)) for lang in LANGUAGES}
    numbers = [*(by_lang[lang] for lang in TESTED), *means, *(by_lang[lang] for lang in ON_VAL)]
    costs = [*(millions(row.sizes[name]) for name in SIZES), f"{row.minutes:.1f}"]
    return [*numbers, *(costs if row.complete else [""] * len(costs)), row.seeds]


def consistency(results: Results) -> str:
    """mR on sentences that are translations of one another."""
    rows = []
    for label, report in _reports(results.find(STUDY, "consistency") or {}):
        numbers = [*(_of(report, lang) for lang in PARALLEL), f"{report['A']:.1f}"] if report else [MISSING]
        rows.append([label, *numbers, *[""] * (len(PARALLEL) + 1 - len(numbers))])
    return table(["queries", *PARALLEL, "mean"], rows)


def _reports(record: dict[str, Any]) -> list[tuple[str, Any | None]]:
    """Labels and reports of the ways to encode a query; None for one that was not measured."""
    reports = [("EmbN, English, queries translated", record.get("translate_to_en"))]
    for model, name in MODELS.items():
        of_model = record.get("models", {}).get(model, {})
        reports += [(f"{name}, {label}", of_model.get(key)) for key, label in QUERY_METHODS.items()]
    return reports


def _of(report: dict[str, Any] | None, lang: str) -> str:
    return f"{report['languages'][lang]['mR']:.1f}" if report and lang in report["languages"] else ""


def _optional(values: Sequence[float] | None) -> str:
    return "" if values is None else spread(values)


def query_speed(results: Results) -> str:
    """Queries per second of a lingvis_frozen model on a CPU."""
    record = results.find(STUDY, "queries")
    if record is None:
        return f"{MISSING.capitalize()}."
    rows = [
        ["queries per second, many at once", f"{record['batch_queries_per_s']:,.0f}"],
        ["one query, median, ms", f"{record['single_ms_median']:.1f}"],
        ["one query, 95th percentile, ms", f"{record['single_ms_p95']:.1f}"],
    ]
    return table([f"on {record['cores']} cores", ""], rows)

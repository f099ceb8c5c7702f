"""Scores of the runs in many languages, as the tables, claims and plots need them."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from studies.records import Record
from studies.tables.results.records import Results

STUDY = "languages"  # folder of results/

HUMAN = ("en", "de", "fr", "cs", "pt", "zh")
TESTED = (*HUMAN, "ar")
ON_VAL = ("ug", "bo", "mn")  # these have no test captions
LANGUAGES = (*TESTED, *ON_VAL)
PARALLEL = ("en", "de", "fr", "cs", "pt")
SIZES = ("training", "test", "table")  # shown in the table
# Rows in other folders: folder and row.
ELSEWHERE = {
    # Beside the other weights of the masked term, which were trained with the recipe of that time.
    "smalr-lambda-4": ("languages/earlier", "smalr"),
    "vse_infinity-en": ("flickr8k-ml", "vse_infinity_region"),
    "vse_infinity_grid-en": ("flickr8k-ml", "vse_infinity_grid"),
    "vsepp-en": ("flickr8k-ml", "vsepp"),
}


@dataclass(frozen=True)
class LanguageScores:
    """One row: a model of several languages, or one model per language.

    test, val: mR by language, one number per seed. minutes: of training, mean over seeds. sizes: numbers of
    values by name of SIZES, and "total", the trained values of the model itself. Minutes and sizes of several models are
    sums; complete: none of the models is missing.
    """

    test: dict[str, list[float]]
    val: dict[str, list[float]]
    minutes: float
    sizes: dict[str, int]
    complete: bool = True

    def average(self, languages: Sequence[str]) -> list[float] | None:
        """Mean test mR over languages, one number per seed; a single number if the numbers of seeds differ.

        None if a language is missing.
        """
        if any(lang not in self.test for lang in languages):
            return None
        by_lang = [self.test[lang] for lang in languages]
        if len({len(values) for values in by_lang}) > 1:
            by_lang = [[statistics.mean(values)] for values in by_lang]
        return [statistics.mean(values) for values in zip(*by_lang, strict=True)]

    def best(self, lang: str) -> list[float] | None:
        """mR of a language: on test, or on val if it has no test captions."""
        return (self.val if lang in ON_VAL else self.test).get(lang)

    @property
    def seeds(self) -> str:
        """The number of seeds, such as 1, 3 or 1 to 3."""
        counts = {len(values) for by_lang in (self.test, self.val) for values in by_lang.values()}
        return " to ".join(str(count) for count in sorted({min(counts), max(counts)}))


def runs_of(results: Results, row: str) -> list[Record]:
    """The runs of a row, one per seed; empty if it was not trained yet."""
    return results.seeds(*ELSEWHERE.get(row, (STUDY, row)))


def scores(results: Results, *rows: str) -> LanguageScores | None:
    """The scores of one model, or of several models of one language each; None if none was trained yet."""
    parts = [_scores(runs) for runs in (runs_of(results, row) for row in rows) if runs]
    if not parts:
        return None
    return LanguageScores(
        test={lang: values for part in parts for lang, values in part.test.items()},
        val={lang: values for part in parts for lang, values in part.val.items()},
        minutes=sum(part.minutes for part in parts),
        sizes={name: sum(part.sizes[name] for part in parts) for name in (*SIZES, "total")},
        complete=len(parts) == len(rows),
    )


def _scores(runs: Sequence[Record]) -> LanguageScores:
    sizes = runs[0]["parameters"]
    tests = [run.get("test", {}).get("languages", {}) for run in runs]
    vals = [run.get("validation_languages", {}) for run in runs]
    return LanguageScores(
        test={lang: [test[lang]["mR"] for test in tests] for lang in tests[0]},
        val={lang: [val[lang] for val in vals] for lang in vals[0]},
        minutes=statistics.mean([run["training"]["seconds"] / 60 for run in runs]),
        # Records from before these were counted are of models without word tables.
        sizes={
            "total": sizes["total"],
            "training": sizes.get("training", sizes["total"]),
            "test": sizes.get("test", sizes["total"]),
            "table": sizes.get("table", 0),
        },
    )

"""Records of the runs in many languages (benchmarks/rows.py), as the tables, claims and plots need them."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from studies.tables.markdown import read

HUMAN = ("en", "de", "fr", "cs", "pt", "zh")
TESTED = (*HUMAN, "ar")
ON_VAL = ("ug", "bo", "mn")  # these have no test captions
LANGUAGES = (*TESTED, *ON_VAL)
PARALLEL = ("en", "de", "fr", "cs", "pt")
SIZES = ("training", "test", "table")
# Runs of the English study that serve here too.
ELSEWHERE = {
    "vse_infinity-en": "flickr8k-ml/vse_infinity_region",
    "vse_infinity_grid-en": "flickr8k-ml/vse_infinity_grid",
    "vsepp-en": "flickr8k-ml/vsepp",
}


@dataclass(frozen=True)
class Measured:
    """One row: a model of several languages, or one model for each of them.

    test, val: mR by language, one number a seed. minutes: of training, mean over seeds. sizes: numbers of
    values by name of SIZES. Minutes and sizes of several models are sums; complete: none of the models is missing.
    """

    test: dict[str, list[float]]
    val: dict[str, list[float]]
    minutes: float
    sizes: dict[str, int]
    complete: bool = True

    def average(self, languages: Sequence[str]) -> list[float] | None:
        """Mean test mR over languages, one number a seed, a single one where seeds differ; None if one is missing."""
        if any(lang not in self.test for lang in languages):
            return None
        found = [self.test[lang] for lang in languages]
        if len({len(values) for values in found}) > 1:
            found = [[statistics.mean(values)] for values in found]
        return [statistics.mean(values) for values in zip(*found, strict=True)]

    def best(self, lang: str) -> list[float] | None:
        """mR of a language: on test, or on val where there are no test captions."""
        return (self.val if lang in ON_VAL else self.test).get(lang)

    @property
    def seeds(self) -> str:
        counts = {len(values) for by_lang in (self.test, self.val) for values in by_lang.values()}
        return " to ".join(str(count) for count in sorted({min(counts), max(counts)}))


class Records:
    """Records below a folder such as results/; a run that was not made yet is None."""

    def __init__(self, results: Path) -> None:
        self.results = results

    def find(self, name: str) -> Any | None:
        """A record as it was written."""
        path = self.results / f"{ELSEWHERE.get(name, f'languages/{name}')}.json"
        return read(path) if path.is_file() else None

    def row(self, *names: str) -> Measured | None:
        """Records of one row: of one model, or of the models of several languages."""
        parts = [_measured(record) for record in map(self.find, names) if record is not None]
        if not parts:
            return None
        return Measured(
            test={lang: values for part in parts for lang, values in part.test.items()},
            val={lang: values for part in parts for lang, values in part.val.items()},
            minutes=sum(part.minutes for part in parts),
            sizes={name: sum(part.sizes[name] for part in parts) for name in SIZES},
            complete=len(parts) == len(names),
        )


def _measured(record: dict[str, Any]) -> Measured:
    runs = record["runs"]
    sizes = runs[0]["parameters"]
    tests = [run.get("test", {}).get("languages", {}) for run in runs]
    vals = [run.get("validation_languages", {}) for run in runs]
    return Measured(
        test={lang: [each[lang]["mR"] for each in tests] for lang in tests[0]},
        val={lang: [each[lang] for each in vals] for lang in vals[0]},
        minutes=statistics.mean([run["training"]["seconds"] / 60 for run in runs]),
        # Records from before these were counted are of models without word tables.
        sizes={
            "training": sizes.get("training", sizes["total"]),
            "test": sizes.get("test", sizes["total"]),
            "table": sizes.get("table", 0),
        },
    )

"""The typed result of a comparison of models, and its JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from lingvis.data.sentence_source import SentenceSource
from lingvis.evaluation.bootstrap import CONFIDENCE, SAMPLES, Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRun:
    """mR of one model by language, and their mean A; parameters: of the whole model."""

    run: str
    parameters: int
    languages: Mapping[str, float]
    A: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDifference:
    """The difference of a run to the first one, by language and for A."""

    run: str
    languages: Mapping[str, Interval]
    A: Interval

    @property
    def undecided(self) -> list[str]:
        """The languages, and A, whose interval includes zero."""
        named = {**self.languages, "A": self.A}
        return [name for name, difference in named.items() if not difference.decided]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedLanguage:
    """The data that a language was measured on; sentences: their source; chance: mR of a random order."""

    images: int
    captions: int
    sentences: SentenceSource
    chance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Runs on one dataset; differences: of every run but the first to the first."""

    dataset: str
    split: str
    protocol: str
    languages: Mapping[str, ComparedLanguage]
    runs: Sequence[ComparedRun]
    differences: Sequence[RunDifference]
    dataset_sha256: str
    lingvis: str

    @property
    def chance(self) -> float:
        """The mean of the languages' mR of a random order."""
        return sum(each.chance for each in self.languages.values()) / len(self.languages)

    def warnings(self) -> list[str]:
        """One sentence per run whose difference to the first is undecided somewhere."""
        first = self.runs[0].run
        return [
            f"{difference.run} and {first} are not distinguished by this test set in: "
            f"{', '.join(difference.undecided)} (the interval of the difference includes zero)"
            for difference in self.differences
            if difference.undecided
        ]

    def as_json(self) -> dict[str, Any]:
        """The object that `lingvis compare --json` prints."""
        return {
            "dataset": self.dataset,
            "split": self.split,
            "protocol": self.protocol,
            "languages": {lang: asdict(each) for lang, each in self.languages.items()},
            "chance": self.chance,
            "runs": [asdict(run) for run in self.runs],
            "against": self.runs[0].run,
            "differences": [
                {
                    "run": each.run,
                    "languages": {lang: _interval(value) for lang, value in each.languages.items()},
                    "A": _interval(each.A),
                    "undecided": each.undecided,
                }
                for each in self.differences
            ],
            "intervals": {"samples": SAMPLES, "confidence": CONFIDENCE, "over": "pictures"},
            "warnings": self.warnings(),
            "dataset_sha256": self.dataset_sha256,
            "lingvis": self.lingvis,
        }


def _interval(value: Interval) -> dict[str, Any]:
    return {**asdict(value), "decided": value.decided}

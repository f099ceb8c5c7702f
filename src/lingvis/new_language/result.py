"""The typed result of adding a language, and its JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from lingvis.new_language.try_routes import RouteOutcome
from lingvis.new_language.verify import ScoreChange

# Keys of the JSON that are stored in the folder of the language.
DATA = ("dataset", "dataset_sha256", "sentences", "with_picture", "with_translation", "seed")
NUMBERS = (
    "routes",
    "measured_on",
    "pool",
    "before",
    "after",
    "old",
    "pictures_same",
    "old_sentences_same",
    "seconds",
    "device",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AddLanguageResult:
    """A model with a new language: its training and its scores.

    model: name of the new model; base: name of the extended model. routes: outcomes of all routes; route: the best
    one. sentences: number used for training; with_picture, with_translation: of these. measured_on: "val",
    "pictures", "pairs", "picture folds" or "pair folds", see LanguageData. pool: number of pictures, or of translations,
    that sentences were measured among. before, after: mR of the new language; before is None if the model could
    not encode it. old: mR of all other languages; pictures_same, old_sentences_same: whether embeddings are bitwise
    equal. values: number of weights that the language adds. parameters: of the whole model.
    """

    model: str
    base: str
    lang: str
    dataset: str
    dataset_sha256: str
    route: str
    routes: Sequence[RouteOutcome]
    sentences: int
    with_picture: int
    with_translation: int
    measured_on: str
    pool: int
    before: float | None
    seed: int
    device: str
    lingvis: str
    after: float
    old: Mapping[str, ScoreChange]
    pictures_same: bool
    old_sentences_same: bool
    values: int
    parameters: Mapping[str, int]
    seconds: float

    def as_json(self) -> dict[str, Any]:
        """The object that `lingvis add-language --json` prints."""
        values = {"from" if key == "base" else key: getattr(self, key) for key in self.__slots__}
        return values | {
            "routes": [outcome.as_json() for outcome in self.routes],
            "old": {lang: asdict(change) for lang, change in self.old.items()},
        }

    def data(self) -> dict[str, Any]:
        """A record of the training data, for the folder of the language."""
        return _selected(self.as_json(), DATA)

    def numbers(self) -> dict[str, Any]:
        """A record of the measurements, for the folder of the language."""
        return _selected(self.as_json(), NUMBERS)


def _selected(report: Mapping[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    return {key: value for key, value in report.items() if key in keys}

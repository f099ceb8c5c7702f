"""How far a score can be trusted: the probability that a hit is right, and the words for it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Literal

from pydantic import Field

from lingvis.files import write_json
from lingvis.model.folder import CALIBRATION, report_damage
from lingvis.relevance.spread import ScoreSpread
from lingvis.strict import StrictModel
from lingvis.untrusted import read_json

Confidence = Literal["strong", "likely", "weak"]
# The least probability. More of all hits that are called so are right, since most of them lie above it.
STRONG, LIKELY = 0.85, 0.4
FIRST_STRONG, FIRST_LIKELY = 0.9, 2 / 3  # of format 1, which was fitted to easier hits
# Smaller collections were not measured. A collection of a million pictures holds more that deceive, and also more that
# are right: beyond the second number both are taken to grow alike.
FEWEST_PICTURES, MOST_PICTURES = 50, 10_000


class CalibrationSource(StrictModel):
    """The held-out pictures that a calibration was fitted on; right, wrong: numbers of hits."""

    model: str
    dataset: str
    split: str
    pictures: int
    right: int
    wrong: int


class Calibration(StrictModel):
    """calibration.json of a model folder.

    A hit with score s, z standard deviations above the mean score of the query in the collection, is right among n
    pictures with probability sigmoid(intercept + score * s + deviation * z + log_pictures * ln n), where one half of all
    queries have a right picture. usual_mean, usual_deviation: of the scores of a query. Format 1 has no deviation.
    """

    format: Literal[1, 2] = 2
    intercept: float = Field(allow_inf_nan=False)
    score: float = Field(allow_inf_nan=False)
    deviation: float = Field(default=0.0, allow_inf_nan=False)
    log_pictures: float = Field(allow_inf_nan=False)
    usual_mean: float = Field(default=0.0, allow_inf_nan=False)
    usual_deviation: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    source: CalibrationSource

    @classmethod
    def read(cls, folder: Path) -> Calibration | None:
        """The calibration of a model folder; None if it has none, as those of earlier versions."""
        file = folder / CALIBRATION
        if not file.is_file():
            return None
        with report_damage(str(file)):
            return cls.model_validate(read_json(file))

    def write(self, folder: Path) -> None:
        """Write calibration.json into a model folder."""
        write_json(folder / CALIBRATION, self.model_dump(mode="json"))

    def probability(self, score: float, pictures: int, spread: ScoreSpread) -> float:
        """The probability that a hit is right, in a collection of this number of pictures.

        spread: of the scores of the query with pictures of the collection.
        """
        size = math.log(min(max(pictures, FEWEST_PICTURES), MOST_PICTURES))
        z = spread.deviations(score, usual_mean=self.usual_mean, usual_deviation=self.usual_deviation)
        logit = self.intercept + self.score * score + self.deviation * z + self.log_pictures * size
        return 1 / (1 + math.exp(-min(max(logit, -50.0), 50.0)))

    def confidence(self, score: float, pictures: int, spread: ScoreSpread) -> Confidence:
        """The probability in a word."""
        probability = self.probability(score, pictures, spread)
        strong, likely = (STRONG, LIKELY) if self.format > 1 else (FIRST_STRONG, FIRST_LIKELY)
        return "strong" if probability >= strong else "likely" if probability >= likely else "weak"

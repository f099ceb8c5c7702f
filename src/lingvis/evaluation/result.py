"""The typed report of an evaluation, and the JSON that `lingvis evaluate --json` prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lingvis.data.sentence_source import SentenceSource
from lingvis.evaluation.metrics import RetrievalScores


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageScores(RetrievalScores):
    """The scores of one language, and the data they were measured on.

    zero_shot: whether no model was trained on the language. sentences: where they come from; `translated` are machine
    translations. chance: mR of a random order.
    For translated queries, read_in: the languages of the queries that the model encoded; single: the scores of
    the untranslated sentences, None if a model was not trained on the language.
    """

    zero_shot: bool
    images: int
    captions: int
    chance: float
    sentences: SentenceSource = "captions"
    read_in: Sequence[str] | None = None
    single: RetrievalScores | None = None

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        translated = (
            {} if self.read_in is None else {"read_in": list(self.read_in), "single": _scores(self.single)}
        )
        return {
            "zero_shot": self.zero_shot,
            "images": self.images,
            "captions": self.captions,
            "sentences": self.sentences,
            **_numbers(self),
            "chance": self.chance,
            **translated,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The scores of a model, or of an ensemble, on a dataset under a protocol: `report.languages["de"].mR`.

    parameters: numbers of parameters, by side (image, text, total).
    A: mean mR of all languages; HA: of languages with human captions, None if the protocol names none.
    reading: how queries were translated, or None; single: A and HA of the untranslated sentences.
    ties: the tie rule; dataset_sha256: checksum of the caption file; lingvis: the version.
    """

    model: str
    dataset: str
    split: str
    protocol: str
    parameters: Mapping[str, int]
    languages: Mapping[str, LanguageScores]
    A: float | None
    HA: float | None
    reading: Mapping[str, Any] | None = None
    single: Mapping[str, float | None] | None = None
    ties: str
    dataset_sha256: str
    lingvis: str

    def as_json(self) -> dict[str, Any]:
        """The object that `lingvis evaluate --json` prints."""
        translated = {} if self.reading is None else {"reading": self.reading, "single": self.single}
        return {
            "model": self.model,
            "dataset": self.dataset,
            "split": self.split,
            "protocol": self.protocol,
            "parameters": self.parameters,
            "languages": {lang: scores.as_json() for lang, scores in self.languages.items()},
            "A": self.A,
            "HA": self.HA,
            **translated,
            "ties": self.ties,
            "dataset_sha256": self.dataset_sha256,
            "lingvis": self.lingvis,
        }


def _scores(scores: RetrievalScores | None) -> dict[str, Any] | None:
    return None if scores is None else _numbers(scores)


def _numbers(scores: RetrievalScores) -> dict[str, Any]:
    return {"i2t": scores.i2t, "t2i": scores.t2i, "mR": scores.mR, "rsum": scores.rsum}

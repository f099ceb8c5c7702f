"""Queries with their translations, or translated: what was asked for -> a reading that evaluation can use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from lingvis.data.dataset import Dataset
from lingvis.errors import UserError, choices
from lingvis.evaluation.clc.consistency import MeanConsistency
from lingvis.evaluation.clc.fit import Fitted, Questions, fit
from lingvis.evaluation.clc.reading import Reading, TranslatedTo, WithTranslations
from lingvis.evaluation.clc.scores import ConsistentScores
from lingvis.evaluation.clc.translations import Translations, machine_translations, parallel_translations
from lingvis.evaluation.evaluate import Embedded, embed
from lingvis.evaluation.models import ImageSource
from lingvis.evaluation.pools import languages_in
from lingvis.evaluation.protocols import EvaluationProtocol
from lingvis.evaluation.scorers import EVERY
from lingvis.text.translators import TRANSLATORS

METHODS = ("mean", "learned")
FIT_SPLIT = "val"
FIT_IMAGES = (
    1000  # as many as the validation sets of the papers; the scores of all languages are held at once
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a user asks for; queries are read as they are without `consistency` and `translate_to`.

    consistency: mean or learned. translate_to: a language. translator: a registered one, `parallel` of the dataset
    when None. keep_in: the model folder that keeps what was learnt.
    """

    consistency: str | None = None
    translate_to: str | None = None
    translator: str | None = None
    keep_in: Path | None = None

    def check(self, split: str, models: int) -> None:
        """Refuse what contradicts itself, before anything is read."""
        if self.consistency is not None and self.consistency not in METHODS:
            raise UserError(f"unknown consistency {self.consistency!r}; choose one of: {choices(METHODS)}")
        if self.consistency is not None and self.translate_to is not None:
            raise UserError("got both --consistency and --translate-to; choose one of the two")
        if self.translator is not None and self.consistency is None and self.translate_to is None:
            raise UserError(
                f"got --translator {self.translator} and no use for it; add --consistency or --translate-to"
            )
        if self.translator is not None:
            TRANSLATORS.get(self.translator)
        if self.keep_in is not None and (self.consistency != "learned" or models > 1):
            raise UserError(
                "--save-consistency keeps what --consistency learned has learnt for one model; give it with that "
                "and without --with"
            )
        if self.consistency == "learned" and split == FIT_SPLIT:
            raise UserError(
                f"--consistency learned learns on split {FIT_SPLIT}, so its numbers there say nothing; "
                "measure another split"
            )


def choose_reading(
    asked: Asked,
    models: Sequence[ImageSource],
    dataset: Dataset,
    *,
    protocol: EvaluationProtocol,
    split: str,
    wanted: Sequence[str],
) -> Reading | None:
    """None for queries as they are; translations are read in languages that all models were trained on."""
    if asked.consistency is None and asked.translate_to is None:
        return None
    translations, source = _translations(dataset, asked.translator)
    known = known_to_all(models)
    if asked.translate_to is not None:
        if asked.translate_to not in known:
            raise UserError(
                f"the model was not trained on {asked.translate_to!r}; it reads translations to: {choices(known)}"
            )
        return TranslatedTo(asked.translate_to, translations, {"translations": source})
    here = languages_in(dataset, protocol, split) if asked.translator is None else protocol.languages or known
    languages = [lang for lang in known if lang in here]
    if len(languages) < 2:
        raise UserError(
            f"consistency needs two languages that the model was trained on and protocol {protocol.name} has, "
            f"found: {choices(languages)}; trained on: {choices(known)}"
        )
    described = {"consistency": asked.consistency, "translations": source}
    mean = WithTranslations(MeanConsistency(languages), translations, described)
    if asked.consistency == "mean":
        return mean
    fitted = _fit(models, dataset, protocol, wanted, mean)
    if asked.keep_in is not None:
        fitted.consistency.save(asked.keep_in)
    return mean.with_consistency(fitted.consistency, {"fit": {"split": FIT_SPLIT, **fitted.record}})


def known_to_all(models: Sequence[ImageSource]) -> list[str]:
    """The languages that every model was trained on."""
    return [
        lang for lang in models[0].model.languages if all(lang in each.model.languages for each in models)
    ]


def _translations(dataset: Dataset, translator: str | None) -> tuple[Translations, str]:
    if translator is None:
        return parallel_translations(dataset), "parallel"
    return machine_translations(TRANSLATORS.get(translator)()), translator


def _fit(
    models: Sequence[ImageSource],
    dataset: Dataset,
    protocol: EvaluationProtocol,
    wanted: Sequence[str],
    mean: WithTranslations,
) -> Fitted:
    """Learn on validation, which need not have the size that the protocol asks of a test."""
    captions = protocol.captions if protocol.first_captions else None
    relaxed = replace(protocol, splits=(FIT_SPLIT,), images=None, captions=captions, folds=1)
    embedded = embed(models, dataset, protocol=relaxed, split=FIT_SPLIT, languages=wanted, reading=mean)
    return fit(mean.consistency.languages, _questions(embedded))


def _questions(embedded: Embedded) -> list[Questions]:
    """Of each language, once where languages ask the same: parallel sentences are all each other's translations."""
    made: list[Questions] = []
    for pool, scorer in zip(embedded.pools, embedded.scorers, strict=True):
        if not isinstance(scorer, ConsistentScores):
            raise TypeError(f"expected scores with translations, got {type(scorer).__name__}")
        texts = np.flatnonzero(pool.image_of < FIT_IMAGES)
        asked = Questions(scorer.take(slice(FIT_IMAGES), texts).stacked(EVERY, EVERY), pool.image_of[texts])
        if not any(_same(asked, other) for other in made):
            made.append(asked)
    return made


def _same(one: Questions, other: Questions) -> bool:
    return np.array_equal(one.image_of, other.image_of) and np.array_equal(one.scores, other.scores)

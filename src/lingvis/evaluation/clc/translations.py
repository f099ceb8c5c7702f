"""The sentences of a pool in other languages: from `parallel` of the dataset, or from a translator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lingvis.arrays import Bools
from lingvis.data.dataset import Dataset
from lingvis.errors import UserError
from lingvis.evaluation.pools import EvaluationPool
from lingvis.text.translators import Translator

Translations = Callable[[EvaluationPool, str], list[str | None]]


@dataclass(frozen=True, slots=True)
class Version:
    """A pool in another language; present: bool [texts], False where a placeholder replaces a missing translation."""

    pool: EvaluationPool
    present: Bools


def parallel_translations(dataset: Dataset) -> Translations:
    """Translations from the sentences of `parallel`; raises for other sentences."""
    parallel = {row.image: row.parallel for row in dataset.rows}

    def translate(pool: EvaluationPool, target: str) -> list[str | None]:
        rows = [parallel[pool.images[image]] for image in pool.image_of]
        unknown = sum(row.get(pool.lang) != text for row, text in zip(rows, pool.texts, strict=True))
        if unknown:
            raise UserError(
                f"{unknown} of {len(rows)} sentences in {pool.lang} of {dataset.path} are not among the sentences of "
                "`parallel`, so their translations are unknown; measure parallel sentences with `protocol` parallel, "
                "or name a `translator`"
            )
        return [row.get(target) for row in rows]

    return translate


def machine_translations(translator: Translator) -> Translations:
    """Translations by a translator; each distinct sentence is translated once, and an empty result counts as missing."""

    def translate(pool: EvaluationPool, target: str) -> list[str | None]:
        distinct = list(dict.fromkeys(pool.texts))
        if target == pool.lang:
            return [*pool.texts]
        results = translator(distinct, pool.lang, target)
        if len(results) != len(distinct):
            raise ValueError(f"the translator returned {len(results)} sentences for {len(distinct)}")
        translation_of = dict(zip(distinct, results, strict=True))
        return [translation_of[text] if translation_of[text].strip() else None for text in pool.texts]

    return translate


def versions(
    pool: EvaluationPool, languages: Sequence[str], translations: Translations
) -> dict[str, Version]:
    """The pool in each of `languages` that has a translation of any sentence.

    Raises if a sentence has no translation in any of them.
    """
    by_language: dict[str, Version] = {}
    problems: list[UserError] = []
    for lang in languages:
        try:
            texts = translations(pool, lang)
        except UserError as error:  # a translator may lack a pair of languages
            problems.append(error)
            continue
        filler = next((text for text in texts if text is not None), None)
        if filler is not None:
            present = np.asarray([text is not None for text in texts])
            filled = [filler if text is None else text for text in texts]
            by_language[lang] = Version(replace(pool, lang=lang, texts=filled), present)
    if not set(by_language) - {pool.lang}:
        raise (
            problems[0]
            if problems
            else UserError(f"no sentence in {pool.lang} has a translation in any of: {', '.join(languages)}")
        )
    missing = int((~np.any([version.present for version in by_language.values()], axis=0)).sum())
    if missing:
        raise UserError(
            f"{missing} of {len(pool.texts)} sentences in {pool.lang} have no translation in any of: "
            f"{', '.join(by_language)}; choose another `translator` or other `languages`"
        )
    return by_language


def translated(pool: EvaluationPool, target: str, translations: Translations) -> EvaluationPool:
    """The pool in one other language; raises if a sentence has no translation."""
    texts = translations(pool, target)
    whole = [text for text in texts if text is not None]
    if len(whole) < len(texts):
        raise UserError(
            f"{len(texts) - len(whole)} of {len(texts)} sentences in {pool.lang} have no translation in {target}; "
            "choose other `languages` or another `translator`"
        )
    return replace(pool, lang=target, texts=whole)

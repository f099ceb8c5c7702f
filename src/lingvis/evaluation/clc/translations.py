"""The sentences of a pool in other languages: from `parallel` of the dataset, or from a translator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lingvis.data.dataset import Dataset
from lingvis.errors import UserError
from lingvis.evaluation.pools import Pool
from lingvis.evaluation.scorers import Mask

Translator = Callable[[Sequence[str], str, str], list[str]]
Translations = Callable[[Pool, str], list[str | None]]


@dataclass(frozen=True, slots=True)
class Version:
    """A pool in another language; present: bool [texts], elsewhere stands some sentence that means nothing."""

    pool: Pool
    present: Mask


def parallel_translations(dataset: Dataset) -> Translations:
    """Sentences of `parallel` are translations of one another; others have none and are refused."""
    parallel = {row.image: row.parallel for row in dataset.rows}

    def translate(pool: Pool, target: str) -> list[str | None]:
        rows = [parallel[pool.images[image]] for image in pool.image_of]
        strange = sum(row.get(pool.lang) != text for row, text in zip(rows, pool.texts, strict=True))
        if strange:
            raise UserError(
                f"{strange} of {len(rows)} sentences in {pool.lang} of {dataset.path} are not among those of "
                "`parallel`, so their translations are not known; measure parallel sentences with "
                "--protocol parallel, or name a --translator"
            )
        return [row.get(target) for row in rows]

    return translate


def machine_translations(translator: Translator) -> Translations:
    """Each distinct sentence is translated once; an empty answer is none."""

    def translate(pool: Pool, target: str) -> list[str | None]:
        distinct = list(dict.fromkeys(pool.texts))
        if target == pool.lang:
            return [*pool.texts]
        made = translator(distinct, pool.lang, target)
        if len(made) != len(distinct):
            raise ValueError(f"the translator gave {len(made)} sentences for {len(distinct)}")
        found = dict(zip(distinct, made, strict=True))
        return [found[text] if found[text].strip() else None for text in pool.texts]

    return translate


def versions(pool: Pool, languages: Sequence[str], translations: Translations) -> dict[str, Version]:
    """The pool in each of `languages` that any of its sentences can be had in; every sentence is in at least one."""
    made: dict[str, Version] = {}
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
            made[lang] = Version(replace(pool, lang=lang, texts=filled), present)
    if not set(made) - {pool.lang}:
        raise (
            problems[0]
            if problems
            else UserError(f"no sentence in {pool.lang} has a translation in any of: {', '.join(languages)}")
        )
    alone = int((~np.any([version.present for version in made.values()], axis=0)).sum())
    if alone:
        raise UserError(
            f"{alone} of {len(pool.texts)} sentences in {pool.lang} cannot be had in any of: {', '.join(made)}; "
            "choose another translator or other languages"
        )
    return made


def translated(pool: Pool, target: str, translations: Translations) -> Pool:
    """The pool in one other language, whole."""
    texts = translations(pool, target)
    whole = [text for text in texts if text is not None]
    if len(whole) < len(texts):
        raise UserError(
            f"{len(texts) - len(whole)} of {len(texts)} sentences in {pool.lang} have no translation in {target}; "
            "leave that language out with --lang, or choose another translator"
        )
    return replace(pool, lang=target, texts=whole)

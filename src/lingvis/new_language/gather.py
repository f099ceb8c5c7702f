"""A dataset -> the sentences of a new language, and how the best route is chosen among them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lingvis.data.dataset import Dataset
from lingvis.data.rows import Row, TextRow
from lingvis.errors import UserError, choices
from lingvis.new_language.folds import HELD_OUT, MANY, MOST_HELD_OUT, choosable_groups, hold_out, make_folds
from lingvis.new_language.language_data import KnownSentences, LanguageData, SentenceGroups

LEAST = 20  # sentences: with fewer, too few are left to choose by
FEW = 50  # pictures of split val: fewer would decide between routes by luck
# Sentences in known languages per picture: the mean of their embeddings hardly changes with more.
KNOWN_PER_GROUP = 6


def gather(
    dataset: Dataset, lang: str, known: Sequence[str], *, limit: int | None = None, seed: int = 0
) -> LanguageData:
    """All sentences of `lang`; limit: learn from at most this number, sentences with a picture first.

    A split val with fewer than FEW pictures does not choose; its captions are not learnt from either.
    """
    learn = _pictured(dataset, "train", lang, known)
    for row in dataset.text_only():
        _add(learn, row, lang, known)
    if not learn.texts:
        present = {*dataset.languages, *(each for row in dataset.text_only() for each in _languages(row))}
        raise UserError(
            f"{dataset.path} has no sentences in {lang!r} to learn from in split train or without a picture; "
            f"it has: {choices(present)}"
        )
    choose, by = _pictured(dataset, "val", lang, known, all_pictures=False), "val"
    order = np.random.default_rng(seed).permutation(len(learn.texts))
    in_folds = False
    if len(choose.images) < FEW:
        groups = choosable_groups(learn, order)
        by, in_folds = "pictures" if learn.pictured else "pairs", len(groups) < MANY
        held_out = [] if in_folds else groups[: min(MOST_HELD_OUT, len(groups) // HELD_OUT)]
        learn, choose, order = hold_out(learn, held_out, order)
    if limit is not None:
        without = np.asarray(learn.groups)[order] >= len(learn.images)
        order = order[np.argsort(without, kind="stable")][:limit]
    learn = learn.take(np.sort(order).tolist())
    if len(learn.texts) < LEAST:
        raise UserError(
            f"got {len(learn.texts)} sentences in {lang!r} to learn from; give at least {LEAST}, better a few hundred"
        )
    if not learn.pictured and not learn.paired:
        raise UserError(
            f"the sentences in {lang!r} of {dataset.path} have neither a picture nor a translation into a language of the "
            f"model ({choices(known)}); add one of these to the dataset, so that their meaning is known"
        )
    if in_folds:
        return LanguageData(lang, learn, choose, f"{by[:-1]} folds", make_folds(lang, learn, seed=seed))
    return LanguageData(lang, learn, choose, by)


def _pictured(
    dataset: Dataset, split: str, lang: str, known: Sequence[str], *, all_pictures: bool = True
) -> SentenceGroups:
    """Pictures of a split with their sentences; all_pictures: include pictures without a sentence in the language."""
    part = SentenceGroups()
    for row in dataset.rows:
        if row.split == split and (all_pictures or _sentences(row, lang)):
            part.images.append(row.image)
            _add(part, row, lang, known)
    return part


def _add(part: SentenceGroups, row: Row | TextRow, lang: str, known: Sequence[str]) -> None:
    """Add one group; a row without a picture is added only with a sentence in the language."""
    sentences = _sentences(row, lang)
    if isinstance(row, TextRow) and not sentences:
        return
    part.texts += sentences
    part.groups += [len(part.known)] * len(sentences)
    part.known.append(_known(row, lang, known))


def _sentences(row: Row | TextRow, lang: str) -> list[str]:
    """Captions and the parallel sentence, without repetition; machine translations if there are none."""
    parallel = (row.parallel[lang],) if lang in row.parallel else ()
    translated = row.translations(lang) if isinstance(row, Row) else ()
    return list(dict.fromkeys((*row.captions.get(lang, ()), *parallel) or translated))


def _known(row: Row | TextRow, lang: str, known: Sequence[str]) -> KnownSentences:
    """Translations first; then captions, the first of every language, the second of every language and so on."""
    sentences: KnownSentences = []
    if lang in row.parallel:
        sentences += [(each, row.parallel[each]) for each in known if each in row.parallel]
    longest = max((len(texts) for texts in row.captions.values()), default=0)
    for turn in range(longest):
        sentences += [
            (each, row.captions[each][turn]) for each in known if turn < len(row.captions.get(each, ()))
        ]
    return list(dict.fromkeys(sentences))[:KNOWN_PER_GROUP]


def _languages(row: TextRow) -> set[str]:
    return {*row.captions, *row.parallel}

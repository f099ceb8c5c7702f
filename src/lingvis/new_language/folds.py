"""Held-out sentences to choose by: a tenth of many pictures, or each picture once, in folds, where they are few."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lingvis.arrays import Ints
from lingvis.errors import UserError
from lingvis.new_language.language_data import LanguageData, SentenceGroups

FOLDS = 5
HELD_OUT = 10  # one of this number of pictures or pairs is held out where they are many
MOST_HELD_OUT = 1000
MANY = 1000  # pictures or pairs: a tenth of fewer would decide between routes by luck


def choosable_groups(learn: SentenceGroups, order: Ints) -> list[int]:
    """The groups to choose by, in the order of their sentences: pictures if there are any, otherwise pairs."""
    pictured = learn.pictured > 0
    drawn = dict.fromkeys(np.asarray(learn.groups)[order].tolist())
    return [group for group in drawn if (group < len(learn.images) if pictured else learn.known[group])]


def hold_out(
    learn: SentenceGroups, groups: Sequence[int], order: Ints
) -> tuple[SentenceGroups, SentenceGroups, Ints]:
    """The rest, the sentences of the held-out groups, and `order` [sentences] of the rest, renumbered."""
    out = np.isin(np.asarray(learn.groups), list(groups))  # bool [sentences]
    chosen = np.flatnonzero(out).tolist()
    apart = sorted({learn.groups[row] for row in chosen})
    place = {group: number for number, group in enumerate(apart)}
    pictured = all(group < len(learn.images) for group in apart)
    choose = SentenceGroups(
        images=[learn.images[group] for group in apart] if pictured else [],
        known=[learn.known[group] for group in apart],
        texts=[learn.texts[row] for row in chosen],
        groups=[place[learn.groups[row]] for row in chosen],
    )
    rest = learn.take(np.flatnonzero(~out).tolist())
    if pictured:
        for group in apart:
            rest.known[group] = []  # sentences about held-out pictures in other languages are not used either
    number = np.cumsum(~out) - 1  # of each sentence among the rest
    return rest, choose, number[order[~out[order]]]


def make_folds(lang: str, learn: SentenceGroups, *, seed: int) -> list[LanguageData]:
    """FOLDS parts of the groups; each is held out once, while the others are learnt from."""
    order = np.random.default_rng(seed).permutation(len(learn.texts))
    groups = choosable_groups(learn, order)
    if len(groups) < 2:
        raise UserError(
            f"the sentences in {lang!r} belong to {len(groups)} picture or translation; give several, so that a route can "
            "be chosen"
        )
    folds = []
    for number in range(min(FOLDS, len(groups))):
        rest, choose, _ = hold_out(learn, groups[number::FOLDS], order)
        folds.append(LanguageData(lang, rest, choose, "fold"))
    return folds

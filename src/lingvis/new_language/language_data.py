"""Sentences of a new language: some to learn from, others to choose the best route."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from lingvis.arrays import Ints
from lingvis.data.dataset import Dataset
from lingvis.data.rows import Row, TextRow
from lingvis.errors import UserError, choices

LEAST = 20  # sentences: with fewer, a tenth is too small a validation set
HELD_OUT = 10  # without a validation split, one of this number of pictures or pairs is held out
MOST_HELD_OUT = 1000
# Sentences in known languages per picture: the mean of their embeddings hardly changes with more.
KNOWN_PER_GROUP = 6

KnownSentences = list[tuple[str, str]]


@dataclass(slots=True)
class SentenceGroups:
    """Sentences of the new language in groups; a group is a picture, or a row without one (text only).

    images: names of the pictures, which are the first groups. known: per group, the sentences in languages of the
    model, as (language, text). texts[i] belongs to group groups[i].
    """

    images: list[str] = field(default_factory=list)
    known: list[KnownSentences] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    groups: list[int] = field(default_factory=list)

    @property
    def pictured(self) -> int:
        """Number of sentences with a picture."""
        return sum(group < len(self.images) for group in self.groups)

    @property
    def paired(self) -> int:
        """Number of sentences with a sentence in a known language in the same group."""
        return sum(bool(self.known[group]) for group in self.groups)

    def take(self, rows: Iterable[int]) -> SentenceGroups:
        """Select sentences and keep all pictures as negatives; text-only rows without a selected sentence are
        dropped."""
        rows = list(rows)
        kept = sorted({self.groups[row] for row in rows if self.groups[row] >= len(self.images)})
        place = {group: number for number, group in enumerate(kept, start=len(self.images))}
        return SentenceGroups(
            images=self.images,
            known=[*self.known[: len(self.images)], *(self.known[group] for group in kept)],
            texts=[self.texts[row] for row in rows],
            groups=[place.get(self.groups[row], self.groups[row]) for row in rows],
        )


@dataclass(frozen=True, slots=True)
class LanguageData:
    """Sentences to learn from, and others to choose the best route and epoch.

    by: the source of `choose`: "val" is the split of the dataset, "pictures" a held-out part of train, "pairs"
    held-out sentences with their translations if there are no pictures.
    """

    lang: str
    learn: SentenceGroups
    choose: SentenceGroups
    by: str

    @property
    def undescribed(self) -> int:
        """Number of pictures to learn from with a sentence in a known language and none in this one."""
        described = set(self.learn.groups)
        return sum(
            bool(self.learn.known[group]) for group in range(len(self.learn.images)) if group not in described
        )


def gather(
    dataset: Dataset, lang: str, known: Sequence[str], *, limit: int | None = None, seed: int = 0
) -> LanguageData:
    """All sentences of `lang`; limit: learn from at most this number, sentences with a picture first."""
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
    if not choose.texts:
        learn, choose, by, order = _held_out(learn, order)
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


def _held_out(learn: SentenceGroups, order: Ints) -> tuple[SentenceGroups, SentenceGroups, str, Ints]:
    """Hold out some groups, with pictures if possible.

    Returns the rest, the held-out groups, their name, and `order` [sentences] of the rest, renumbered.
    """
    groups = np.asarray(learn.groups)
    pictured = learn.pictured > 0
    drawn = dict.fromkeys(
        group
        for group in groups[order].tolist()
        if (group < len(learn.images) if pictured else learn.known[group])
    )
    out = np.isin(
        groups, list(drawn)[: min(MOST_HELD_OUT, max(1, len(drawn) // HELD_OUT))]
    )  # bool [sentences]
    chosen = [int(row) for row in np.flatnonzero(out)]
    kept = np.flatnonzero(~out)
    number = np.cumsum(~out) - 1  # of each sentence among the rest
    apart = sorted({learn.groups[row] for row in chosen})
    place = {group: at for at, group in enumerate(apart)}
    choose = SentenceGroups(
        images=[learn.images[group] for group in apart] if pictured else [],
        known=[learn.known[group] for group in apart],
        texts=[learn.texts[row] for row in chosen],
        groups=[place[learn.groups[row]] for row in chosen],
    )
    rest = learn.take(kept.tolist())
    if pictured:
        for group in apart:
            rest.known[group] = []  # sentences about held-out pictures in other languages are not used either
    return rest, choose, "pictures" if pictured else "pairs", number[order[~out[order]]]


def _sentences(row: Row | TextRow, lang: str) -> list[str]:
    """Captions and the parallel sentence, without repetition."""
    parallel = (row.parallel[lang],) if lang in row.parallel else ()
    return list(dict.fromkeys((*row.captions.get(lang, ()), *parallel)))


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

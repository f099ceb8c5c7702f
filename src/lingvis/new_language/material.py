"""What a language is learnt from: its sentences, the pictures they are about, and what the model knows to say of these."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from lingvis.data.dataset import Dataset
from lingvis.data.rows import Row, TextRow
from lingvis.errors import UserError, choices

LEAST = 20  # sentences: with fewer, a tenth to choose by is nothing to choose by
HELD_OUT = 10  # one of so many pictures or pairs is held out where there is no validation
MOST_HELD_OUT = 1000
# Sentences in known languages that stand for one picture: their mean hardly moves with more.
KNOWN_A_GROUP = 6

Ints = NDArray[np.int64]
Known = list[tuple[str, str]]


@dataclass(slots=True)
class Part:
    """Sentences of the new language in groups; a group is a picture, or the picture that a text-only row is about.

    images: names of the pictures, which are the first groups. known: sentences of each group in languages that
    the model has, as (language, text). texts[i] belongs to group groups[i].
    """

    images: list[str] = field(default_factory=list)
    known: list[Known] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    groups: list[int] = field(default_factory=list)

    @property
    def pictured(self) -> int:
        """Number of sentences about a picture that is there."""
        return sum(group < len(self.images) for group in self.groups)

    @property
    def paired(self) -> int:
        """Number of sentences with something in a known language beside them."""
        return sum(bool(self.known[group]) for group in self.groups)

    def take(self, rows: Iterable[int]) -> Part:
        """Some of the sentences; pictures stay, as negatives, and rows without one go with their sentences."""
        rows = list(rows)
        kept = sorted({self.groups[row] for row in rows if self.groups[row] >= len(self.images)})
        place = {group: number for number, group in enumerate(kept, start=len(self.images))}
        return Part(
            images=self.images,
            known=[*self.known[: len(self.images)], *(self.known[group] for group in kept)],
            texts=[self.texts[row] for row in rows],
            groups=[place.get(self.groups[row], self.groups[row]) for row in rows],
        )


@dataclass(frozen=True, slots=True)
class Material:
    """Sentences to learn from and others to choose by.

    by: what is chosen by: "val" is the dataset's split, "pictures" a part of train that was held out, "pairs"
    sentences held out with their translations, where there is no picture.
    """

    lang: str
    learn: Part
    choose: Part
    by: str

    @property
    def undescribed(self) -> int:
        """Number of pictures to learn from that have a sentence in a known language and none in this one."""
        described = set(self.learn.groups)
        return sum(
            bool(self.learn.known[group]) for group in range(len(self.learn.images)) if group not in described
        )


def gather(
    dataset: Dataset, lang: str, known: Sequence[str], *, limit: int | None = None, seed: int = 0
) -> Material:
    """All there is of `lang`; limit: learn from so many sentences only, of pictures as long as there are any."""
    learn = _pictured(dataset, "train", lang, known)
    for row in dataset.text_only():
        _add(learn, row, lang, known)
    if not learn.texts:
        here = {*dataset.languages, *(each for row in dataset.text_only() for each in _languages(row))}
        raise UserError(
            f"{dataset.path} has no sentences in {lang!r} to learn from in split train or without a picture; "
            f"it has: {choices(here)}"
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
            f"got {len(learn.texts)} sentences in {lang!r} to learn from; {LEAST} is the least, and a few hundred make "
            "a language that is of use"
        )
    if not learn.pictured and not learn.paired:
        raise UserError(
            f"the sentences in {lang!r} of {dataset.path} have neither a picture nor a translation into a language of the "
            f"model ({choices(known)}) beside them; there is nothing that says what they mean"
        )
    return Material(lang, learn, choose, by)


def _pictured(
    dataset: Dataset, split: str, lang: str, known: Sequence[str], *, all_pictures: bool = True
) -> Part:
    """Pictures of a split, also those without a sentence in the language if they are all wanted, and its sentences."""
    part = Part()
    for row in dataset.rows:
        if row.split == split and (all_pictures or _sentences(row, lang)):
            part.images.append(row.image)
            _add(part, row, lang, known)
    return part


def _add(part: Part, row: Row | TextRow, lang: str, known: Sequence[str]) -> None:
    """One more group; rows without a picture matter with a sentence in the language alone."""
    sentences = _sentences(row, lang)
    if isinstance(row, TextRow) and not sentences:
        return
    part.texts += sentences
    part.groups += [len(part.known)] * len(sentences)
    part.known.append(_known(row, lang, known))


def _held_out(learn: Part, order: Ints) -> tuple[Part, Part, str, Ints]:
    """Some groups apart, of pictures if there are any: what stays, what is chosen by, its name, the order of what stays."""
    groups = np.asarray(learn.groups)
    pictured = learn.pictured > 0
    drawn = dict.fromkeys(
        group
        for group in groups[order].tolist()
        if (group < len(learn.images) if pictured else learn.known[group])
    )
    out = np.isin(groups, list(drawn)[: min(MOST_HELD_OUT, max(1, len(drawn) // HELD_OUT))])
    chosen = [int(row) for row in np.flatnonzero(out)]
    kept = np.flatnonzero(~out)
    number = np.cumsum(~out) - 1
    apart = sorted({learn.groups[row] for row in chosen})
    place = {group: at for at, group in enumerate(apart)}
    choose = Part(
        images=[learn.images[group] for group in apart] if pictured else [],
        known=[learn.known[group] for group in apart],
        texts=[learn.texts[row] for row in chosen],
        groups=[place[learn.groups[row]] for row in chosen],
    )
    rest = learn.take(kept.tolist())
    if pictured:
        for group in apart:
            rest.known[group] = []  # what is said of them in other languages is not learnt from, either
    return rest, choose, "pictures" if pictured else "pairs", number[order[~out[order]]]


def _sentences(row: Row | TextRow, lang: str) -> list[str]:
    """Captions, and the parallel sentence, which is often one of them."""
    parallel = (row.parallel[lang],) if lang in row.parallel else ()
    return list(dict.fromkeys((*row.captions.get(lang, ()), *parallel)))


def _known(row: Row | TextRow, lang: str, known: Sequence[str]) -> Known:
    """Translations first; then captions, one of each language in turn."""
    found: Known = []
    if lang in row.parallel:
        found += [(each, row.parallel[each]) for each in known if each in row.parallel]
    longest = max((len(texts) for texts in row.captions.values()), default=0)
    for turn in range(longest):
        found += [
            (each, row.captions[each][turn]) for each in known if turn < len(row.captions.get(each, ()))
        ]
    return list(dict.fromkeys(found))[:KNOWN_A_GROUP]


def _languages(row: TextRow) -> set[str]:
    return {*row.captions, *row.parallel}

"""Sentences of a new language: some to learn from, others to choose the best route."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

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
    held-out sentences with their translations if there are no pictures; "picture folds" and "pair folds" hold out each
    sentence once: then `choose` is empty, and `folds` has the parts.
    """

    lang: str
    learn: SentenceGroups
    choose: SentenceGroups
    by: str
    folds: list[LanguageData] = field(default_factory=list)

    @property
    def undescribed(self) -> int:
        """Number of pictures to learn from with a sentence in a known language and none in this one."""
        described = set(self.learn.groups)
        return sum(
            bool(self.learn.known[group]) for group in range(len(self.learn.images)) if group not in described
        )

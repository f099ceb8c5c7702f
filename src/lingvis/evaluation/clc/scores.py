"""Scores of images against texts that come with translations, one block at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from lingvis.arrays import Bools, Floats, Ints
from lingvis.evaluation.clc.base import Consistency, fill_missing
from lingvis.evaluation.scorers import Buffer, Index, Scorer

PAIRS_AT_ONCE = 262_144  # of every language at once: 10 MB for ten


class ConsistentScores:
    """A scorer made of one per language, for the same images and texts (SMALR, section 3.4).

    scorers: in the order of `consistency.languages`, None for a language without translations; present:
    bool [languages, texts], whether a text has a translation. Scores of absent translations are ignored.
    """

    def __init__(self, scorers: Sequence[Scorer | None], present: Bools, consistency: Consistency) -> None:
        shapes = {scorer.shape for scorer in scorers if scorer is not None}
        if len(shapes) != 1:
            raise ValueError(f"expected scorers of one shape, got {sorted(shapes)}")
        self.shape = shapes.pop()
        expected = (len(consistency.languages), self.shape[1])
        if present.shape != expected or len(scorers) != expected[0]:
            raise ValueError(
                f"expected [languages, texts] {expected}, got {present.shape}, {len(scorers)} scorers"
            )
        if not present.any(axis=0).all():
            raise ValueError("expected at least one language for each text")
        self.scorers, self.present, self.consistency = list(scorers), present, consistency
        self._buffer = Buffer()

    def stacked(self, images: Index, texts: Index) -> Floats:
        """The scores of every language, [languages, images, texts]; missing scores are filled in."""
        blocks = [None if scorer is None else scorer.block(images, texts) for scorer in self.scorers]
        shape = next(block.shape for block in blocks if block is not None)
        stack = np.zeros((len(blocks), *shape), dtype=np.float32)
        for number, block in enumerate(blocks):
            if block is not None:
                stack[number] = block
        fill_missing(stack, self.present[:, texts])
        return stack

    def block(self, images: Index, texts: Index) -> Floats:
        """Combined scores, computed for some images at a time to save memory."""
        rows, columns = (_count(index, size) for index, size in zip((images, texts), self.shape, strict=True))
        out = self._buffer.shaped(rows, columns)
        done = 0
        for part in _parts(images, self.shape[0], max(1, PAIRS_AT_ONCE // max(1, columns))):
            combined = self.consistency(self.stacked(part, texts))
            out[done : done + len(combined)] = combined
            done += len(combined)
        return out

    def pairs(self, image_of: Ints) -> Floats:
        """The combined scores of all pairs."""
        stack = np.zeros((len(self.scorers), 1, len(image_of)), dtype=np.float32)
        for number, scorer in enumerate(self.scorers):
            if scorer is not None:
                stack[number, 0] = scorer.pairs(image_of)
        fill_missing(stack, self.present)
        return self.consistency(stack).reshape(-1)

    def take(self, images: Index, texts: Index) -> ConsistentScores:
        """The scorer of some images and some texts."""
        some = [None if scorer is None else scorer.take(images, texts) for scorer in self.scorers]
        return ConsistentScores(some, self.present[:, texts], self.consistency)


def _count(index: Index, size: int) -> int:
    return len(range(size)[index]) if isinstance(index, slice) else len(index)


def _parts(index: Index, size: int, step: int) -> Iterator[Index]:
    """Cut an index into parts; a run of neighbours stays a slice, which needs no copy."""
    if isinstance(index, slice) and index.step in (None, 1):
        first, last, _ = index.indices(size)
        for start in range(first, last, step):
            yield slice(start, min(start + step, last))
        return
    places = np.arange(size)[index]
    for start in range(0, len(places), step):
        yield places[start : start + step]

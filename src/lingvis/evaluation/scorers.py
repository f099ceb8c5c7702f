"""Scores of images against texts, one block at a time: inner products, any function, the mean of several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lingvis.arrays import Floats, Ints

Index = slice | Ints
EVERY = slice(None)

PAIRS_AT_ONCE = 512
DIAGONAL = 64
TEXTS_AT_ONCE = 1024  # a score function may need memory for [images, texts, dim]


class Scorer(Protocol):
    """A score matrix [images, texts] that need not exist as a whole."""

    @property
    def shape(self) -> tuple[int, int]: ...

    def block(self, images: Index, texts: Index) -> Floats:
        """scores[images, texts]; read-only, and valid until the next call, which reuses the memory."""
        ...

    def pairs(self, image_of: Ints) -> Floats:
        """scores[image_of[t], t] of every text t, [texts]."""
        ...

    def take(self, images: Index, texts: Index) -> Scorer:
        """The scorer of some images and texts."""
        ...


class Buffer:
    """Reused memory for blocks, as large as the largest: new memory of 50 MB per block would cost page faults."""

    def __init__(self) -> None:
        self._memory: Floats = np.empty(0, dtype=np.float32)

    def shaped(self, rows: int, columns: int) -> Floats:
        if self._memory.size < rows * columns:
            self._memory = np.empty(rows * columns, dtype=np.float32)
        return self._memory[: rows * columns].reshape(rows, columns)


class InnerProduct:
    """scores = image_emb @ text_emb.T; the cosine when both sides have length one.

    image_emb: float32 [images, dim]; text_emb: float32 [texts, dim].
    """

    def __init__(self, image_emb: Floats, text_emb: Floats) -> None:
        if image_emb.ndim != 2 or text_emb.ndim != 2 or image_emb.shape[1] != text_emb.shape[1]:
            raise ValueError(
                f"expected [images, dim] and [texts, dim], got {image_emb.shape} and {text_emb.shape}"
            )
        self.image_emb = np.ascontiguousarray(image_emb, dtype=np.float32)
        self.text_emb = np.ascontiguousarray(text_emb, dtype=np.float32)
        self._buffer = Buffer()

    @property
    def shape(self) -> tuple[int, int]:
        """(images, texts)."""
        return len(self.image_emb), len(self.text_emb)

    def block(self, images: Index, texts: Index) -> Floats:
        """One matrix product into reused memory."""
        left, right = self.image_emb[images], self.text_emb[texts]
        out = self._buffer.shaped(len(left), len(right))
        return np.matmul(left, right.T, out=out)

    def pairs(self, image_of: Ints) -> Floats:
        """Computed row by row, in parts: a copy of the image of every text would be as large as the texts."""
        own = np.empty(len(image_of), dtype=np.float32)
        for start in range(0, len(image_of), PAIRS_AT_ONCE):
            part = slice(start, start + PAIRS_AT_ONCE)
            np.einsum("td,td->t", self.image_emb[image_of[part]], self.text_emb[part], out=own[part])
        return own

    def take(self, images: Index, texts: Index) -> InnerProduct:
        """The same for some images and texts."""
        return InnerProduct(self.image_emb[images], self.text_emb[texts])


class FunctionScores:
    """Scores by a function of the two sides, such as the order similarity.

    score(image_side [n, ...], text_side [m, ...]) -> [n, m]; the first axis of each side counts its items.
    """

    def __init__(
        self, score: Callable[[Any, Any], NDArray[Any]], image_side: NDArray[Any], text_side: NDArray[Any]
    ) -> None:
        self.score, self.image_side, self.text_side = score, image_side, text_side
        self._buffer = Buffer()

    @property
    def shape(self) -> tuple[int, int]:
        """(images, texts)."""
        return len(self.image_side), len(self.text_side)

    def block(self, images: Index, texts: Index) -> Floats:
        """The function's results as float32, computed for some texts at a time."""
        left, right = self.image_side[images], self.text_side[texts]
        out = self._buffer.shaped(len(left), len(right))
        for start in range(0, len(right), TEXTS_AT_ONCE):
            some = right[start : start + TEXTS_AT_ONCE]
            scores = self.score(left, some)
            if scores.shape != (len(left), len(some)):
                raise ValueError(f"expected scores {(len(left), len(some))}, got {scores.shape}")
            out[:, start : start + TEXTS_AT_ONCE] = scores
        return out

    def pairs(self, image_of: Ints) -> Floats:
        """From small blocks near the diagonal."""
        return near_the_diagonal(self.block, image_of)

    def take(self, images: Index, texts: Index) -> FunctionScores:
        """The same for some images and texts."""
        return FunctionScores(self.score, self.image_side[images], self.text_side[texts])


def near_the_diagonal(block: Callable[[Index, Index], Floats], image_of: Ints) -> Floats:
    """scores[image_of[t], t] of every text, from small blocks of captions of few images."""
    own = np.empty(len(image_of), dtype=np.float32)
    order = np.argsort(image_of, kind="stable")
    for start in range(0, len(order), DIAGONAL):
        texts = order[start : start + DIAGONAL]
        images, row = np.unique(image_of[texts], return_inverse=True)
        own[texts] = block(images, texts)[row, np.arange(len(texts))]
    return own


class ScoreMatrix:
    """A score matrix in memory, float32 [images, texts]."""

    def __init__(self, scores: Floats) -> None:
        self.scores = scores

    @property
    def shape(self) -> tuple[int, int]:
        """(images, texts)."""
        images, texts = self.scores.shape
        return images, texts

    def block(self, images: Index, texts: Index) -> Floats:
        """A part of the matrix; a view if both indices are slices."""
        return self.scores[images][:, texts]

    def pairs(self, image_of: Ints) -> Floats:
        """Looked up."""
        return self.scores[image_of, np.arange(len(image_of))]

    def take(self, images: Index, texts: Index) -> ScoreMatrix:
        """The same for some images and texts."""
        return ScoreMatrix(self.block(images, texts))


class MeanScores:
    """The ensemble: the mean of the scores of several models (VSE-infinity, section 4.2).

    For inner products this equals the inner product of the joined embeddings divided by their number, without
    the copy that joining needs.
    """

    def __init__(self, scorers: Sequence[Scorer]) -> None:
        shapes = {scorer.shape for scorer in scorers}
        if len(shapes) != 1:
            raise ValueError(f"expected scorers of one shape, got {sorted(shapes)}")
        self.scorers = list(scorers)
        self._buffer = Buffer()

    @property
    def shape(self) -> tuple[int, int]:
        """(images, texts)."""
        return self.scorers[0].shape

    def block(self, images: Index, texts: Index) -> Floats:
        """The mean of the blocks of the models."""
        first = self.scorers[0].block(images, texts)
        mean = self._buffer.shaped(*first.shape)
        mean[:] = first
        for scorer in self.scorers[1:]:
            mean += scorer.block(images, texts)
        mean /= len(self.scorers)
        return mean

    def pairs(self, image_of: Ints) -> Floats:
        """The mean of the pairs of the models."""
        pairs = [scorer.pairs(image_of) for scorer in self.scorers]
        return np.asarray(np.mean(pairs, axis=0), dtype=np.float32)

    def take(self, images: Index, texts: Index) -> MeanScores:
        """The same for some images and texts."""
        return MeanScores([scorer.take(images, texts) for scorer in self.scorers])

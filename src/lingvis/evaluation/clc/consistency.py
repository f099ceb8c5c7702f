"""Cross-lingual consistency: one score from the scores of a query and of its translations (SMALR, section 3.4)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from lingvis.errors import UserError, choices
from lingvis.evaluation.scorers import Floats, Mask
from lingvis.files import atomic_file
from lingvis.model.folder import WEIGHTS

FILE = "consistency.safetensors"  # beside the model it was fitted for
UNITS = 32
PAIRS_AT_ONCE = 16_384  # the hidden layer of so many pairs, 2 MB, stays in the cache


class Consistency(Protocol):
    """Scores [languages, ...] in the order of `languages` -> scores [...]."""

    @property
    def languages(self) -> tuple[str, ...]: ...

    def __call__(self, scores: Floats) -> Floats: ...


class MeanConsistency:
    """The mean of the scores over languages; nothing to learn (CLC-A)."""

    def __init__(self, languages: Sequence[str]) -> None:
        self.languages = tuple(languages)

    def __call__(self, scores: Floats) -> Floats:
        return np.asarray(scores.mean(axis=0), dtype=np.float32)


class LearnedConsistency:
    """A perceptron over the scores of all languages in a fixed order (CLC-C).

    scores [L, ...] -> out [units] . relu(hidden [units, L] . scores); no biases, so that ten languages and 32 units
    have the 352 parameters of the paper. `consistency_fit.fit` learns them.
    """

    def __init__(self, languages: Sequence[str], hidden: Floats, out: Floats) -> None:
        if hidden.ndim != 2 or hidden.shape[1] != len(languages) or out.shape != hidden.shape[:1]:
            raise ValueError(
                f"expected weights [units, {len(languages)}] and [units], got {hidden.shape} and {out.shape}"
            )
        self.languages, self.hidden, self.out = tuple(languages), hidden, out

    @classmethod
    def start(cls, languages: Sequence[str]) -> LearnedConsistency:
        """Before learning: exactly the mean.

        The paper starts all parameters "with uniform weight". Here all of a layer have the same size, and half of
        the units the opposite sign in both layers: relu(m) - relu(-m) = m, so that negative means keep their order.
        """
        sign = np.repeat(np.asarray([1, -1], dtype=np.float32), UNITS // 2)
        hidden = np.repeat(sign[:, None] / np.float32(len(languages)), len(languages), axis=1)
        return cls(languages, hidden, sign / np.float32(UNITS // 2))

    def __call__(self, scores: Floats) -> Floats:
        flat = scores.reshape(len(scores), -1)
        found = np.empty(flat.shape[1], dtype=np.float32)
        for start in range(0, len(found), PAIRS_AT_ONCE):
            part = slice(start, start + PAIRS_AT_ONCE)
            found[part] = self.out @ np.maximum(self.hidden @ flat[:, part], 0)
        return found.reshape(scores.shape[1:])

    def save(self, folder: Path) -> Path:
        """Write it beside a model; the languages in their order and the checksum of that model go with it."""
        with atomic_file(folder / FILE) as temporary:
            weights = {"hidden": np.ascontiguousarray(self.hidden), "out": np.ascontiguousarray(self.out)}
            about = {"languages": json.dumps(self.languages), "model": _checksum(folder)}
            save_file(weights, temporary, metadata=about)
        return folder / FILE

    @classmethod
    def load(cls, folder: Path) -> LearnedConsistency:
        """Read what `save` wrote; refused beside any other model than the one it was fitted for."""
        file = folder / FILE
        command = (
            f"lingvis evaluate {folder} DATASET --protocol parallel --consistency learned --save-consistency"
        )
        if not file.is_file():
            raise UserError(f"{folder} has no {FILE}; make it with: {command}")
        try:
            with safe_open(file, framework="numpy") as opened:
                about = opened.metadata() or {}
                kept = cls(
                    json.loads(about["languages"]), opened.get_tensor("hidden"), opened.get_tensor("out")
                )
        except (OSError, SafetensorError, KeyError, ValueError, TypeError) as error:
            raise UserError(f"{file} is damaged ({error}); make it again with: {command}") from error
        if about.get("model") != _checksum(folder):
            raise UserError(
                f"{file} was fitted for another model than the one in its folder; fit it again with: {command}"
            )
        return kept


def combine(consistency: Consistency, scores: Mapping[str, Floats]) -> Floats:
    """Scores by language, arrays of one shape -> one array; a language without scores counts as the mean of the rest."""
    unknown = [lang for lang in scores if lang not in consistency.languages]
    if unknown or not scores:
        raise UserError(
            f"got scores in {choices(unknown or scores)}; allowed are one or more of: {choices(consistency.languages)}"
        )
    rest = np.mean(list(scores.values()), axis=0)
    stack = [scores.get(lang, rest) for lang in consistency.languages]
    return consistency(np.stack(stack).astype(np.float32, copy=False))


def _checksum(folder: Path) -> str:
    """SHA-256 of the model's weights; a folder without any is told apart from every model."""
    weights = folder / WEIGHTS
    return hashlib.sha256(weights.read_bytes() if weights.is_file() else b"").hexdigest()


def fill_missing(scores: Floats, present: Mask) -> None:
    """Give a missing translation the mean of the others, in place.

    scores: [languages, images, texts]; present: [languages, texts], with at least one language for each text.
    """
    if present.all():
        return
    total = np.einsum("lit,lt->it", scores, present.astype(np.float32))
    mean = total / present.sum(axis=0, dtype=np.float32)
    np.copyto(scores, mean, where=~present[:, None, :])

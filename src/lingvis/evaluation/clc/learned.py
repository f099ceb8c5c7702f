"""CLC-C: a perceptron over the scores of all languages, stored beside the model that it was fitted for."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from lingvis.arrays import Floats
from lingvis.errors import UserError
from lingvis.files import atomic_file
from lingvis.model.folder import CONSISTENCY, weights_checksum
from lingvis.untrusted import check_regular, parse_json

UNITS = 32
PAIRS_AT_ONCE = 16_384  # the hidden layer of these pairs, 2 MB, stays in the cache


class LearnedConsistency:
    """A perceptron over the scores of all languages in a fixed order (CLC-C).

    scores [L, ...] -> out [units] . relu(hidden [units, L] . scores); no biases, so that ten languages and 32 units
    have the 352 parameters of the paper. `clc.fit.fit` learns them.
    """

    def __init__(self, languages: Sequence[str], hidden: Floats, out: Floats) -> None:
        if hidden.ndim != 2 or hidden.shape[1] != len(languages) or out.shape != hidden.shape[:1]:
            raise ValueError(
                f"expected weights [units, {len(languages)}] and [units], got {hidden.shape} and {out.shape}"
            )
        self.languages, self.hidden, self.out = tuple(languages), hidden, out

    @classmethod
    def start(cls, languages: Sequence[str]) -> LearnedConsistency:
        """The initial weights, which compute exactly the mean.

        The paper starts all parameters "with uniform weight". Here all weights of a layer have the same size, and
        half of the units have the opposite sign in both layers: relu(m) - relu(-m) = m, so that negative means keep their
        order.
        """
        sign = np.repeat(np.asarray([1, -1], dtype=np.float32), UNITS // 2)
        hidden = np.repeat(sign[:, None] / np.float32(len(languages)), len(languages), axis=1)
        return cls(languages, hidden, sign / np.float32(UNITS // 2))

    def __call__(self, scores: Floats) -> Floats:
        flat = scores.reshape(len(scores), -1)
        combined = np.empty(flat.shape[1], dtype=np.float32)
        for start in range(0, len(combined), PAIRS_AT_ONCE):
            part = slice(start, start + PAIRS_AT_ONCE)
            combined[part] = self.out @ np.maximum(self.hidden @ flat[:, part], 0)
        return combined.reshape(scores.shape[1:])

    def save(self, folder: Path) -> Path:
        """Write the weights beside a model, with the languages in order and the checksum of the model."""
        with atomic_file(folder / CONSISTENCY) as temporary:
            weights = {"hidden": np.ascontiguousarray(self.hidden), "out": np.ascontiguousarray(self.out)}
            metadata = {"languages": json.dumps(self.languages), "model": weights_checksum(folder)}
            save_file(weights, temporary, metadata=metadata)
        return folder / CONSISTENCY

    @classmethod
    def load(cls, folder: Path) -> LearnedConsistency:
        """Read the file that `save` wrote; raises if it was fitted for another model."""
        file = folder / CONSISTENCY
        command = (
            f"lingvis evaluate {folder} DATASET --protocol parallel --consistency learned --save-consistency"
        )
        if not file.is_file():
            raise UserError(f"{folder} has no {CONSISTENCY}; make it with: {command}")
        try:
            check_regular(file)
            with safe_open(file, framework="numpy") as opened:
                metadata = opened.metadata() or {}
                stored = cls(
                    parse_json(metadata["languages"]), opened.get_tensor("hidden"), opened.get_tensor("out")
                )
        except (OSError, SafetensorError, KeyError, ValueError, TypeError) as error:
            raise UserError(f"{file} is damaged ({error}); make it again with: {command}") from error
        if metadata.get("model") != weights_checksum(folder):
            raise UserError(
                f"{file} was fitted for another model, not the one in its folder; fit it again with: {command}"
            )
        return stored

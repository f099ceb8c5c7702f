"""Checksums of model folders that a run depends on."""

from __future__ import annotations

from pathlib import Path

from lingvis.errors import UserError
from lingvis.files import checksum
from lingvis.model.folder import CONFIG, WEIGHTS, ModelConfig


def model_digests(run: Path) -> list[str]:
    """Checksums of the files of a model folder."""
    ModelConfig.read(run)  # raises if this is not a model folder
    if not (run / WEIGHTS).is_file():
        raise UserError(f"model {run} has no {WEIGHTS}; copy the folder again, or name another model")
    return [checksum(run / name) for name in (CONFIG, WEIGHTS)]

"""Checksums of model folders that a run depends on."""

from __future__ import annotations

from lingvis.errors import UserError
from lingvis.files import checksum
from lingvis.model.folder import CONFIG, WEIGHTS, ModelConfig
from lingvis.pretrained import find_model


def model_digests(model: str) -> list[str]:
    """Checksums of the files of a model folder, or of a model that comes with lingvis."""
    run = find_model(model)
    ModelConfig.read(run)  # raises if this is not a model folder
    if not (run / WEIGHTS).is_file():
        raise UserError(f"model {run} has no {WEIGHTS}; copy the folder again, or name another model")
    return [checksum(run / name) for name in (CONFIG, WEIGHTS)]

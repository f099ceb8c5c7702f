"""A model is a folder that describes itself: config.json, model.safetensors, the tokenizer's files, card.md."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from lingvis.errors import UserError
from lingvis.files import atomic_file, write_json, write_text
from lingvis.strict import explain

CONFIG, WEIGHTS, CARD = "config.json", "model.safetensors", "card.md"
CHECKPOINT = "checkpoint.safetensors"  # in the folder of a model whose training is not finished
FORMAT = 1


def write_artifact(
    folder: Path, *, config: Mapping[str, Any], tensors: Mapping[str, Tensor], card: str
) -> None:
    """Write a model folder; config.json comes last, so that a folder that has one is whole."""
    write_tensors(folder / WEIGHTS, tensors)
    write_text(folder / CARD, card)
    write_json(folder / CONFIG, {"format": FORMAT, **config})


def is_artifact(folder: Path) -> bool:
    """Whether a folder holds a finished model."""
    return (folder / CONFIG).is_file()


def read_config(folder: Path) -> dict[str, Any]:
    """The configuration of a model folder."""
    if not folder.is_dir():
        raise UserError(
            f"no model folder at {folder}; train one with: lingvis train RECIPE DATASET --out {folder}"
        )
    if not is_artifact(folder):
        advice = f"train one with: lingvis train RECIPE DATASET --out {folder}"
        if (folder / CHECKPOINT).is_file():
            advice = "finish it with: lingvis train ... --resume"
        raise UserError(f"{folder} holds no finished model ({CONFIG} is missing); {advice}")
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        if not isinstance(config, dict):
            raise ValueError(f"expected an object, got {type(config).__name__}")
    except ValueError as error:
        raise UserError(
            f"{folder / CONFIG} is damaged ({error}); train the model again or restore the file"
        ) from error
    if config.get("format") != FORMAT:
        raise UserError(
            f"{folder} has model format {config.get('format')!r}, this version reads {FORMAT}; "
            "upgrade lingvis or train again"
        )
    return config


def write_tensors(file: Path, tensors: Mapping[str, Tensor]) -> None:
    """Weights by name into a safetensors file."""
    flat = {name: tensor.detach().cpu().clone().contiguous() for name, tensor in tensors.items()}
    with atomic_file(file) as temporary:
        save_file(flat, temporary)


def read_tensors(folder: Path, name: str = WEIGHTS) -> dict[str, Tensor]:
    """The weights in a safetensors file of a model folder."""
    try:
        return load_file(folder / name)
    except (OSError, SafetensorError) as error:
        raise UserError(
            f"{folder / name} cannot be read ({error}); restore the file or train again"
        ) from error


@contextlib.contextmanager
def damage_told(what: str) -> Iterator[None]:
    """Say in a sentence what is wrong with a file of a model."""
    try:
        yield
    except (KeyError, ValueError, TypeError, AttributeError, OSError) as error:
        if isinstance(error, ValidationError):
            problem = explain(error.errors()[0])
        elif isinstance(error, KeyError):
            problem = f"{error} is missing"
        else:
            problem = str(error).splitlines()[0]
        raise UserError(f"{what} is damaged ({problem}); restore the file or train again") from error

"""The weights of a model folder: model.safetensors, in any precision."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from lingvis.errors import UserError
from lingvis.files import atomic_file, write_text
from lingvis.model.dual_encoder import DualEncoder
from lingvis.model.folder import CARD, TEXT_GRAPH, WEIGHTS, ModelConfig, report_damage
from lingvis.model.precision import Precision, reduce_precision, restore_precision
from lingvis.text.tokenizers.base import Tokenizer
from lingvis.untrusted import check_regular


def write_model_folder(
    folder: Path,
    *,
    config: ModelConfig,
    model: DualEncoder,
    tokenizer: Tokenizer,
    card: str,
    weights: Precision = "float32",
) -> None:
    """Write a model folder; config.json comes last, so that a folder with this file is complete."""
    tokenizer.save(folder)
    model.text.words.save(folder)
    write_tensors(folder / WEIGHTS, model.state_dict(), weights)
    write_text(folder / CARD, card)
    config.write(folder)


def write_tensors(file: Path, tensors: Mapping[str, Tensor], weights: Precision = "float32") -> None:
    """Write weights by name into a safetensors file, in the given precision."""
    reduced = reduce_precision(tensors, weights)
    flat = {name: tensor.detach().cpu().clone().contiguous() for name, tensor in reduced.items()}
    with atomic_file(file) as temporary:
        save_file(flat, temporary)


def read_tensors(folder: Path, name: str = WEIGHTS) -> dict[str, Tensor]:
    """The weights in a safetensors file of a model folder, as float32; raises if one is not finite."""
    if not (folder / name).exists() and (folder / TEXT_GRAPH).is_file():
        raise UserError(
            f"{folder} holds an exported model, without the weights that torch needs ({name}); name the model folder that "
            "it was exported from, or load it with lingvis.OnnxEmbedder.load"
        )
    try:
        check_regular(folder / name)
        tensors = load_file(folder / name)
    except (OSError, ValueError, SafetensorError) as error:
        raise UserError(
            f"{folder / name} cannot be read ({error}); restore the file or train again"
        ) from error
    for weight, tensor in tensors.items():
        if not is_finite(tensor):
            raise UserError(
                f"{folder / name} is damaged ({weight} has a value that is not a finite number); restore the file or "
                "train again"
            )
    with report_damage(str(folder / name)):
        return restore_precision(tensors)


def is_finite(tensor: Tensor) -> bool:
    """Whether a tensor has neither NaN nor infinity."""
    if not tensor.is_floating_point() or not tensor.numel():
        return True
    return bool(torch.isfinite(torch.stack(torch.aminmax(tensor.float()))).all())

"""Write a finished model in a lower precision: `lingvis.compress`, `lingvis compress`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from lingvis.errors import UserError, choices
from lingvis.files import atomic_folder
from lingvis.lock import one_writer
from lingvis.model import added_language
from lingvis.model.added_language import write_added
from lingvis.model.card import compressed_section
from lingvis.model.embedder import Embedder
from lingvis.model.folder import (
    ADDED,
    CONSISTENCY,
    WEIGHTS,
    ModelConfig,
    check_target,
    copy_calibration,
    folder_bytes,
    read_card,
    weights_checksum,
)
from lingvis.model.precision import ReducedPrecision
from lingvis.model.weights import write_model_folder
from lingvis.pretrained import find_model
from lingvis.untrusted import check_regular


@dataclass(frozen=True, slots=True)
class Compression:
    """A model that was written in a lower precision.

    weights_before, weights_after: bytes of the weights of both folders. folder: bytes of all files written.
    """

    model: str
    base: str
    weights: ReducedPrecision
    weights_before: int
    weights_after: int
    folder: int
    image_fingerprint: str


def compress(
    run: str | Path, out: str | Path, *, weights: ReducedPrecision = "int8", force: bool = False
) -> Compression:
    """Write the model folder `run` with weights of fewer bits to `out`, atomically.

    The copy has the card, the tokenizer, the added languages and the learned CLC, and no record of the training. Its
    image side has other values, so that collections of one model cannot be searched with the other. weights: float16,
    half the size, or int8, a quarter, with one float16 scale per row. force: replace a model folder at `out`.
    """
    if weights not in get_args(ReducedPrecision):
        raise UserError(f"`weights` is {weights!r}; choose one of: {choices(get_args(ReducedPrecision))}")
    source, target = find_model(run), Path(out)
    config = ModelConfig.read(source)
    check_target(source, target, force=force)
    embedder = Embedder.load(source, device="cpu")
    before = weight_bytes(source, config)
    with one_writer(target), atomic_folder(target) as folder:
        check_target(source, target, force=force)  # again: another process may have made it meanwhile
        name = target.resolve().name
        section = compressed_section(base=source.resolve().name, weights=weights)
        renamed = config.model_copy(update={"name": name, "text_fingerprint": ""})  # no graphs
        write_model_folder(
            folder,
            config=renamed,
            model=embedder.model,
            tokenizer=embedder.tokenizer,
            card=read_card(source) + section,
            weights=weights,
        )
        for language in embedder.added.values():
            write_added(folder, language, weights)
        _copy_consistency(source, folder)
        copy_calibration(source, folder)
        fingerprint = Embedder.load(folder, device="cpu").model.image_fingerprint()
        renamed.model_copy(update={"image_fingerprint": fingerprint}).write(folder)
        return Compression(
            model=name,
            base=source.resolve().name,
            weights=weights,
            weights_before=before,
            weights_after=weight_bytes(folder, config),
            folder=folder_bytes(folder),
            image_fingerprint=fingerprint,
        )


def _copy_consistency(source: Path, folder: Path) -> None:
    """Copy the learned CLC of a model, if it has one; scores change too little to fit it again."""
    file = source / CONSISTENCY
    if not file.is_file():
        return
    try:
        check_regular(file)
        with safe_open(file, framework="numpy") as opened:
            tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118 (no mapping)
            metadata = opened.metadata() or {}
    except (OSError, SafetensorError) as error:
        raise UserError(f"{file} is damaged ({error}); delete it, and fit it again if you need it") from error
    if metadata.get("model") == weights_checksum(
        source
    ):  # otherwise it was not fitted for this model, and stays so
        metadata["model"] = weights_checksum(folder)
    save_file(tensors, folder / CONSISTENCY, metadata=metadata)


def weight_bytes(folder: Path, config: ModelConfig) -> int:
    """Bytes of the files that hold weights: of the model and of its added languages."""
    added = [folder / ADDED / lang / added_language.WEIGHTS for lang in config.added]
    return sum(file.stat().st_size for file in [folder / WEIGHTS, *added])

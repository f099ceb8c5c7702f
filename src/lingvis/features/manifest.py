"""The manifest of a feature store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import AfterValidator, ValidationError

import lingvis
from lingvis.data.rows import PictureProblem
from lingvis.errors import UserError
from lingvis.features.kinds import Kind, RegionMode
from lingvis.features.names import command_for
from lingvis.features.preprocessing import Preprocessing
from lingvis.files import checksum, sync, write_json
from lingvis.strict import StrictModel, explain
from lingvis.untrusted import read_bytes

MANIFEST, VALUES, OFFSETS, BOXES, SECONDS, NAMES = (
    "manifest.json",
    "values.npy",
    "offsets.npy",
    "boxes.npy",
    "seconds.npy",
    "names.json",
)


def _file_of_store(name: str) -> str:
    if name not in (VALUES, OFFSETS, BOXES, SECONDS, NAMES):
        raise ValueError(f"a store has no file {name!r}")
    return name


class FeatureOrigin(StrictModel):
    """The pictures and the method that the vectors were made from; equal origins mean equal stores.

    pictures: digest of the names, file sizes and, for regions, boxes; empty for imported arrays. every: for frames, the
    seconds between two; None for a frame per scene.
    """

    backbone: str
    kind: Kind
    regions: RegionMode | None = None
    pictures: str = ""
    every: float | None = None


class FeatureManifest(StrictModel):
    """manifest.json of a store."""

    format: Literal[1]
    lingvis: str
    origin: FeatureOrigin
    preprocessing: Preprocessing | None
    dim: int
    pictures: int
    vectors: int
    broken: tuple[PictureProblem, ...]
    checksums: dict[Annotated[str, AfterValidator(_file_of_store)], str]

    @property
    def dtype(self) -> str:
        """The number type of the values."""
        return value_type(self.origin.kind)


def value_type(kind: Kind) -> str:
    """The number type of stored values: bytes for pixels, half precision for vectors."""
    return "uint8" if kind == "pixels" else "float16"


def is_store(folder: Path) -> bool:
    """Whether a folder holds a finished store: its manifest is written last."""
    return (folder / MANIFEST).is_file()


def read_manifest(folder: Path) -> FeatureManifest:
    """Read and check manifest.json."""
    file = folder / MANIFEST
    if not is_store(folder):
        raise UserError(
            f"no feature store at {folder} (folders are named BACKBONE-KIND); make it with: {command_for(folder)}"
        )
    try:
        return FeatureManifest.model_validate_json(read_bytes(file))
    except ValueError as error:
        reason = explain(error.errors()[0]) if isinstance(error, ValidationError) else str(error)
        raise UserError(
            f"{file} is damaged or of another version ({reason}); "
            f"delete {folder} and extract or import the features again"
        ) from error


def seal(
    folder: Path,
    names: Sequence[str],
    sizes: Sequence[int],
    *,
    dim: int,
    origin: FeatureOrigin,
    preprocessing: Preprocessing | None = None,
    broken: Sequence[PictureProblem] = (),
    checksums: Mapping[str, str] | None = None,
) -> None:
    """Turn a folder with finished values (and boxes) into a store; the manifest is written last.

    checksums: of the files of which they are known.
    """
    offsets = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)
    np.save(folder / OFFSETS, offsets)
    sync(folder / OFFSETS)
    write_json(folder / NAMES, list(names))
    files = [name for name in (VALUES, OFFSETS, BOXES, SECONDS, NAMES) if (folder / name).is_file()]
    known = checksums or {}
    manifest = FeatureManifest(
        format=1,
        lingvis=lingvis.__version__,
        origin=origin,
        preprocessing=preprocessing,
        dim=dim,
        pictures=len(names),
        vectors=int(offsets[-1]),
        broken=tuple(broken),
        checksums={name: known.get(name) or checksum(folder / name) for name in files},
    )
    write_json(folder / MANIFEST, manifest.model_dump(mode="json"))

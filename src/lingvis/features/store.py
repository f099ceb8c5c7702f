"""Stored features: a folder of memory-mapped float16 vectors, one or more per picture."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lingvis.arrays import Floats, Ints, StoredValues
from lingvis.data.dataset import Dataset
from lingvis.errors import UserError
from lingvis.features.kinds import Kind
from lingvis.features.manifest import (
    BOXES,
    NAMES,
    OFFSETS,
    SECONDS,
    VALUES,
    FeatureManifest,
    FeatureOrigin,
    read_manifest,
    seal,
)
from lingvis.features.vector_file import VectorFile
from lingvis.files import atomic_folder, checksum
from lingvis.progress import note
from lingvis.untrusted import check_regular, read_json

NAMES_SHOWN = 5


@dataclass(frozen=True)
class FeatureStore:
    """An open store; picture i has the vectors values[offsets[i]:offsets[i + 1]].

    values: float16 [vectors, dim], memory-mapped; uint8 for pixels. offsets: int64 [pictures + 1]; boxes: float32
    [vectors, 4], in pixels, for regions only; seconds: float32 [vectors, 1], for frames of videos only.
    """

    path: Path
    manifest: FeatureManifest
    names: list[str]
    offsets: Ints
    values: StoredValues
    boxes: Floats | None
    seconds: Floats | None = None

    @classmethod
    def open(cls, path: Path | str) -> FeatureStore:
        """Open a store and check that its files match each other; `verify` checks their content too."""
        path = Path(path)
        manifest = read_manifest(path)
        try:
            names = _names(read_json(path / NAMES))
            offsets = np.array(_map(path / OFFSETS))
            values = _map(path / VALUES)
            boxes = _map(path / BOXES) if BOXES in manifest.checksums else None
            seconds = _map(path / SECONDS) if SECONDS in manifest.checksums else None
        except (OSError, ValueError, EOFError) as error:
            raise _damaged(path, str(error)) from error
        expected: list[tuple[str, object, object]] = [
            (NAMES, len(names), manifest.pictures),
            (OFFSETS, (str(offsets.dtype), offsets.shape), ("int64", (manifest.pictures + 1,))),
            (VALUES, (str(values.dtype), values.shape), (manifest.dtype, (manifest.vectors, manifest.dim))),
        ]
        for file, rows, width in ((BOXES, boxes, 4), (SECONDS, seconds, 1)):
            if rows is not None:
                expected.append((file, (str(rows.dtype), rows.shape), ("float32", (manifest.vectors, width))))
        for file, actual, declared in expected:
            if actual != declared:
                raise _damaged(path, f"{file} has {actual}, but the manifest has {declared}")
        if offsets[0] != 0 or offsets[-1] != manifest.vectors or (np.diff(offsets) < 1).any():
            raise _damaged(path, f"{OFFSETS} does not divide the vectors among the pictures")
        return cls(path, manifest, names, offsets, values, boxes, seconds)

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, picture: int) -> StoredValues:
        """The vectors of one picture by its number, [vectors, dim]."""
        if not 0 <= picture < len(self):
            raise IndexError(picture)
        return self.values[self.offsets[picture] : self.offsets[picture + 1]]

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return self.manifest.dim

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.names)}

    def index(self, names: Sequence[str]) -> Ints:
        """The numbers of pictures by name, int64 [len(names)]."""
        missing = [name for name in names if name not in self._places]
        if missing:
            shown = ", ".join(missing[:NAMES_SHOWN])
            more = f" and {len(missing) - NAMES_SHOWN} more" if len(missing) > NAMES_SHOWN else ""
            raise UserError(
                f"features {self.path} lack {len(missing)} of the pictures: {shown}{more}; "
                f"extract them again or leave these pictures out of the dataset"
            )
        return np.array([self._places[name] for name in names], dtype=np.int64)

    def verify(self) -> None:
        """Compare every file with its checksum."""
        for file, recorded in self.manifest.checksums.items():
            if checksum(self.path / file) != recorded:
                raise _damaged(self.path, f"{file} does not match its checksum")


def without_broken(dataset: Dataset, stores: Iterable[FeatureStore]) -> Dataset:
    """Remove the pictures that any of the stores lists as broken; prints a note with their number."""
    broken = {entry.image for store in stores for entry in store.manifest.broken}
    if broken:
        note(f"{len(broken)} broken pictures of {dataset.path} are left out")
    return dataset.without(broken)


def write_store(
    folder: Path,
    names: list[str],
    arrays: Iterable[NDArray[Any]],
    *,
    kind: Kind = "region",
    backbone: str = "imported",
    boxes: Iterable[NDArray[Any]] | None = None,
) -> None:
    """Store vectors atomically: one array [vectors, dim] or [dim] per name, and its boxes [vectors, 4] if given.

    For importers; only one picture at a time is in memory.
    """
    if len(set(names)) != len(names):
        raise UserError(f"features for {folder} name the same picture twice; pass one array per picture")
    boxes_of = iter(boxes) if boxes is not None else None
    with atomic_folder(folder) as temporary:
        sizes: list[int] = []
        files: dict[str, VectorFile] = {}
        for array in arrays:
            vectors = np.atleast_2d(np.asarray(array))
            number = len(sizes)
            name = names[number] if number < len(names) else f"number {number + 1}"
            sizes.append(len(vectors))
            _add(files, temporary / VALUES, vectors, np.float16, name)
            if boxes_of is not None:
                _add(
                    files,
                    temporary / BOXES,
                    np.asarray(next(boxes_of)).reshape(len(vectors), 4),
                    np.float32,
                    name,
                )
        if len(sizes) != len(names) or not names:
            raise UserError(
                f"features for {folder} have {len(sizes)} arrays for {len(names)} pictures; pass one array per picture"
            )
        for file in files.values():
            file.finish()
        origin = FeatureOrigin(backbone=backbone, kind=kind)
        seal(temporary, names, sizes, dim=files[VALUES].width, origin=origin)


def _add(files: dict[str, VectorFile], path: Path, rows: NDArray[Any], dtype: Any, name: str) -> None:
    """Append rows to the file at `path`; the first rows create it."""
    if rows.ndim != 2 or not rows.size:
        raise UserError(
            f"features of {name} have shape {list(rows.shape)}; expected [vectors, dim], not empty"
        )
    if path.name not in files:
        files[path.name] = VectorFile(path, rows.shape[1], dtype)
    file = files[path.name]
    if rows.shape[1] != file.width:
        raise UserError(
            f"features of {name} have {rows.shape[1]} values per vector, but earlier ones have {file.width}; "
            "all vectors of a store must have one size"
        )
    with np.errstate(over="ignore"):
        stored = rows.astype(dtype)
    if not np.isfinite(stored).all():
        raise UserError(
            f"features of {name} hold values that are not finite or too large for {np.dtype(dtype)}; "
            "scale them down before they are stored"
        )
    file.append(stored)


def _names(value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise ValueError(f"{NAMES} is not a list of names")
    return value


def _map(path: Path) -> Any:
    check_regular(path)
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except OSError:
        raise
    except Exception as error:  # numpy evaluates the header, so a damaged one can raise nearly anything
        raise ValueError(
            f"{path.name} is not a complete array ({next(iter(str(error).splitlines()), '')})"
        ) from error
    if not isinstance(array, np.memmap):
        raise ValueError(f"{path.name} is not one array")
    if path.stat().st_size != array.offset + array.nbytes:
        raise ValueError(f"{path.name} is longer than its header states")
    return array


def _damaged(path: Path, problem: str) -> UserError:
    return UserError(f"feature store {path} is damaged: {problem}; delete it and extract or import it again")

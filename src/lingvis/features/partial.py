"""An unfinished feature store: a folder that survives a kill at any moment and becomes the store at the end."""

from __future__ import annotations

import contextlib
import json
import shutil
import zlib
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from pydantic import PositiveInt

from lingvis.data.rows import PictureProblem
from lingvis.features.encode import FeatureSet
from lingvis.features.kinds import Kind
from lingvis.features.manifest import BOXES, SECONDS, VALUES, FeatureOrigin, seal, value_type
from lingvis.features.preprocessing import Preprocessing
from lingvis.features.vector_file import VectorFile
from lingvis.files import replace_folder, write_text
from lingvis.lock import exclusive
from lingvis.strict import StrictModel
from lingvis.untrusted import parse_json, read_bytes

PROGRESS = "progress.jsonl"
# What is stored beside the values, a row per vector: the file, its width and type.
BESIDE: dict[Kind, dict[str, tuple[int, str]]] = {
    "region": {BOXES: (4, "<f4")},
    "frames": {SECONDS: (1, "<f4")},
}


class BatchRecord(StrictModel):
    """A line of progress.jsonl."""

    first: int
    sizes: tuple[PositiveInt, ...]
    broken: tuple[PictureProblem, ...]
    crc: int


class PartialStore:
    """The unfinished store of `target`, in a hidden folder beside it.

    Values and boxes only grow. The first line of progress.jsonl describes the store; each further line records one
    batch: the number of vectors of each picture, the broken pictures, and a checksum of the bytes written for it.
    On resume, a line whose bytes did not reach the disk is dropped together with everything after it. pictures: how many
    there will be.
    """

    def __init__(
        self, target: Path, *, origin: FeatureOrigin, preprocessing: Preprocessing, dim: int, pictures: int
    ) -> None:
        self._pictures = pictures
        self.target, self.origin, self.preprocessing, self.dim = target, origin, preprocessing, dim
        self.folder = target.parent / f".{target.name}.partial"
        self.done = 0
        self.sizes: list[int] = []
        self.broken: list[PictureProblem] = []
        log = self.folder / PROGRESS
        first, batches = _read(log)
        if first != self._first_line() and self.folder.exists():
            shutil.rmtree(self.folder)
            batches = []
        self.folder.mkdir(parents=True, exist_ok=True)
        widths = {VALUES: (dim, value_type(origin.kind))} | BESIDE.get(origin.kind, {})
        for stray in self.folder.iterdir():  # left over by a kill while the store was sealed
            if stray.name not in (PROGRESS, *widths):
                stray.unlink()
        self._names = list(widths)
        self._files = [VectorFile(self.folder / name, *shape) for name, shape in widths.items()]
        kept = [line for line in batches if self._replay(line)]
        for file in self._files:
            file.truncate(sum(self.sizes))
        write_text(log, "".join(line + "\n" for line in [self._first_line(), *kept]))
        self._log = log.open("a", encoding="utf-8")

    def _first_line(self) -> str:
        fields = (self.origin.model_dump(mode="json"), repr(self.preprocessing), self.dim)
        return json.dumps(fields)

    def _replay(self, line: str) -> bool:
        """Count a recorded batch if its bytes reached the disk; otherwise no later batch matches either."""
        try:
            batch = BatchRecord.model_validate(parse_json(line))
        except ValueError:
            return False
        start = sum(self.sizes)
        stop = start + sum(batch.sizes)
        if any(stop > file.rows for file in self._files):
            return False
        crc = 0
        for file in self._files:
            crc = zlib.crc32(file.read(start, stop), crc)
        if crc != batch.crc or batch.first != self.done:
            return False
        self._count(batch.sizes, batch.broken)
        return True

    def _count(self, sizes: Sequence[int], broken: Sequence[PictureProblem]) -> None:
        self.sizes += sizes
        self.broken += broken
        self.done += len(sizes) + len(broken)

    def record(self, encoded: Sequence[FeatureSet], broken: Sequence[PictureProblem]) -> None:
        """Append one batch; a kill after this call does not lose it."""
        columns: list[list[NDArray[Any]]] = [
            [picture.values for picture in encoded],
            [
                beside
                for picture in encoded
                for beside in (picture.boxes, picture.seconds)
                if beside is not None
            ],
        ]
        if encoded and not self.sizes:  # most kinds have as many vectors of every picture
            for file in self._files:
                file.expect(len(encoded[0].values) * self._pictures)
        crc = 0
        for file, blocks in zip(self._files, columns, strict=False):
            for block in blocks:
                crc = zlib.crc32(file.append(block), crc)
            file.flush()
        sizes = [len(picture.values) for picture in encoded]
        listed = [entry.model_dump() for entry in broken]
        line = {"first": self.done, "sizes": sizes, "broken": listed, "crc": crc}
        self._log.write(json.dumps(line) + "\n")
        self._log.flush()
        self._count(sizes, broken)

    def finish(self, names: Sequence[str]) -> None:
        """Turn the folder into the store of `names`, the pictures that are not broken.

        The log is removed last, so that an earlier kill can be resumed.
        """
        for file in self._files:
            file.finish()
        self._log.close()
        seal(
            self.folder,
            names,
            self.sizes,
            dim=self.dim,
            origin=self.origin,
            preprocessing=self.preprocessing,
            broken=self.broken,
            checksums={
                name: file.checksum
                for name, file in zip(self._names, self._files, strict=True)
                if file.checksum is not None
            },
        )
        replace_folder(self.folder, self.target)
        (self.target / PROGRESS).unlink()

    def close(self) -> None:
        """Close all files, so that a later run can resume."""
        for close in (self._log.close, *(file.close for file in self._files)):
            with contextlib.suppress(OSError):  # data that cannot be flushed is dropped on resume
                close()


def _read(log: Path) -> tuple[str, list[str]]:
    """The first line and the complete lines after it; a line without line feed was cut off by a kill."""
    try:
        lines = read_bytes(log).decode("utf-8").split("\n")[:-1]
    except (FileNotFoundError, ValueError):  # nothing to resume
        return "", []
    return (lines[0], lines[1:]) if lines else ("", [])


def one_extraction(target: Path) -> AbstractContextManager[None]:
    """Hold the lock of `target`; raises if another process holds it. A kill releases it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    busy = f"another process is extracting {target}; wait for it or choose another name"
    return exclusive(target.parent / f".{target.name}.lock", busy)

"""The int8 weights in a safetensors file, with their places in the file."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

LENGTH = struct.Struct("<Q")  # of the header, at the start of the file


@dataclass(frozen=True, slots=True, eq=False)
class StoredTensor:
    """An int8 weight; offset: its first byte in the file."""

    values: NDArray[np.int8]
    offset: int


def read_int8(file: Path) -> list[StoredTensor]:
    """The int8 weights of a safetensors file that `lingvis.model.weights.read_tensors` has accepted."""
    content = file.read_bytes()
    (length,) = LENGTH.unpack_from(content)
    start = LENGTH.size + length
    header = json.loads(content[LENGTH.size : start])
    tensors = []
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] == "I8":
            first, end = (start + offset for offset in entry["data_offsets"])
            values = np.frombuffer(content[first:end], np.int8).reshape(entry["shape"])
            tensors.append(StoredTensor(values, first))
    return tensors

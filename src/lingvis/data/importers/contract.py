"""The contract of importers: their options and their results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lingvis.data.importers.source import Source
from lingvis.data.rows import Row, Split

Array = NDArray[Any]
WriteFeatures = Callable[[Path, list[str], Iterable[Array]], None]


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """Facts that the files do not state: the folder of pictures, the language, the split.

    follow_links: whether links may lead out of the source and the folder of pictures.
    """

    images: Path | None = None
    language: str | None = None
    split: Split | None = None
    follow_links: bool = False


@dataclass(frozen=True, slots=True)
class FeatureArrays:
    """Vectors that came with the captions; iterating yields one array [regions, dim] per image.

    places[i]: the array of a split, [images, dim] or [images, regions, dim], and the row of image names[i] in it.
    """

    names: list[str] = field(default_factory=list)
    places: list[tuple[Array, int]] = field(default_factory=list)

    def __iter__(self) -> Iterator[Array]:
        for array, index in self.places:
            yield np.atleast_2d(array[index])


@dataclass(frozen=True, slots=True)
class ImportedRows:
    """Rows read from a source; features: its vectors, if any; notes: about data that was left out.

    problems: of single lines and captions, one sentence each. places: where each image is named first.
    """

    rows: list[Row]
    features: FeatureArrays | None = None
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    places: dict[str, str] = field(default_factory=dict)


Importer = Callable[[Source, ImportOptions], ImportedRows]

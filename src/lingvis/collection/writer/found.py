"""The files that a scan has found."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from lingvis.data.video import formats as videos


@dataclass(frozen=True, slots=True)
class ScannedFile:
    """A picture or video file; captions: paths of text files beside it, dog.txt or dog.de.txt for dog.jpg."""

    path: str
    size: int
    mtime_ns: int
    captions: tuple[str, ...] = ()

    @property
    def is_video(self) -> bool:
        """Whether its name is that of a video."""
        return os.path.splitext(self.path)[1].lower() in videos.SUFFIXES


class Files(Protocol):
    """Files in an order, in a list or elsewhere."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[ScannedFile]: ...

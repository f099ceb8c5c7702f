"""A file that a scan has found."""

from __future__ import annotations

import os
from dataclasses import dataclass

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

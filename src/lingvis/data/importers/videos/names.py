"""The files of videos that captions name without a suffix."""

from __future__ import annotations

from functools import cached_property

from lingvis.data.importers.contract import ImportOptions
from lingvis.data.importers.source import Source
from lingvis.data.video.formats import ALL_SUFFIXES

USUAL = ".mp4"


class VideoNames:
    """Finds the file of a video by its id: ID.mp4, or another suffix, in the folder of the videos at any depth."""

    def __init__(self, source: Source, options: ImportOptions) -> None:
        self._folder = options.images or source.folder

    def __call__(self, id: str) -> str:
        """Return the name of the file; of a missing one the usual name, so that it is reported."""
        return self._names.get(id, f"{id}{USUAL}")

    @cached_property
    def _names(self) -> dict[str, str]:
        files = sorted(self._folder.rglob("*")) if self._folder.is_dir() else []
        return {file.stem: file.name for file in files if file.suffix.lower() in ALL_SUFFIXES}

"""Files -> embedded pictures, batch by batch; where that is done can be exchanged."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from lingvis.collection.binding import PictureSide
from lingvis.collection.stores.contract import Floats
from lingvis.collection.writer.pictures import Facts, Picture, Same, read_picture
from lingvis.collection.writer.scan import Found
from lingvis.features.pictures import BrokenPicture
from lingvis.features.prefetch import ahead


@dataclass(frozen=True, slots=True)
class Embedded:
    """A file's facts and its embedding, float32 [dim]."""

    facts: Facts
    embedding: Floats


Outcome = Embedded | Same | BrokenPicture


class Workers(Protocol):
    """Whoever reads and embeds."""

    def batches(
        self, files: Sequence[Found], *, batch_size: int, seen: Collection[str]
    ) -> Iterator[list[tuple[Found, Outcome]]]:
        """Files with what became of them, in order; contents in `seen`, by hash, need not be embedded again."""
        ...


class Here:
    """Threads of this process read and decode, while the model embeds what they have ready."""

    def __init__(self, side: PictureSide, *, threads: int | None = None) -> None:
        self._side, self._threads = side, threads

    def batches(
        self, files: Sequence[Found], *, batch_size: int, seen: Container[str]
    ) -> Iterator[list[tuple[Found, Outcome]]]:
        """Files with what became of them, in order; `seen` may grow meanwhile."""
        read = partial(read_picture, preprocessing=self._side.preprocessing, seen=seen.__contains__)
        for batch in ahead(read, files, batch_size=batch_size, threads=self._threads):
            fresh = [result for _, result in batch if isinstance(result, Picture)]
            embeddings = iter(self._side([picture.decoded for picture in fresh]))
            yield [
                (file, Embedded(result.facts, next(embeddings)) if isinstance(result, Picture) else result)
                for file, result in batch
            ]

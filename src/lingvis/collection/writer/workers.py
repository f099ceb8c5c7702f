"""Files -> encoded pictures, batch by batch, in this process or elsewhere."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from lingvis.arrays import Floats
from lingvis.collection.binding import ImageEmbedder
from lingvis.collection.stores.contract import RowWriter
from lingvis.collection.writer.found import Files, ScannedFile
from lingvis.collection.writer.pictures import (
    DecodedFile,
    DuplicateContent,
    PictureFacts,
    WrittenPicture,
    read_picture,
)
from lingvis.collection.writer.videos import DecodedVideo, read_video
from lingvis.features.decoding.pool import DecoderPool
from lingvis.features.pictures import BrokenPicture
from lingvis.features.prefetch import prefetch
from lingvis.hardware import kept_memory


@dataclass(frozen=True, slots=True)
class EncodedPicture:
    """A file's facts and its embedding, float32 [dim]."""

    facts: PictureFacts
    embedding: Floats


@dataclass(frozen=True, slots=True)
class EncodedVideo:
    """The moments of a video, at least one."""

    moments: list[EncodedPicture]


Outcome = EncodedPicture | EncodedVideo | WrittenPicture | DuplicateContent | BrokenPicture


class Paths(Protocol):
    """The paths that have rows."""

    def __contains__(self, path: str, /) -> bool: ...


@dataclass(frozen=True, slots=True)
class Direct:
    """Which rows workers may write themselves, and how."""

    writer: RowWriter
    stored: Paths

    def allows(self, file: ScannedFile) -> bool:
        """Return whether the row of a file replaces none and needs nothing that only the one writer has.

        A copy of another new picture needs nothing either: its row is the same as if this one were encoded.
        """
        return not file.captions and not file.is_video and file.path not in self.stored


class IndexWorkers(Protocol):
    """Read and encode files, in this process or on a cluster."""

    def batches(
        self, files: Files, *, batch_size: int, seen: Collection[str], direct: Direct | None = None
    ) -> Iterator[list[tuple[ScannedFile, Outcome]]]:
        """Yield files and their outcomes, once each; contents in `seen`, by hash, need not be encoded again.

        direct: the rows that workers on other machines write themselves.
        """
        ...


class LocalWorkers:
    """Threads of this process read files and decoder processes decode them, while the model encodes decoded pictures.

    decoders: stay open for later batches; by default, decoder processes are started per call and end with it.
    """

    def __init__(
        self,
        image_embedder: ImageEmbedder,
        *,
        threads: int | None = None,
        decoders: DecoderPool | None = None,
    ) -> None:
        self._image_embedder, self._threads, self._decoders = image_embedder, threads, decoders

    def batches(
        self, files: Files, *, batch_size: int, seen: Container[str], direct: Direct | None = None
    ) -> Iterator[list[tuple[ScannedFile, Outcome]]]:
        """Yield files and their outcomes, videos last and one by one; `seen` may grow meanwhile."""
        with (
            kept_memory(),
            DecoderPool() if self._decoders is None else nullcontext(self._decoders) as decoders,
        ):
            yield from self._batches(files, decoders, batch_size=batch_size, seen=seen)

    def _batches(
        self, files: Files, decoders: DecoderPool, *, batch_size: int, seen: Container[str]
    ) -> Iterator[list[tuple[ScannedFile, Outcome]]]:
        preprocessing, known = self._image_embedder.preprocessing, seen.__contains__
        read = partial(read_picture, preprocessing=preprocessing, seen=known, decode=decoders.decode)
        pictures = (file for file in files if not file.is_video)
        for batch in prefetch(read, pictures, batch_size=batch_size, threads=self._threads):
            decoded = [result for _, result in batch if isinstance(result, DecodedFile)]
            encoded = iter(self._encode(decoded, batch_size))
            yield [
                (file, next(encoded) if isinstance(result, DecodedFile) else result) for file, result in batch
            ]
        watch = partial(read_video, preprocessing=preprocessing, seen=known, decode=decoders.decode_video)
        videos = (file for file in files if file.is_video)
        for ((file, video),) in prefetch(watch, videos, batch_size=1, threads=self._threads):
            yield [
                (
                    file,
                    EncodedVideo(self._encode(video.moments, batch_size))
                    if isinstance(video, DecodedVideo)
                    else video,
                )
            ]

    def _encode(self, files: Sequence[DecodedFile], batch_size: int) -> list[EncodedPicture]:
        encoded = []
        for start in range(0, len(files), batch_size):
            batch = files[start : start + batch_size]
            embeddings = self._image_embedder([file.decoded for file in batch])
            encoded += [
                EncodedPicture(file.facts, embedding)
                for file, embedding in zip(batch, embeddings, strict=True)
            ]
        return encoded

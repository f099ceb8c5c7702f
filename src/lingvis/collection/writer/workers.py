"""Files -> encoded pictures, batch by batch, in this process or elsewhere."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from lingvis.arrays import Floats
from lingvis.collection.binding import ImageEmbedder
from lingvis.collection.writer.pictures import DecodedFile, DuplicateContent, PictureFacts, read_picture
from lingvis.collection.writer.scan import ScannedFile
from lingvis.features.decoding.pool import DecoderPool
from lingvis.features.pictures import BrokenPicture
from lingvis.features.prefetch import prefetch


@dataclass(frozen=True, slots=True)
class EncodedPicture:
    """A file's facts and its embedding, float32 [dim]."""

    facts: PictureFacts
    embedding: Floats


Outcome = EncodedPicture | DuplicateContent | BrokenPicture


class IndexWorkers(Protocol):
    """Read and encode files, in this process or on a cluster."""

    def batches(
        self, files: Sequence[ScannedFile], *, batch_size: int, seen: Collection[str]
    ) -> Iterator[list[tuple[ScannedFile, Outcome]]]:
        """Yield files and their outcomes, in order; contents in `seen`, by hash, need not be encoded again."""
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
        self, files: Sequence[ScannedFile], *, batch_size: int, seen: Container[str]
    ) -> Iterator[list[tuple[ScannedFile, Outcome]]]:
        """Yield files and their outcomes, in order; `seen` may grow meanwhile."""
        if self._decoders is not None:
            yield from self._batches(files, self._decoders, batch_size=batch_size, seen=seen)
        else:
            with DecoderPool() as decoders:
                yield from self._batches(files, decoders, batch_size=batch_size, seen=seen)

    def _batches(
        self, files: Sequence[ScannedFile], decoders: DecoderPool, *, batch_size: int, seen: Container[str]
    ) -> Iterator[list[tuple[ScannedFile, Outcome]]]:
        read = partial(
            read_picture,
            preprocessing=self._image_embedder.preprocessing,
            seen=seen.__contains__,
            decode=decoders.decode,
        )
        for batch in prefetch(read, files, batch_size=batch_size, threads=self._threads):
            decoded = [result.decoded for _, result in batch if isinstance(result, DecodedFile)]
            embeddings = iter(self._image_embedder(decoded))
            yield [
                (
                    file,
                    EncodedPicture(result.facts, next(embeddings))
                    if isinstance(result, DecodedFile)
                    else result,
                )
                for file, result in batch
            ]

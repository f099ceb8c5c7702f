"""Vectors of pictures for a re-ranking model, from the current files."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from lingvis.collection.binding import ImageEmbedder, image_fingerprint
from lingvis.collection.rerank.base import Thumbnail
from lingvis.collection.rerank.cache import Half, PictureCache
from lingvis.collection.stores.records import Hit
from lingvis.collection.writer.found import ScannedFile
from lingvis.collection.writer.pictures import DecodedFile, DuplicateContent, UnreadPicture, read_picture
from lingvis.features.decoding.pool import DecoderPool
from lingvis.features.pictures import BrokenPicture, DecodedPicture, decode
from lingvis.features.prefetch import prefetch
from lingvis.features.preprocessing import Preprocessing
from lingvis.model.embedder import Embedder

BATCH = 32


class PictureVectors:
    """Hits -> the vectors of their pictures, computed once per content."""

    def __init__(self, embedder: Embedder, cache: Path | None) -> None:
        self._embedder = embedder
        folder = cache / image_fingerprint(embedder)[:16] if cache is not None else None
        self._cache = PictureCache(folder, embedder.dim)
        self._image_embedder: ImageEmbedder | None = None

    def __call__(self, hits: Sequence[Hit], thumbnail: Thumbnail) -> tuple[dict[str, Half], int]:
        """Return float16 vectors by the id of the hit, and the number of pictures that had to be computed.

        thumbnail: by id, used if the file can no longer be read; a picture with neither has no vectors.
        """
        vectors = {hit.id: cached for hit in hits if (cached := self._unchanged(hit)) is not None}
        missing = [hit for hit in hits if hit.id not in vectors]
        if not missing:
            return vectors, 0
        image_embedder = self._image_embedder = self._image_embedder or ImageEmbedder(self._embedder)
        computed = 0
        for batch in self._read_all(missing, image_embedder.preprocessing):
            fresh: list[tuple[str, str, DecodedPicture]] = []
            for hit, result in batch:
                hash, decoded = (
                    _decode(thumbnail(hit.id), image_embedder)
                    if isinstance(result, BrokenPicture)
                    else _content(result)
                )
                cached = self._cache.get(hash)
                if cached is not None:
                    vectors[hit.id] = cached
                elif decoded is not None:
                    fresh.append((hit.id, hash, decoded))
            encoded = image_embedder([decoded for _, _, decoded in fresh]).astype(np.float16)
            for (id, hash, _), vector in zip(fresh, encoded, strict=True):
                self._cache.put(hash, vector)
                vectors[id] = vector
            computed += len(fresh)
        return vectors, computed

    def _unchanged(self, hit: Hit) -> Half | None:
        """Return the cached vectors of a file that has not changed since it was indexed; a video has many."""
        if hit.info.second is not None:
            return None
        try:
            status = os.stat(hit.path)
        except OSError:
            return None
        same = (status.st_size, status.st_mtime_ns) == (hit.info.size, hit.info.mtime_ns)
        return self._cache.get(hit.info.hash) if same else None

    def _read_all(
        self, hits: Sequence[Hit], preprocessing: Preprocessing
    ) -> Iterator[list[tuple[Hit, DecodedFile | DuplicateContent | BrokenPicture]]]:
        with DecoderPool() as decoders:
            read = partial(self._read, preprocessing=preprocessing, decoders=decoders)
            yield from prefetch(read, hits, batch_size=BATCH)

    def _read(
        self, hit: Hit, preprocessing: Preprocessing, decoders: DecoderPool
    ) -> DecodedFile | DuplicateContent | BrokenPicture:
        if hit.info.second is not None:
            return UnreadPicture("a moment of a video; its thumbnail is its frame")
        try:
            status = os.stat(hit.path)
        except OSError as error:
            return UnreadPicture(str(error))
        file = ScannedFile(hit.path, status.st_size, status.st_mtime_ns)
        return read_picture(file, preprocessing, self._cache.__contains__, decoders.decode)


def _content(result: DecodedFile | DuplicateContent) -> tuple[str, DecodedPicture | None]:
    return (
        (result.hash, None) if isinstance(result, DuplicateContent) else (result.facts.hash, result.decoded)
    )


def _decode(thumbnail: bytes | None, image_embedder: ImageEmbedder) -> tuple[str, DecodedPicture | None]:
    """Decode a thumbnail; its hash is separate, because its vectors differ slightly from the picture's."""
    if thumbnail is None:
        return "", None
    try:
        decoded = decode(io.BytesIO(thumbnail), (), image_embedder.preprocessing, crops=False)
    except BrokenPicture:  # also damaged
        return "", None
    return hashlib.sha256(thumbnail).hexdigest(), decoded

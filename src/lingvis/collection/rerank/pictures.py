"""Pictures of a collection as a model that re-ranks sees them: the files as they are now."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from lingvis.collection.binding import PictureSide, image_fingerprint
from lingvis.collection.query.picture import decode_open
from lingvis.collection.rerank.cache import Half, PictureCache
from lingvis.collection.stores.contract import Hit
from lingvis.collection.writer.pictures import Picture, Same, UnreadPicture, read_picture
from lingvis.collection.writer.scan import Found
from lingvis.errors import UserError
from lingvis.features.backbones import Preprocessing
from lingvis.features.pictures import BrokenPicture, Decoded
from lingvis.features.prefetch import ahead
from lingvis.model.embedder import Embedder

BATCH = 32
Thumbnail = Callable[[str], bytes | None]


class PictureVectors:
    """Hits -> the vectors of their pictures, computed once for each content."""

    def __init__(self, embedder: Embedder, cache: Path | None) -> None:
        self._embedder = embedder
        self._cache = PictureCache(cache / image_fingerprint(embedder)[:16] if cache is not None else None)
        self._side: PictureSide | None = None

    def __call__(self, hits: Sequence[Hit], thumbnail: Thumbnail) -> tuple[dict[str, Half], int]:
        """Vectors float16 by the id of the hit, and how many were computed.

        thumbnail: by id, looked at where a file cannot be used any more; without either, a picture has no vectors.
        """
        found = {hit.id: known for hit in hits if (known := self._unchanged(hit)) is not None}
        missing = [hit for hit in hits if hit.id not in found]
        if not missing:
            return found, 0
        side = self._side = self._side or PictureSide(self._embedder)
        computed = 0
        read = partial(self._read, preprocessing=side.preprocessing)
        for batch in ahead(read, missing, batch_size=BATCH):
            fresh: list[tuple[str, str, Decoded]] = []
            for hit, result in batch:
                hash, decoded = (
                    _decode(thumbnail(hit.id), side)
                    if isinstance(result, BrokenPicture)
                    else _content(result)
                )
                known = self._cache.get(hash)
                if known is not None:
                    found[hit.id] = known
                elif decoded is not None:
                    fresh.append((hit.id, hash, decoded))
            vectors = side([decoded for _, _, decoded in fresh]).astype(np.float16)
            for (id, hash, _), each in zip(fresh, vectors, strict=True):
                self._cache.put(hash, each)
                found[id] = each
            computed += len(fresh)
        return found, computed

    def _unchanged(self, hit: Hit) -> Half | None:
        """What is known of a file that has not changed since it was indexed."""
        try:
            status = os.stat(hit.path)
        except OSError:
            return None
        same = (status.st_size, status.st_mtime_ns) == (hit.entry.size, hit.entry.mtime_ns)
        return self._cache.get(hit.entry.hash) if same else None

    def _read(self, hit: Hit, preprocessing: Preprocessing) -> Picture | Same | BrokenPicture:
        try:
            status = os.stat(hit.path)
        except OSError as error:
            return UnreadPicture(str(error))
        file = Found(hit.path, status.st_size, status.st_mtime_ns)
        return read_picture(file, preprocessing, self._cache.__contains__)


def _content(result: Picture | Same) -> tuple[str, Decoded | None]:
    return (result.hash, None) if isinstance(result, Same) else (result.facts.hash, result.decoded)


def _decode(thumbnail: bytes | None, side: PictureSide) -> tuple[str, Decoded | None]:
    """A thumbnail is content of its own: its vectors are not quite those of the picture."""
    if thumbnail is None:
        return "", None
    try:
        decoded = decode_open(io.BytesIO(thumbnail), side.preprocessing)
    except UserError:  # damaged, too
        return "", None
    return hashlib.sha256(thumbnail).hexdigest(), decoded

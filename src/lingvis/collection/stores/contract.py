"""What passes between a collection and the engine that stores it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, PositiveInt

Floats = NDArray[np.float32]
FORMAT = 1


class Header(BaseModel):
    """What a collection remembers of the model that filled it.

    image_fingerprint covers all that shapes a picture's embedding, text_fingerprint all that shapes a caption's;
    model is the absolute path of the model folder, features the description of what its backbone gives.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    format: int = FORMAT
    dim: PositiveInt
    image_fingerprint: str
    text_fingerprint: str
    model: str
    features: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Known:
    """Just enough of a stored picture to tell whether its file has changed."""

    id: str
    path: str
    hash: str
    size: int
    mtime_ns: int
    note: str | None


@dataclass(frozen=True, slots=True)
class Entry:
    """All that is known of a picture but its vectors and its thumbnail.

    path: absolute, without symbolic links; hash: SHA-256 of the file; size: bytes; width, height: of the upright
    picture; format: as Pillow calls it, in small letters; date: when it was taken, else when the file was
    changed, as a clock on the wall showed it; note: the caption beside the picture, lang: its language.
    """

    id: str
    path: str
    hash: str
    size: int
    mtime_ns: int
    width: int
    height: int
    format: str
    date: datetime
    note: str | None = None
    lang: str | None = None


@dataclass(frozen=True, slots=True)
class Item:
    """A whole row: embedding float32 [dim], note_embedding the same for its note, thumbnail a small JPEG."""

    entry: Entry
    embedding: Floats
    thumbnail: bytes
    note_embedding: Floats | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which pictures may be found; None allows all.

    folder: at any depth below it; after and before: dates, both included; sizes in bytes, both included.
    """

    folder: str | None = None
    after: datetime | None = None
    before: datetime | None = None
    min_size: int | None = None
    max_size: int | None = None
    format: str | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """One result: rank from 1 on over all pages; score: the cosine, or with learnt consistency what it gives."""

    rank: int
    score: float
    entry: Entry

    @property
    def id(self) -> str:
        """By which the collection finds the picture again."""
        return self.entry.id

    @property
    def path(self) -> str:
        """Where the picture lies."""
        return self.entry.path

    def to_json(self) -> dict[str, Any]:
        """Flat, as programs read it; rank, score and path come first."""
        fields = {**asdict(self.entry), "date": self.entry.date.isoformat()}
        return {"rank": self.rank, "score": round(self.score, 6), "path": fields.pop("path"), **fields}


@dataclass(frozen=True, slots=True)
class Statistics:
    """Numbers of a collection; bytes: of the picture files; formats: pictures of each."""

    pictures: int
    notes: int
    bytes: int
    formats: dict[str, int]
    first: datetime | None
    last: datetime | None


class Store(Protocol):
    """An engine that keeps rows; several processes may read while one writes.

    What `upsert` and `delete` have returned from outlives a kill and a power cut.
    """

    @property
    def header(self) -> Header: ...

    def replace_header(self, header: Header) -> None:
        """Remember another model; the rows stay."""
        ...

    def writing(self) -> AbstractContextManager[None]:
        """Hold this around all writes; refuses with a sentence where somebody else writes."""
        ...

    def known(self) -> Iterator[Known]:
        """Every row, in no order."""
        ...

    def upsert(self, items: Sequence[Item]) -> None:
        """Add rows, or replace those of the same id; all or none of them."""
        ...

    def delete(self, ids: Sequence[str]) -> None:
        """Drop rows; unknown ids are passed over."""
        ...

    def items(self, ids: Sequence[str]) -> list[Item]:
        """Whole rows, those that exist, in no order."""
        ...

    def vectors(self, ids: Sequence[str], *, captions: bool = False) -> dict[str, Floats]:
        """Embeddings of pictures, or of their notes, by id, those that exist."""
        ...

    def entry(self, id: str) -> Entry | None:
        """What is known of one picture."""
        ...

    def thumbnail(self, id: str) -> bytes | None:
        """JPEG of one picture."""
        ...

    def search(
        self, queries: Floats, *, k: int, offset: int = 0, where: Filter, captions: bool = False
    ) -> list[list[Hit]]:
        """Best rows of each query, float32 [queries, dim]: by picture, or with `captions` by note."""
        ...

    def count(self) -> int:
        """Number of rows."""
        ...

    def statistics(self) -> Statistics:
        """Numbers for people."""
        ...

    def maintain(self) -> None:
        """Called after writing: merge small files, bring the search index up to date."""
        ...

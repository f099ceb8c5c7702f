"""The records of a collection: its model, its pictures, and the hits of a search."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import date, datetime
from operator import attrgetter
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, PositiveInt

from lingvis.arrays import Floats
from lingvis.collection.areas import parse_area
from lingvis.collection.filter_values import parse_end, parse_format, parse_size, parse_start, parsed
from lingvis.errors import UserError
from lingvis.relevance.calibration import Confidence

FORMAT = 1
# Stored names: the columns of captions and their embeddings, and the caption in JSON. They date from when a caption was
# called a note, and stay, so that old collections open and programs that read the JSON keep working.
CAPTION = "note"
CAPTION_EMBEDDING = "note_embedding"
EMBEDDING = "embedding"
COLUMN_OF = {"caption": CAPTION}  # where a field of PictureInfo and its column differ


class Header(BaseModel):
    """The model that filled a collection.

    image_fingerprint covers everything that determines a picture's embedding, text_fingerprint the same for a
    caption; model: absolute path of the model folder; features: description of the model's features.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    format: int = FORMAT
    dim: PositiveInt
    image_fingerprint: str
    text_fingerprint: str
    model: str
    features: dict[str, Any]


@dataclass(frozen=True, slots=True)
class StoredFile:
    """The fields of a stored picture that detect a changed file."""

    id: str
    path: str
    hash: str
    size: int
    mtime_ns: int
    caption: str | None


@dataclass(frozen=True, slots=True)
class PictureInfo:
    """The record of a picture without its embeddings and its thumbnail.

    path: absolute, without symbolic links; hash: SHA-256 of the file; size: bytes; width, height: of the upright
    picture; format: Pillow's name in lower case; date: when the picture was taken or, if unknown, when the file was
    changed, in local time; caption: the text beside the picture; lang: its language; camera, latitude, longitude: as
    the camera wrote them, None in rows of earlier versions; signature: see `lingvis.data.signature`.

    A video has a row per moment: width, height and signature are those of its frame, format is that of the video, the
    caption is in the first row. second: where the moment begins, 0 for the first; duration: seconds of the video; both
    are None for a picture.
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
    caption: str | None = None
    lang: str | None = None
    camera: str | None = None
    latitude: float | None = None
    longitude: float | None = None
    signature: bytes | None = None
    second: float | None = None
    duration: float | None = None

    @property
    def is_first(self) -> bool:
        """Whether this is a picture, or the first moment of a video."""
        return not self.second

    def to_json(self) -> dict[str, Any]:
        """Return a flat dictionary for the command line and the HTTP API."""
        fields = dict(zip(INFO_COLUMNS, info_values(self), strict=True))
        mark = base64.b64encode(self.signature).decode() if self.signature is not None else None
        return {**fields, "date": self.date.isoformat(), "signature": mark}


def _columns(record: type[StoredFile] | type[PictureInfo]) -> list[str]:
    return [COLUMN_OF.get(field.name, field.name) for field in fields(record)]


FILE_COLUMNS = _columns(StoredFile)  # in the order of the fields
INFO_COLUMNS = _columns(PictureInfo)
info_values = attrgetter(
    *(field.name for field in fields(PictureInfo))
)  # ten times as fast as dataclasses.asdict
# Tables of earlier versions lack these; their values are then None, and the next writer adds the columns.
LATER_COLUMNS = ("camera", "latitude", "longitude", "signature", "second", "duration")


@dataclass(frozen=True, slots=True)
class Item:
    """A whole row: embedding float32 [dim], caption_embedding float32 [dim] or None, thumbnail a small JPEG."""

    info: PictureInfo
    embedding: Floats
    thumbnail: bytes
    caption_embedding: Floats | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which pictures a search may return; None allows all.

    folder: at any depth below it; a relative name is below the working directory or, if there is no such folder, a folder
    of this name anywhere. after and before: dates, both included; sizes in bytes, both included; format: jpg is jpeg, heic
    is heif; album: the name of an album of the collection; hashes: of the contents of the pictures, by which a collection
    replaces the album; area: degrees (south, west, north, east), all included. `parse` takes all these as text. once: a
    video counts once, with its first moment.
    """

    folder: str | None = None
    after: datetime | None = None
    before: datetime | None = None
    min_size: int | None = None
    max_size: int | None = None
    format: str | None = None
    album: str | None = None
    hashes: frozenset[str] | None = None
    area: tuple[float, float, float, float] | None = None
    once: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "format", parsed("format", self.format, parse_format))

    @classmethod
    def parse(
        cls,
        *,
        folder: str | Path | None = None,
        after: str | date | None = None,
        before: str | date | None = None,
        min_size: str | int | None = None,
        max_size: str | int | None = None,
        format: str | None = None,
        album: str | None = None,
        area: str | None = None,
    ) -> Filter:
        """Return a filter from values as people write them: dates such as 2024-05-01, sizes such as 2MB."""
        return cls(
            folder=str(folder) if folder is not None else None,
            after=parsed("after", after, parse_start),
            before=parsed("before", before, parse_end),
            min_size=parsed("min_size", min_size, parse_size),
            max_size=parsed("max_size", max_size, parse_size),
            format=format,
            album=album,
            area=parsed("area", area, parse_area),
        )


@dataclass(frozen=True, slots=True)
class Hit:
    """One result; rank: from 1, over all pages; score: the cosine, or the score of a re-ranker.

    confidence: that the picture is right, for queries by words, if the model is calibrated.
    """

    rank: int
    score: float
    info: PictureInfo
    confidence: Confidence | None = None

    @property
    def id(self) -> str:
        """The picture's id in the collection."""
        return self.info.id

    @property
    def path(self) -> str:
        """The picture's file."""
        return self.info.path

    def to_json(self) -> dict[str, Any]:
        """Return a flat dictionary; rank, score and path come first."""
        fields = self.info.to_json()
        first = {"rank": self.rank, "score": round(self.score, 6), "path": fields.pop("path")}
        return {**first, "confidence": self.confidence, **fields}


@dataclass(frozen=True, slots=True)
class Statistics:
    """Numbers of a collection; a video counts as one picture.

    captions: pictures with one; bytes: of the files; formats: pictures per format; videos: how many of the pictures are
    videos; moments: of all videos.
    """

    pictures: int
    captions: int
    bytes: int
    formats: dict[str, int]
    first: datetime | None
    last: datetime | None
    videos: int = 0
    moments: int = 0


@dataclass(frozen=True, slots=True)
class MonthCount:
    """The pictures of a month; month: such as 2024-05."""

    month: str
    pictures: int


@dataclass(frozen=True, slots=True)
class FolderCount:
    """The pictures of a folder itself, without those of folders in it."""

    folder: str
    pictures: int


@dataclass(frozen=True, slots=True)
class PlaceCount:
    """The pictures of a part of the map; latitude, longitude: their mean; id: of one of them."""

    latitude: float
    longitude: float
    pictures: int
    id: str


MOST_PLACES = 2000  # parts of the map that are returned, those with most pictures first


def ranked(scores: Sequence[float], infos: Sequence[PictureInfo]) -> list[Hit]:
    """Return hits, best first; equal scores (copies of a picture) are ordered by path, so that pages never overlap."""
    pairs = sorted(
        zip(scores, infos, strict=True), key=lambda pair: (-pair[0], pair[1].path, pair[1].second or 0.0)
    )
    return [Hit(rank, score, info) for rank, (score, info) in enumerate(pairs, start=1)]


def page_of(hits: Sequence[Hit], *, first_rank: int) -> list[Hit]:
    """Return the same hits with consecutive ranks."""
    return [Hit(rank, hit.score, hit.info) for rank, hit in enumerate(hits, start=first_rank)]


def check_page(k: int, offset: int) -> None:
    """Raise for an invalid page of results."""
    if k < 1:
        raise UserError(f"k must be at least 1, got {k}")
    if offset < 0:
        raise UserError(f"offset must be at least 0, got {offset}")

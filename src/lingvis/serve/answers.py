"""The answers of the API, for its OpenAPI document."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, Field

from lingvis.collection.stores.records import Hit, PictureInfo, Statistics
from lingvis.relevance.calibration import Confidence
from lingvis.serve.settings import OFFSET, QUERIES, QUERY_CHARACTERS, RESULTS, ServerSettings


class ErrorAnswer(BaseModel):
    """The problem and its remedy, in one sentence."""

    error: str


class HealthAnswer(BaseModel):
    """The server is running."""

    status: str = Field(examples=["ok"])
    version: str


class LimitsAnswer(BaseModel):
    """Limits of a query."""

    query_characters: int
    queries: int
    k: int
    offset: int
    upload_bytes: int
    pixels: int

    @classmethod
    def of(cls, settings: ServerSettings) -> Self:
        """Return the limits of a server."""
        return cls(
            query_characters=QUERY_CHARACTERS,
            queries=QUERIES,
            k=RESULTS,
            offset=OFFSET,
            upload_bytes=settings.upload_bytes,
            pixels=settings.pixels,
        )


class CollectionAnswer(BaseModel):
    """Numbers of the collection; notes: captions; bytes: of its picture files; first, last: dates of its pictures."""

    pictures: int
    notes: int
    bytes: int
    formats: dict[str, int]
    first: str | None
    last: str | None
    model: str
    languages: list[str]
    uses_language: bool = Field(description="Whether the language of the words matters to the model.")
    dim: int
    limits: LimitsAnswer

    @classmethod
    def of(
        cls,
        numbers: Statistics,
        *,
        model: str,
        languages: list[str],
        uses_language: bool,
        dim: int,
        limits: LimitsAnswer,
    ) -> Self:
        """Return the numbers of a collection and its model."""
        return cls(
            pictures=numbers.pictures,
            notes=numbers.captions,
            bytes=numbers.bytes,
            formats=numbers.formats,
            first=numbers.first.isoformat() if numbers.first is not None else None,
            last=numbers.last.isoformat() if numbers.last is not None else None,
            model=model,
            languages=languages,
            uses_language=uses_language,
            dim=dim,
            limits=limits,
        )


class ItemAnswer(BaseModel):
    """A picture; date: when it was taken or, if unknown, when its file was changed; note: its caption."""

    id: str
    path: str
    hash: str = Field(description="SHA-256 of the file.")
    size: int = Field(description="Bytes.")
    mtime_ns: int
    width: int
    height: int
    format: str
    date: str
    note: str | None
    lang: str | None = Field(description="Language of the caption.")
    camera: str | None = None
    latitude: float | None = Field(None, description="Degrees.")
    longitude: float | None = Field(None, description="Degrees.")
    signature: str | None = Field(
        None, description="Mean colours of 6 x 6 parts, in Base64, to recognise copies."
    )
    second: float | None = Field(None, description="Of a moment of a video: where it begins.")
    duration: float | None = Field(None, description="Of a video, in seconds.")

    @classmethod
    def of(cls, info: PictureInfo) -> Self:
        """Return the record of a picture."""
        return cls(**info.to_json())


class HitAnswer(ItemAnswer):
    """A result; rank: from 1, over all pages; score: the cosine."""

    rank: int
    score: float
    confidence: Confidence | None = Field(
        description="strong, likely or weak, for a search by words; null if the model is not calibrated."
    )

    @classmethod
    def of_hit(cls, hit: Hit) -> Self:
        """Return a result of a search."""
        return cls(**hit.to_json())


class QueryAnswer(BaseModel):
    """A text of the query, its language, as given or detected, and the words that the model does not know.

    understood: false if no word is known, or the text is in a language that the model lacks.
    """

    text: str
    lang: str
    detected: bool
    unknown: list[str]
    understood: bool


class SimilarAnswer(BaseModel):
    """A page of results."""

    k: int
    offset: int
    took_ms: float
    hits: list[HitAnswer]


class BrowseAnswer(BaseModel):
    """A page of pictures, the newest first."""

    k: int
    offset: int
    items: list[ItemAnswer]


class MonthAnswer(BaseModel):
    """The pictures of a month."""

    month: str = Field(examples=["2024-05"])
    pictures: int


class TimelineAnswer(BaseModel):
    """Months that have pictures, the latest first."""

    months: list[MonthAnswer]


class FolderAnswer(BaseModel):
    """The pictures of a folder itself, without those of folders in it."""

    folder: str
    pictures: int


class FoldersAnswer(BaseModel):
    """Folders that have pictures, ordered by path."""

    folders: list[FolderAnswer]


class PlaceAnswer(BaseModel):
    """The pictures of a square of the map; latitude, longitude: their mean; id: of the newest."""

    latitude: float
    longitude: float
    pictures: int
    id: str


class PlacesAnswer(BaseModel):
    """Squares of the map that have pictures, those with most pictures first."""

    places: list[PlaceAnswer]


class ExampleAnswer(BaseModel):
    """A query that finds something in this collection."""

    text: str
    lang: str


class ExamplesAnswer(BaseModel):
    """Queries for varied pictures of the collection."""

    examples: list[ExampleAnswer]


class SearchAnswer(SimilarAnswer):
    """A page of results, the texts with their languages, and the terms to leave out."""

    queries: list[QueryAnswer]
    without: list[str]

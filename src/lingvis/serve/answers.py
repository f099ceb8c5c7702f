"""The answers of the API, for its OpenAPI document."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, Field

from lingvis.collection.stores.records import Hit, PictureInfo, Statistics
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
    dim: int
    limits: LimitsAnswer

    @classmethod
    def of(
        cls, numbers: Statistics, *, model: str, languages: list[str], dim: int, limits: LimitsAnswer
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

    @classmethod
    def of(cls, info: PictureInfo) -> Self:
        """Return the record of a picture."""
        return cls(**info.to_json())


class HitAnswer(ItemAnswer):
    """A result; rank: from 1, over all pages; score: the cosine."""

    rank: int
    score: float

    @classmethod
    def of_hit(cls, hit: Hit) -> Self:
        """Return a result of a search."""
        return cls(**hit.to_json())


class QueryAnswer(BaseModel):
    """A text of the query, and its language, as given or detected."""

    text: str
    lang: str
    detected: bool


class SimilarAnswer(BaseModel):
    """A page of results."""

    k: int
    offset: int
    took_ms: float
    hits: list[HitAnswer]


class SearchAnswer(SimilarAnswer):
    """A page of results, and the texts with their languages."""

    queries: list[QueryAnswer]

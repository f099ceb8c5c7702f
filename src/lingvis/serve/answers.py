"""What the API answers, as its OpenAPI document describes it."""

from __future__ import annotations

from pydantic import BaseModel, Field


class ErrorAnswer(BaseModel):
    """What went wrong and what to do, in one sentence."""

    error: str


class HealthAnswer(BaseModel):
    """The server runs."""

    status: str = Field(examples=["ok"])
    version: str


class LimitsAnswer(BaseModel):
    """What a question may hold."""

    query_characters: int
    queries: int
    k: int
    offset: int
    upload_bytes: int
    pixels: int


class CollectionAnswer(BaseModel):
    """Numbers of the collection; bytes: of its picture files; first, last: dates of its pictures."""

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


class ItemAnswer(BaseModel):
    """A picture; date: when it was taken, else when its file was changed; note: the caption beside it."""

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
    lang: str | None = Field(description="Language of the note.")


class HitAnswer(ItemAnswer):
    """A result; rank: from 1 on over all pages; score: the cosine."""

    rank: int
    score: float


class AskedAnswer(BaseModel):
    """A text that was asked with, and its language, as given or detected."""

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
    """A page of results, and the texts as they were understood."""

    queries: list[AskedAnswer]

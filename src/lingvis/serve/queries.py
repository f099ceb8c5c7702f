"""The parameters of a search, checked field by field."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator, model_validator

from lingvis.collection.dates import from_moment, up_to_moment
from lingvis.collection.stores.records import Filter
from lingvis.serve.settings import OFFSET, QUERIES, QUERY_CHARACTERS, RESULTS

LARGEST = 2**63 - 1


def _printable(text: str) -> str:
    if "\0" in text:
        raise ValueError("the character NUL is not allowed")
    return text


Text = Annotated[str, StringConstraints(max_length=4096)]
Bytes = Annotated[int, Field(ge=0, le=LARGEST)]
Moment = Annotated[str, Field(max_length=40, examples=["2024-05-01", "2024-05-01T18:30"])]


class Filters(BaseModel):
    """Which pictures a search may return, and which page."""

    model_config = ConfigDict(extra="forbid")

    k: int = Field(10, ge=1, le=RESULTS, description="Number of results.")
    offset: int = Field(0, ge=0, le=OFFSET, description="Results to skip: the next page.")
    folder: Text | None = Field(None, description="Only pictures in this folder, at any depth.")
    after: Moment | None = Field(None, description="Only pictures from this date on.")
    before: Moment | None = Field(None, description="Only pictures up to this date, a whole day included.")
    min_size: Bytes | None = Field(None, description="Only files of at least this many bytes.")
    max_size: Bytes | None = Field(None, description="Only files of at most this many bytes.")
    format: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9]{1,16}$")] | None = Field(
        None, description="Only this format: jpeg, png, webp, gif, bmp, tiff or heif."
    )

    @model_validator(mode="before")
    @classmethod
    def _without_empty(cls, fields: Any) -> Any:
        """Drop the empty fields of a form."""
        return {name: value for name, value in fields.items() if value != ""}

    @field_validator("folder")
    @classmethod
    def _folder(cls, folder: str | None) -> str | None:
        return _printable(folder) if folder is not None else None

    @field_validator("after", "before")
    @classmethod
    def _moment(cls, moment: str | None) -> str | None:
        if moment is not None:
            from_moment(moment)
        return moment

    def where(self) -> Filter:
        """Return the filter of a store."""
        return Filter(
            folder=self.folder,
            after=from_moment(self.after) if self.after is not None else None,
            before=up_to_moment(self.before) if self.before is not None else None,
            min_size=self.min_size,
            max_size=self.max_size,
            format=self.format,
        )


class SearchQuery(Filters):
    """A search by words."""

    q: list[str] = Field(
        [],
        max_length=QUERIES,
        description=f"What to look for, {QUERY_CHARACTERS} characters at most; several find pictures that fit all of them.",
    )
    lang: Annotated[str, StringConstraints(max_length=40)] | None = Field(
        None, description="Language of the words; detected by default."
    )
    captions: bool = Field(False, description="Compare with the captions beside the pictures.")

    @field_validator("q")
    @classmethod
    def _words(cls, texts: list[str]) -> list[str]:
        for text in texts:
            if len(_printable(text)) > QUERY_CHARACTERS:
                raise ValueError(f"a text has at most {QUERY_CHARACTERS} characters, not {len(text)}")
        return [text.strip() for text in texts if text.strip()]


class PictureQuery(SearchQuery):
    """A search by a picture, with or without words."""

    weight: float = Field(0.5, ge=0, le=1, description="Share of the words, if there are any.")

"""The parameters of a search, checked field by field."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    field_validator,
    model_validator,
)

from lingvis.collection.areas import parse_area
from lingvis.collection.dates import from_moment
from lingvis.collection.filter_values import KNOWN_FORMATS, parse_format, parse_size
from lingvis.collection.stores.records import Filter
from lingvis.serve.settings import OFFSET, QUERIES, QUERY_CHARACTERS, RESULTS


def _printable(text: str) -> str:
    if "\0" in text:
        raise ValueError("the character NUL is not allowed")
    return text


Text = Annotated[str, StringConstraints(max_length=4096)]
Bytes = Annotated[int, BeforeValidator(parse_size), Field(examples=["500000", "2MB"])]
Moment = Annotated[str, Field(max_length=40, examples=["2024-05-01", "2024-05-01T18:30"])]


class PictureFilter(BaseModel):
    """Which pictures count."""

    model_config = ConfigDict(extra="forbid")

    folder: Text | None = Field(None, description="Only pictures in this folder, at any depth.")
    after: Moment | None = Field(None, description="Only pictures from this date on.")
    before: Moment | None = Field(None, description="Only pictures up to this date, a whole day included.")
    min_size: Bytes | None = Field(
        None, description="Only files of at least this size, in bytes or such as 2MB."
    )
    max_size: Bytes | None = Field(
        None, description="Only files of at most this size, in bytes or such as 2MB."
    )
    format: Annotated[str, AfterValidator(parse_format)] | None = Field(
        None, description=f"Only this format: {', '.join(KNOWN_FORMATS)}; also jpg, heic and tif."
    )
    album: Annotated[str, StringConstraints(max_length=400)] | None = Field(
        None, description="Only pictures of this album, for instance favourites."
    )

    area: Annotated[str, StringConstraints(max_length=100)] | None = Field(
        None,
        description="Only pictures taken there: SOUTH,WEST,NORTH,EAST in degrees.",
        examples=["47,5,55,15"],
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

    @field_validator("area")
    @classmethod
    def _area(cls, area: str | None) -> str | None:
        if area is not None:
            parse_area(area)
        return area

    def where(self) -> Filter:
        """Return the filter of a store."""
        return Filter.parse(
            folder=self.folder,
            after=self.after,
            before=self.before,
            min_size=self.min_size,
            max_size=self.max_size,
            format=self.format,
            album=self.album,
            area=self.area,
        )


class Filters(PictureFilter):
    """Which pictures a search may return, and which page."""

    k: int = Field(10, ge=1, le=RESULTS, description="Number of results.")
    offset: int = Field(0, ge=0, le=OFFSET, description="Results to skip: the next page.")


class PlacesQuery(PictureFilter):
    """Which pictures the map shows, and how finely."""

    step: float = Field(1.0, ge=0.0001, le=90, description="Side of a square in degrees.")


class SearchQuery(Filters):
    """A search by words, by a picture, or by both."""

    q: list[str] = Field(
        [],
        max_length=QUERIES,
        description=f"What to look for, {QUERY_CHARACTERS} characters at most; several find pictures that fit all of them.",
    )
    lang: Annotated[str, StringConstraints(max_length=40)] | None = Field(
        None, description="Language of the words; detected by default."
    )
    prefer: list[Annotated[str, StringConstraints(max_length=40)]] = Field(
        [],
        max_length=QUERIES,
        description="Languages that the user probably writes, which help to detect that of the words; by default those "
        "of the header Accept-Language.",
    )
    captions: bool = Field(False, description="Compare with the captions beside the pictures.")
    without: list[str] = Field(
        [],
        max_length=QUERIES,
        description='What must not be in the pictures; "dog -beach" in q means the same.',
    )
    like: Annotated[str, StringConstraints(max_length=64)] | None = Field(
        None, description="Id of a picture of the collection, to find others like it that fit the words, too."
    )
    weight: float = Field(0.5, ge=0, le=1, description="Share of the words, if there is also a picture.")

    @field_validator("q", "without")
    @classmethod
    def _words(cls, texts: list[str]) -> list[str]:
        for text in texts:
            if len(_printable(text)) > QUERY_CHARACTERS:
                raise ValueError(f"a text has at most {QUERY_CHARACTERS} characters, not {len(text)}")
        return [text.strip() for text in texts if text.strip()]

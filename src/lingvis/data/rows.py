"""Rows of a dataset: an image, its split, its captions by language, their translations and regions."""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, Field, ValidationError

from lingvis.strict import StrictModel, explain
from lingvis.untrusted import parse_json

SPLITS = ("train", "val", "test")
Split = Literal["train", "val", "test"]

# The part of BCP-47 that names written languages: language, script, region, variants.
LANGUAGE_CODE = re.compile(r"[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?(-[a-z0-9]{5,8})*")


def _language(code: str) -> str:
    if not LANGUAGE_CODE.fullmatch(code):
        raise ValueError(f"bad language code {code!r}, use BCP-47 such as en, pt-BR or zh-Hant")
    return code


def _sentence(text: str) -> str:
    if not text.strip():
        raise ValueError("empty caption")
    return text


def _box(box: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
    x0, y0, x1, y1 = box
    if not (x0 < x1 and y0 < y1):
        raise ValueError(f"box {list(box)} is empty, use [x0, y0, x1, y1] in pixels with x0 < x1 and y0 < y1")
    return box


def _relative(name: str) -> str:
    # One spelling per picture: "./a.jpg" and "b//a.jpg" would escape the check for duplicates.
    if any(part in ("", ".", "..") for part in name.split("/")) or "\\" in name or "\0" in name:
        raise ValueError(f"bad image name {name!r}, use a path relative to images/ with / between folders")
    return name


Language = Annotated[str, AfterValidator(_language)]
Sentence = Annotated[str, AfterValidator(_sentence)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Box = Annotated[tuple[Number, Number, Number, Number], AfterValidator(_box)]


class Region(StrictModel, strict=True):
    """A part of a picture: box in pixels [x0, y0, x1, y1], and the label that a person or a detector gave it."""

    box: Box
    label: str | None = None
    attribute: str | None = None
    score: Number | None = None


class Translation(StrictModel, strict=True):
    """Captions that a translator made from the human captions of the row in another language."""

    translator: str
    captions: tuple[Sentence, ...]


class Row(StrictModel, strict=True):
    """An image with its captions.

    captions: any number of sentences by language, written by people. parallel: sentences that are translations of one
    another. translated: machine translations of `captions`, by language and by the language that they come from.
    """

    image: Annotated[str, AfterValidator(_relative)]
    split: Split
    captions: dict[Language, tuple[Sentence, ...]] = Field(default_factory=dict)
    parallel: dict[Language, Sentence] = Field(default_factory=dict)
    translated: dict[Language, dict[Language, Translation]] = Field(default_factory=dict)
    regions: tuple[Region, ...] = ()

    def translations(self, lang: str) -> tuple[str, ...]:
        """All machine translations into a language."""
        made = self.translated.get(lang, {}).values()
        return tuple(caption for translation in made for caption in translation.captions)

    def to_json(self) -> str:
        """The row as one line of captions.jsonl, without empty optional keys."""
        values = self.model_dump(exclude_none=True)
        kept = {key: value for key, value in values.items() if value or key in ("image", "split", "captions")}
        return json.dumps(kept, ensure_ascii=False)


class TextRow(StrictModel, strict=True):
    """Sentences about one picture that is not in the dataset, one row of text-only.jsonl."""

    id: str
    captions: dict[Language, tuple[Sentence, ...]] = Field(default_factory=dict)
    parallel: dict[Language, Sentence] = Field(default_factory=dict)


class PictureProblem(StrictModel):
    """A picture that cannot be used, and why."""

    image: str
    reason: str


AnyRow = TypeVar("AnyRow", Row, TextRow)


def parse_row(line: str) -> tuple[Row | None, list[str]]:
    """One line of captions.jsonl -> the row, or None and all its problems."""
    return _parse(line, Row)


def parse_text_row(line: str) -> tuple[TextRow | None, list[str]]:
    """One line of text-only.jsonl -> the row, or None and all its problems."""
    return _parse(line, TextRow)


def _parse(line: str, kind: type[AnyRow]) -> tuple[AnyRow | None, list[str]]:
    try:
        value = parse_json(line)
    except json.JSONDecodeError as error:
        return None, [f"bad JSON: {error.msg} at column {error.colno}"]
    except ValueError as error:
        if "nested" in str(error):
            return None, [f"bad JSON: {error}"]
        return None, ["bad JSON: a number with too many digits"]
    if not isinstance(value, dict):
        first = next(iter(kind.model_fields))
        return None, [f'expected an object like {{"{first}": ...}}, got {type(value).__name__}']
    try:
        return kind.model_validate_json(line), []
    except ValidationError as error:
        return None, row_problems(error, kind)


def named_image(line: str) -> str | None:
    """The image of an invalid line, or None if it cannot be read."""
    try:
        value = parse_json(line)
    except ValueError:
        return None
    image = value.get("image") if isinstance(value, dict) else None
    return image if isinstance(image, str) else None


def row_problems(error: ValidationError, kind: type[BaseModel] = Row) -> list[str]:
    """Every problem of a row as a clause that names the place in the row."""
    return [_row_problem(problem, kind) for problem in error.errors()]


def _row_problem(problem: Any, row: type[BaseModel]) -> str:
    parts = [str(part) for part in problem["loc"] if part != "[key]"]
    where = ".".join(part if part.isprintable() else ascii(part)[1:-1] for part in parts)
    kind = problem["type"]
    if kind == "missing":
        return explain(problem, where=f"key {where!r}")
    if kind == "extra_forbidden":
        inner: dict[str, type[BaseModel]] = {"regions": Region, "translated": Translation}
        allowed = (inner.get(parts[0], row) if len(parts) > 1 else row).model_fields
        return f"unknown key {where!r}; allowed: {', '.join(allowed)}"
    if kind == "json_invalid":  # the json module accepts more, such as half of a surrogate pair
        return f"bad JSON: {problem['ctx']['error']}"
    if kind == "literal_error":
        return f"unknown split {problem['input']!r}; allowed: {', '.join(SPLITS)}"
    if kind == "value_error":  # our checks already quote the value
        return f"{where}: {problem['ctx']['error']}"
    return explain(problem, where=where)

"""Tables of docs/reference/: every registered part with its own summary, every key of a recipe with its own."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from lingvis.image.augment import IMAGE_AUGMENTS
from lingvis.image.backbones import IMAGE_BACKBONES
from lingvis.image.classes import IMAGE_CLASSES
from lingvis.image.encoders import IMAGE_ENCODERS
from lingvis.image.pixels import PIXEL_AUGMENTS
from lingvis.objectives import OBJECTIVES
from lingvis.pooling import POOLERS
from lingvis.recipes.schema import Recipe
from lingvis.registry import Registry
from lingvis.similarity import SIMILARITIES
from lingvis.terms import TERMS
from lingvis.text.augment import TEXT_AUGMENTS
from lingvis.text.encoders import TEXT_ENCODERS
from lingvis.text.heads import TEXT_HEADS
from lingvis.text.tokenizers.base import TOKENIZERS
from lingvis.text.words.base import WORDS
from lingvis.training.pretraining import PRETRAINING
from lingvis.training.sampling import SAMPLERS
from lingvis.training.sources import PSEUDO_SOURCES
from lingvis.training.text_teachers import TEXT_TEACHERS
from studies.tables.markdown import table
from studies.tables.reference.licences import licence_table

REGISTRIES: dict[str, Registry[Any]] = {
    "image-pixels": PIXEL_AUGMENTS,
    "image-backbone": IMAGE_BACKBONES,
    "image-augment": IMAGE_AUGMENTS,
    "image-encoder": IMAGE_ENCODERS,
    "pooling": POOLERS,
    "image-classes": IMAGE_CLASSES,
    "tokenizer": TOKENIZERS,
    "text-augment": TEXT_AUGMENTS,
    "words": WORDS,
    "text-encoder": TEXT_ENCODERS,
    "text-head": TEXT_HEADS,
    "similarity": SIMILARITIES,
    "objective": OBJECTIVES,
    "term": TERMS,
    "pseudo": PSEUDO_SOURCES,
    "teacher": TEXT_TEACHERS,
    "sampling": SAMPLERS,
    "pretraining": PRETRAINING,
}


def part_table(kind: str) -> str:
    """The names of a registry and their summaries."""
    rows = [[f"`{entry.name}`", entry.summary] for entry in REGISTRIES[kind]]
    return table(["name", "description"], rows, left=2)


def key_table() -> str:
    """Every key of a recipe with its default and description."""
    return table(["key", "default", "description"], list(_keys(Recipe, "")), left=3)


def _keys(section: type[BaseModel], prefix: str) -> Iterator[list[str]]:
    for name, field in section.model_fields.items():
        key = f"{prefix}{name}"
        if (
            isinstance(field.annotation, type)
            and issubclass(field.annotation, BaseModel)
            and not field.description
        ):
            yield from _keys(field.annotation, f"{key}.")
            continue
        default = field.get_default()
        shown = "required" if field.is_required() else f"`{json.dumps(to_jsonable_python(default))}`"
        yield [f"`{key}`", shown, " ".join((field.description or "").split())]


TABLES = {"keys": key_table, "licences": licence_table}


def fill_parts(text: str) -> str:
    """The text with a table between `<!-- parts:KIND -->` and `<!-- /parts:KIND -->`.

    KIND is a registry's, `keys` of a recipe, or `licences`.
    """

    def block(match: re.Match[str]) -> str:
        kind = match[1]
        content = TABLES[kind]() if kind in TABLES else part_table(kind)
        return f"<!-- parts:{kind} -->\n{content}\n<!-- /parts:{kind} -->"

    return re.sub(r"<!-- parts:([\w-]+) -->.*?<!-- /parts:\1 -->", block, text, flags=re.DOTALL)

"""Tables of docs/reference/parts.md: every registered part with its own summary."""

from __future__ import annotations

import re
from typing import Any

from lingvis.image.augment import IMAGE_AUGMENTS
from lingvis.image.encoders import IMAGE_ENCODERS
from lingvis.objectives import OBJECTIVES
from lingvis.pooling import POOLERS
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
from studies.tables.markdown import table

REGISTRIES: dict[str, Registry[Any]] = {
    "image-augment": IMAGE_AUGMENTS,
    "image-encoder": IMAGE_ENCODERS,
    "pooling": POOLERS,
    "tokenizer": TOKENIZERS,
    "text-augment": TEXT_AUGMENTS,
    "words": WORDS,
    "text-encoder": TEXT_ENCODERS,
    "text-head": TEXT_HEADS,
    "similarity": SIMILARITIES,
    "objective": OBJECTIVES,
    "term": TERMS,
    "sampling": SAMPLERS,
    "pretraining": PRETRAINING,
}


def fill_parts(text: str) -> str:
    """The text with a table of names and summaries between `<!-- parts:KIND -->` and `<!-- /parts:KIND -->`."""

    def block(match: re.Match[str]) -> str:
        kind = match[1]
        rows = [[f"`{entry.name}`", entry.summary] for entry in REGISTRIES[kind]]
        content = table(["name", "description"], rows, left=2)
        return f"<!-- parts:{kind} -->\n{content}\n<!-- /parts:{kind} -->"

    return re.sub(r"<!-- parts:([\w-]+) -->.*?<!-- /parts:\1 -->", block, text, flags=re.DOTALL)

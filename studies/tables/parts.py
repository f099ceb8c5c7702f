"""Tables of docs/reference/parts.md: every registered part with its own summary."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from lingvis.image.augment import IMAGE_AUGMENTS
from lingvis.image.encoders import IMAGE_ENCODERS
from lingvis.objectives import OBJECTIVES
from lingvis.pooling import POOLERS
from lingvis.registry import Registry
from lingvis.similarity.measures import SIMILARITIES
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


def parts(registry: Registry[Any]) -> str:
    """A table of the names of a registry and their summaries."""
    return table(["name", "description"], [[f"`{entry.name}`", entry.summary] for entry in registry], left=2)


PARTS: dict[str, Callable[[], str]] = {
    f"parts-{name}": partial(parts, registry) for name, registry in REGISTRIES.items()
}

"""The only place that turns a recipe into objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import torch
from torch import nn

from lingvis.config import Part, Recipe, accepted, lookup, parse_recipe, part_problems
from lingvis.errors import UserError, choices
from lingvis.image.augment import IMAGE_AUGMENTS
from lingvis.image.encoders import IMAGE_ENCODERS
from lingvis.model import DualEncoder, ImageSide, TextSide
from lingvis.objectives.ranking import OBJECTIVES
from lingvis.pooling import POOLERS
from lingvis.registry import Registry
from lingvis.similarity.measures import SIMILARITIES
from lingvis.text import transformer  # noqa: F401  (registers the transformer parts)
from lingvis.text.augment import TEXT_AUGMENTS
from lingvis.text.encoders import TEXT_ENCODERS
from lingvis.text.tokenizers import TOKENIZERS, Tokenizer, Vocabulary
from lingvis.text.words import WORDS

# Constructor arguments that come from the data or from the part before, never from a recipe.
PROVIDED = ("input_dim", "vocabulary", "folder")


def recipe_names() -> list[str]:
    """The recipes that come with the package."""
    files = resources.files("lingvis.recipes").iterdir()
    return sorted(file.name.removesuffix(".toml") for file in files if file.name.endswith(".toml"))


def recipe_text(name: str) -> str:
    """The TOML text of a built-in recipe, or of a file."""
    path = Path(name)
    if path.suffix == ".toml":
        if not path.is_file():
            raise UserError(f"no recipe file at {name}; built-in recipes are: {choices(recipe_names())}")
        try:
            return path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise UserError(f"{name} is not UTF-8 at byte {error.start}; save the file as UTF-8") from error
    if name not in recipe_names():
        raise UserError(
            f"unknown recipe {name!r}; choose one of: {choices(recipe_names())}, or give a file that ends in .toml"
        )
    return (resources.files("lingvis.recipes") / f"{name}.toml").read_text(encoding="utf-8")


def load_recipe(name: str, overrides: Sequence[str] = ()) -> Recipe:
    """A recipe with overrides, checked down to every part's options before any data is touched."""
    return parse_recipe(recipe_text(name), overrides, origin=f"recipe {name}", check=parts_problems)


def parts_problems(values: Mapping[str, Any]) -> list[str]:
    """Everything wrong with the parts of a recipe."""
    parts: dict[str, Registry[Any]] = {
        "image.augment": IMAGE_AUGMENTS,
        "image.encoder": IMAGE_ENCODERS,
        "image.pooling": POOLERS,
        "text.tokenizer": TOKENIZERS,
        "text.augment": TEXT_AUGMENTS,
        "text.words": WORDS,
        "text.encoder": TEXT_ENCODERS,
        "text.pooling": POOLERS,
        "similarity": SIMILARITIES,
        "objective": OBJECTIVES,
    }
    problems = []
    for where, registry in parts.items():
        provided = (*PROVIDED, "dim") if registry is POOLERS else PROVIDED
        problems += part_problems(where, values, registry, provided=provided)
    if not problems:
        image, text = (lookup(values, f"{side}.encoder.dim") for side in ("image", "text"))
        if None not in (image, text) and image != text:
            problems.append(f"image.encoder.dim is {image} but text.encoder.dim is {text}; make them equal")
    return problems


def build_tokenizer(recipe: Recipe) -> Tokenizer:
    """The tokenizer, neither fitted nor loaded yet."""
    made: Tokenizer = _make(TOKENIZERS, recipe.text.tokenizer)
    return made


def build_objective(recipe: Recipe) -> nn.Module:
    """The training objective."""
    made: nn.Module = _make(OBJECTIVES, recipe.objective)
    return made


def build_model(
    recipe: Recipe, *, feature_dim: int, vocabulary: Vocabulary, folder: Path | None = None
) -> DualEncoder:
    """The dual encoder; weights are drawn from the recipe's seed, or replaced from `folder` by the caller."""
    torch.manual_seed(recipe.training.seed)
    image, text = recipe.image, recipe.text
    image_encoder = _make(IMAGE_ENCODERS, image.encoder, input_dim=feature_dim)
    words = _make(WORDS, text.words, vocabulary=vocabulary, folder=folder)
    text_encoder = _make(TEXT_ENCODERS, text.encoder, input_dim=words.dim)
    return DualEncoder(
        image=ImageSide(
            augment=_make(IMAGE_AUGMENTS, image.augment),
            encoder=image_encoder,
            pooling=_make(POOLERS, image.pooling, dim=image_encoder.dim),
        ),
        text=TextSide(
            augment=_make(TEXT_AUGMENTS, text.augment, vocabulary=vocabulary),
            words=words,
            encoder=text_encoder,
            pooling=_make(POOLERS, text.pooling, dim=text_encoder.dim),
        ),
        similarity=_make(SIMILARITIES, recipe.similarity),
    )


def _make(registry: Registry[Any], part: Part, **provided: Any) -> Any:
    factory = registry.get(part.name)
    return factory(**part.options, **accepted(factory, provided))

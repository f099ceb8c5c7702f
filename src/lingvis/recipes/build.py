"""The only place that turns a recipe into objects."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import torch
from torch import nn

from lingvis.config import Part, Recipe, accepted, parse_recipe, part_problems, problems_sentence
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
        return path.read_text(encoding="utf-8")
    if name not in recipe_names():
        raise UserError(
            f"unknown recipe {name!r}; choose one of: {choices(recipe_names())}, or give a file that ends in .toml"
        )
    return (resources.files("lingvis.recipes") / f"{name}.toml").read_text(encoding="utf-8")


def load_recipe(name: str, overrides: Sequence[str] = ()) -> Recipe:
    """A recipe with overrides, checked down to every part's options before any data is touched."""
    recipe = parse_recipe(recipe_text(name), overrides, origin=f"recipe {name}")
    problems = recipe_problems(recipe)
    if problems:
        raise UserError(problems_sentence(f"recipe {name}", problems))
    return recipe


def recipe_problems(recipe: Recipe) -> list[str]:
    """Everything wrong with the parts of a recipe."""
    parts: list[tuple[str, Part, Registry[Any]]] = [
        ("image.augment", recipe.image.augment, IMAGE_AUGMENTS),
        ("image.encoder", recipe.image.encoder, IMAGE_ENCODERS),
        ("image.pooling", recipe.image.pooling, POOLERS),
        ("text.tokenizer", recipe.text.tokenizer, TOKENIZERS),
        ("text.augment", recipe.text.augment, TEXT_AUGMENTS),
        ("text.words", recipe.text.words, WORDS),
        ("text.encoder", recipe.text.encoder, TEXT_ENCODERS),
        ("text.pooling", recipe.text.pooling, POOLERS),
        ("similarity", recipe.similarity, SIMILARITIES),
        ("objective", recipe.objective, OBJECTIVES),
    ]
    problems = [
        problem
        for where, part, registry in parts
        for problem in part_problems(
            where, part, registry, provided=(*PROVIDED, *(("dim",) if registry is POOLERS else ()))
        )
    ]
    dims = recipe.image.encoder.options.get("dim"), recipe.text.encoder.options.get("dim")
    if not problems and dims[0] != dims[1]:
        problems.append(f"image.encoder.dim is {dims[0]} but text.encoder.dim is {dims[1]}; make them equal")
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

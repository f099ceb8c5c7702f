"""The only place that turns a recipe into objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch
from torch import nn

from lingvis.config import Part, Recipe, accepted, lookup, parse_recipe, part_problems
from lingvis.errors import UserError, choices
from lingvis.image.augment import IMAGE_AUGMENTS
from lingvis.image.encoders import IMAGE_ENCODERS
from lingvis.model import DualEncoder, ImageSide, TextSide
from lingvis.objectives import OBJECTIVES, TERMS
from lingvis.pooling import POOLERS
from lingvis.registry import Registry
from lingvis.similarity.measures import SIMILARITIES
from lingvis.text import (  # noqa: F401  (importing a module registers its parts)
    characters,
    composed,
    hybrid,
    language_words,
    ngrams,
    per_language,
    transformer,
    universal,
)
from lingvis.text.augment import TEXT_AUGMENTS
from lingvis.text.encoders import TEXT_ENCODERS
from lingvis.text.heads import TEXT_HEADS
from lingvis.text.tokenizers import TOKENIZERS, Tokenizer, Vocabulary
from lingvis.text.words import WORDS
from lingvis.training.pretraining import PRETRAINING, Pretraining
from lingvis.training.sampling import SAMPLERS, CaptionTable, Sampler

# Constructor arguments that come from the data or from the part before, never from a recipe.
PROVIDED = (
    "input_dim",
    "vocabulary",
    "folder",
    "vectors",
    "assignment",
    "language_count",
    "captions",
    "batch_size",
    "objective",
    "word_dim",
    "total_steps",
)


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
        "text.head": TEXT_HEADS,
        "similarity": SIMILARITIES,
        "objective": OBJECTIVES,
        "pretraining": PRETRAINING,
        "training.sampling": SAMPLERS,
    }
    problems = _terms_problems(values)
    for where, registry in parts.items():
        provided = (*PROVIDED, "dim") if registry is POOLERS else PROVIDED
        problems += part_problems(where, values, registry, provided=provided)
    return problems or _disagreements(values)


def _disagreements(values: Mapping[str, Any]) -> list[str]:
    """Values that are right by themselves and do not fit each other."""
    problems = []
    image = lookup(values, "image.encoder.dim")
    text = lookup(values, "text.head.dim") or lookup(values, "text.encoder.dim")
    if None not in (image, text) and image != text:
        problems.append(
            f"image.encoder.dim is {image} but text.encoder.dim (or text.head.dim) is {text}; make them equal"
        )
    wanted = lookup(values, "data.text_only") is True
    share = lookup(values, "training.sampling.text_only") or 0
    if wanted and not share:
        problems.append(
            "data.text_only is true, but no sentence without a picture is sampled; set training.sampling.name = images "
            "with text_only above 0, such as 0.5, or data.text_only = false"
        )
    if share and not wanted:
        problems.append(
            f"training.sampling.text_only is {share}, but data.text_only is false; set data.text_only = true, or "
            "training.sampling.text_only = 0"
        )
    return problems


def _terms_problems(values: Mapping[str, Any]) -> list[str]:
    """Everything wrong with the terms; those that compare sentences have an objective of their own."""
    problems = []
    for name, term in (lookup(values, "terms") or {}).items():
        where = f"terms.{name}"
        problems += part_problems(
            where, values, TERMS, provided=(*PROVIDED, "dim"), ignored=("weight", "objective")
        )
        problems += part_problems(f"{where}.objective", values, OBJECTIVES, provided=PROVIDED)
        known = isinstance(term, dict) and term.get("name") in TERMS
        if known and ("objective" in term) != (
            "objective" in accepted(TERMS.get(term["name"]), {"objective": 0})
        ):
            instead = "gives none and needs one" if "objective" not in term else "has none; leave it out"
            problems.append(f"{where}.objective: term {term['name']} {instead}")
    return problems


def build_tokenizer(recipe: Recipe) -> Tokenizer:
    """The tokenizer, neither fitted nor loaded yet."""
    made: Tokenizer = _make(TOKENIZERS, recipe.text.tokenizer)
    return made


def build_objective(recipe: Recipe) -> nn.Module:
    """The training objective."""
    made: nn.Module = _make(OBJECTIVES, recipe.objective)
    return made


def build_terms(
    recipe: Recipe, model: DualEncoder, *, languages: int, total_steps: int
) -> dict[str, tuple[float, nn.Module]]:
    """The terms of the loss beside the objective, with their weights."""
    built = {}
    for name, term in recipe.terms.items():
        options = term.options
        inner = options.pop("objective", None)
        made = _make(
            TERMS,
            Part(name=term.name, **options),
            objective=None if inner is None else _make(OBJECTIVES, Part(**inner)),
            word_dim=model.text.words.dim,
            dim=model.text.head.dim,
            language_count=languages,
            total_steps=total_steps,
        )
        built[name] = (term.weight, made)
    return built


def build_sampler(recipe: Recipe, captions: CaptionTable) -> Sampler:
    """Which captions meet in a batch."""
    made: Sampler = _make(
        SAMPLERS, recipe.training.sampling, captions=captions, batch_size=recipe.training.batch_size
    )
    return made


def build_pretraining(recipe: Recipe) -> Pretraining:
    """What the words learn before the model is trained."""
    made: Pretraining = _make(PRETRAINING, recipe.pretraining)
    return made


def build_model(
    recipe: Recipe,
    *,
    feature_dim: int,
    vocabulary: Vocabulary,
    languages: int = 1,
    folder: Path | None = None,
    start: Mapping[str, Any] = MappingProxyType({}),
) -> DualEncoder:
    """The dual encoder; weights are drawn from the recipe's seed, or replaced from `folder` by the caller.

    start: what the words start from in training, such as word vectors, by the name of the constructor argument.
    """
    torch.manual_seed(recipe.training.seed)
    image, text = recipe.image, recipe.text
    image_encoder = _make(IMAGE_ENCODERS, image.encoder, input_dim=feature_dim)
    words = _make(WORDS, text.words, vocabulary=vocabulary, folder=folder, **start)
    text_encoder = _make(TEXT_ENCODERS, text.encoder, input_dim=words.dim, language_count=languages)
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
            head=_make(TEXT_HEADS, text.head, input_dim=text_encoder.dim),
        ),
        similarity=_make(SIMILARITIES, recipe.similarity),
    )


def _make(registry: Registry[Any], part: Part, **provided: Any) -> Any:
    factory = registry.get(part.name)
    return factory(**part.options, **accepted(factory, provided))

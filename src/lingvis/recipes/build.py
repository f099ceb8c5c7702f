"""The only place that turns a recipe into objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from lingvis.config import Part, Recipe, accepted, parse_recipe
from lingvis.errors import UserError, choices
from lingvis.image.augment import IMAGE_AUGMENTS
from lingvis.image.encoders import IMAGE_ENCODERS
from lingvis.model import DualEncoder, ImageSide, TextSide
from lingvis.objectives import OBJECTIVES, TERMS
from lingvis.pooling import POOLERS
from lingvis.recipes.check import parts_problems
from lingvis.registry import Registry
from lingvis.similarity.measures import SIMILARITIES
from lingvis.text.augment import TEXT_AUGMENTS
from lingvis.text.encoders import TEXT_ENCODERS
from lingvis.text.heads import TEXT_HEADS
from lingvis.text.tokenizers import TOKENIZERS, Tokenizer, Vocabulary
from lingvis.text.words import WORDS
from lingvis.training.pretraining import PRETRAINING, Pretraining
from lingvis.training.pseudo import PseudoCaptions
from lingvis.training.sampling import SAMPLERS, CaptionTable, Sampler


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


def build_pseudo(
    recipe: Recipe, groups: NDArray[np.int64], texts: Sequence[str], *, first: int
) -> PseudoCaptions | None:
    """The captions of detectors, from number `first` of all sentences on; None where there are none."""
    if first == len(texts):
        return None
    _, wordings = np.unique(np.asarray(texts[first:]), return_inverse=True)
    return PseudoCaptions(
        first, groups[first:], wordings, recipe.pseudo.weight, _make(OBJECTIVES, recipe.pseudo.objective)
    )


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
    # In this order: it decides which random numbers each part starts from.
    image_pooling = _make(POOLERS, image.pooling, dim=image_encoder.dim)
    text_pooling = _make(POOLERS, text.pooling, dim=text_encoder.dim)
    width = getattr(text_pooling, "dim", text_encoder.dim)  # several heads side by side widen a vector
    return DualEncoder(
        image=ImageSide(
            augment=_make(IMAGE_AUGMENTS, image.augment),
            encoder=image_encoder,
            pooling=image_pooling,
        ),
        text=TextSide(
            augment=_make(TEXT_AUGMENTS, text.augment, vocabulary=vocabulary),
            words=words,
            encoder=text_encoder,
            pooling=text_pooling,
            head=_make(TEXT_HEADS, text.head, input_dim=width, language_count=languages),
            special=vocabulary.special,
        ),
        similarity=_make(SIMILARITIES, recipe.similarity),
    )


def _make(registry: Registry[Any], part: Part, **provided: Any) -> Any:
    factory = registry.get(part.name)
    return factory(**part.options, **accepted(factory, provided))

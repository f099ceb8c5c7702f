"""The sections of a recipe -> the objects of a model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import torch

from lingvis.image.augment import IMAGE_AUGMENTS
from lingvis.image.backbones import IMAGE_BACKBONES
from lingvis.image.classes import IMAGE_CLASSES
from lingvis.image.encoders import IMAGE_ENCODERS
from lingvis.image.pixels import PIXEL_AUGMENTS
from lingvis.model.dual_encoder import DualEncoder, ImageSide, TextSide
from lingvis.pooling import POOLERS
from lingvis.recipes.options import PROVIDED, accepted, part_problems
from lingvis.recipes.schema import ModelRecipe, Part
from lingvis.registry import Registry
from lingvis.similarity import SIMILARITIES
from lingvis.text.augment import TEXT_AUGMENTS
from lingvis.text.encoders import TEXT_ENCODERS
from lingvis.text.heads import TEXT_HEADS
from lingvis.text.tokenizers import TOKENIZERS, Tokenizer, Vocabulary
from lingvis.text.words import WORDS

T = TypeVar("T")

# The parts that a model is built from, by their place in a recipe.
MODEL_PARTS: dict[str, Registry[Any]] = {
    "image.pixels": PIXEL_AUGMENTS,
    "image.backbone": IMAGE_BACKBONES,
    "image.augment": IMAGE_AUGMENTS,
    "image.encoder": IMAGE_ENCODERS,
    "image.pooling": POOLERS,
    "image.classes": IMAGE_CLASSES,
    "text.tokenizer": TOKENIZERS,
    "text.augment": TEXT_AUGMENTS,
    "text.words": WORDS,
    "text.encoder": TEXT_ENCODERS,
    "text.pooling": POOLERS,
    "text.head": TEXT_HEADS,
    "similarity": SIMILARITIES,
}


def model_problems(values: Mapping[str, Any]) -> list[str]:
    """All problems with the model parts in a recipe's values, one sentence each."""
    problems = []
    for where, registry in MODEL_PARTS.items():
        provided = (*PROVIDED, "dim") if registry in (POOLERS, IMAGE_CLASSES) else PROVIDED
        problems += part_problems(where, values, registry, provided=provided)
    return problems


def build_tokenizer(recipe: ModelRecipe) -> Tokenizer:
    """The tokenizer, not yet fitted or loaded."""
    return make_part(TOKENIZERS, recipe.text.tokenizer)


def build_model(
    recipe: ModelRecipe,
    *,
    feature_dim: int,
    vocabulary: Vocabulary,
    seed: int,
    languages: int = 1,
    folder: Path | None = None,
    start: Mapping[str, Any] = MappingProxyType({}),
) -> DualEncoder:
    """The dual encoder with weights drawn from `seed`.

    languages: the number of languages it is trained on.
    folder: the model folder if a trained model is loaded; the caller replaces the weights.
    start: initial values of the words, such as word vectors, by the name of the constructor argument.
    """
    torch.manual_seed(seed)
    image, text = recipe.image, recipe.text
    backbone = make_part(IMAGE_BACKBONES, image.backbone, input_dim=feature_dim, folder=folder)
    image_encoder = make_part(IMAGE_ENCODERS, image.encoder, input_dim=backbone.dim)
    words = make_part(WORDS, text.words, vocabulary=vocabulary, folder=folder, **start)
    text_encoder = make_part(TEXT_ENCODERS, text.encoder, input_dim=words.dim, language_count=languages)
    # The order of construction decides which random numbers each part starts from.
    image_pooling = make_part(POOLERS, image.pooling, dim=image_encoder.dim)
    text_pooling = make_part(POOLERS, text.pooling, dim=text_encoder.dim)
    width = text_pooling.output_dim(text_encoder.dim)
    text_head = make_part(TEXT_HEADS, text.head, input_dim=width, language_count=languages)
    image_dim = image_pooling.output_dim(image_encoder.dim)
    return DualEncoder(
        image=ImageSide(
            backbone=backbone,
            augment=make_part(IMAGE_AUGMENTS, image.augment),
            encoder=image_encoder,
            pooling=image_pooling,
            classes=make_part(IMAGE_CLASSES, image.classes, dim=image_dim, classifier=backbone.classifier),
        ),
        text=TextSide(
            augment=make_part(TEXT_AUGMENTS, text.augment, vocabulary=vocabulary),
            words=words,
            encoder=text_encoder,
            pooling=text_pooling,
            head=text_head,
            special=vocabulary.special,
        ),
        similarity=make_part(SIMILARITIES, recipe.similarity, input_dim=image_dim),
    )


def make_part(registry: Registry[type[T]], part: Part, **provided: Any) -> T:
    """Build the part that a recipe names, from its options and the `provided` values that its constructor takes."""
    factory = registry.get(part.name)
    return factory(**part.options, **accepted(factory, provided))

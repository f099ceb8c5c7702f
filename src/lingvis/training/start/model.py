"""The trained model that a run starts from: weights of its parts, and the word space that a map targets."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from lingvis.arrays import Floats
from lingvis.data.dataset import Dataset
from lingvis.errors import UserError
from lingvis.features.store import FeatureStore
from lingvis.model.dual_encoder import DualEncoder
from lingvis.model.embedder import Embedder
from lingvis.model.folder import ModelConfig
from lingvis.model.stored import check_features
from lingvis.pretrained import find_model
from lingvis.recipes.read import part_override
from lingvis.recipes.schema import Recipe
from lingvis.text.alignment import induce_dictionary, parallel_words
from lingvis.text.alignment.fit import MapMethod, check_pairs, check_sizes, dictionary_pairs, fit_pairs
from lingvis.text.dictionaries import read_dictionary
from lingvis.text.tokenizers.base import Vocabulary
from lingvis.text.vectors.table import WordTable
from lingvis.text.words.mapped import FITTED, MappedWords
from lingvis.training.loop.optimizer import covers


def open_source(recipe: Recipe, store: FeatureStore) -> Embedder | None:
    """Open the model that a recipe starts from; raises if its image side is copied but needs other features."""
    if not recipe.start.run:
        return None
    source = Embedder.load(recipe.start.run, device="cpu")
    if any(part.split(".")[0] == "image" for part in recipe.start.parts):
        check_features(source, store)
    if recipe.teacher.name == "start":
        _check_image_section(recipe)
    return source


def _check_image_section(recipe: Recipe) -> None:
    """Raise unless the recipe has the image side and the similarity of its teacher; augmentation may differ."""
    teacher = ModelConfig.read(find_model(recipe.start.run)).model
    own = dict(recipe.image)
    changes = [
        part_override(f"image.{key}", part)
        for key, part in teacher.image
        if part != own[key] and key not in ("pixels", "augment")
    ]
    if teacher.similarity != recipe.similarity:
        changes.append(part_override("similarity", teacher.similarity))
    if changes:
        raise UserError(
            f"the image side of teacher {recipe.start.run} differs from this recipe; add: "
            f"{' '.join(shlex.quote(change) for change in changes)}"
        )


def check_dims(model: DualEncoder, teacher: int | None) -> None:
    """Raise unless pictures, sentences and the teacher's embeddings, if any, have equally many values."""
    if not model.similarity.pooled:
        return
    if model.image.dim != model.text.head.dim:
        raise UserError(
            f"a sentence has {model.text.head.dim} values, but the pictures have {model.image.dim}; set "
            f"text.head.name=linear and text.head.dim={model.image.dim}"
        )
    if teacher is not None and teacher != model.dim:
        raise UserError(
            f"the teacher's embeddings have {teacher} values, but those of the model have {model.dim}; give both the "
            "same size; a teacher with short embeddings needs similarity among start.parts"
        )


def check_image_weights(model: DualEncoder, parts: Sequence[str]) -> None:
    """Raise if a run without pictures would keep random weights on the image side; parts: copied from another model."""
    for name, _ in model.named_parameters():
        if covers("image", name) and not any(covers(part, name) for part in ("image.backbone", *parts)):
            raise UserError(
                f"no term compares pictures, so {name} would keep its random values; copy the image side of a model "
                'with start.run=FOLDER and start.parts=["image"], or choose image parts without weights '
                "(image.encoder.name=none, image.pooling.name=mean)"
            )


def take_parts(model: DualEncoder, source: Embedder, parts: Sequence[str]) -> None:
    """Copy the weights and buffers below some name prefixes; raises unless both models have the same ones."""
    own_weights, source_weights = model.state_dict(), source.model.state_dict()
    copied: dict[str, Tensor] = {}
    for part in parts:
        targets, sources = _under(part, own_weights), _under(part, source_weights)
        if not targets and part not in dict(model.named_modules()):  # a part may have no weights
            prefixes = sorted({".".join(name.split(".")[:2]) for name in own_weights})
            raise UserError(
                f"start.parts names {part!r}, which no weight of this recipe has; parts are: {', '.join(prefixes)}"
            )
        if targets.keys() != sources.keys():
            name = sorted(targets.keys() ^ sources.keys())[0]
            which = "this recipe" if name in targets else f"model {source.name}"
            raise UserError(
                f"start.parts names {part!r}, but only {which} has {name}; "
                "choose parts that are equal in both, or leave it out"
            )
        for name, tensor in sources.items():
            if tensor.shape != targets[name].shape:
                sizes = [" x ".join(map(str, each.shape)) for each in (targets[name], tensor)]
                raise UserError(
                    f"start.parts names {part!r}, but {name} is {sizes[0]} in this recipe and {sizes[1]} in model "
                    f"{source.name}; give both the same sizes"
                )
        copied |= sources
    model.load_state_dict(copied, strict=False)


def _under(part: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor for name, tensor in tensors.items() if covers(part, name)}


def fit_translator(
    recipe: Recipe,
    dataset: Dataset,
    source: Embedder,
    vocabulary: Vocabulary,
    vectors: Floats,
    device: torch.device,
) -> dict[str, Floats]:
    """The map of the new language's prepared vectors into the words of the source model, if the recipe has one.

    matrix [dim, dim] is scaled so that mapped words have unit length on average, like the words that the
    source's encoder was trained on: RCSLS leaves an arbitrary length that depends on its number of steps.
    """
    options = recipe.text.words.options
    method: MapMethod = options.get("map", "none")
    if method not in FITTED:
        return {}
    space, langs = source.model.text.words, (*vocabulary.languages, *source.languages)
    if not isinstance(space, MappedWords) or len(langs) != 2:
        raise UserError(
            f"text.words.map = {method} maps one language into the words of a model of one other language with text.words "
            f"mapped, but data.languages are {', '.join(vocabulary.languages)} and model {source.name} is of "
            f"{', '.join(source.languages)}; train one with recipe translator_fs"
        )
    words = WordTable(list(vocabulary.own_words), vectors[len(vocabulary.special) :])
    source_words = WordTable(list(space.words), space.table())
    check_sizes(words, source_words)
    if options.get("dictionary"):
        dictionary = read_dictionary(Path(options["dictionary"]))
    else:
        dictionary = induce_dictionary(parallel_words(dataset, *langs))
    pairs = dictionary_pairs(words, source_words, dictionary)
    check_pairs(pairs, words.values.shape[1])
    matrix = fit_pairs(method, words.values, source_words.values, pairs, device=str(device)).matrix
    lengths = np.linalg.norm(words.values @ matrix.T, axis=1)
    return {"matrix": matrix / lengths[lengths > 0].mean()}

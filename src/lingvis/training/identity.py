"""The identity of a run: everything that must be the same for it to be resumed."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from lingvis.data.dataset import Dataset
from lingvis.errors import UserError
from lingvis.features.store import FeatureStore
from lingvis.files import checksum
from lingvis.model.build import make_part
from lingvis.recipes.schema import Recipe
from lingvis.text.dictionaries import read_dictionary
from lingvis.text.vectors.store import VECTORS, WordVectors
from lingvis.text.words.mapped import FITTED
from lingvis.training.digests import model_digests
from lingvis.training.sources import PSEUDO_SOURCES, PseudoSource


def run_identity(recipe: Recipe, dataset: Dataset, store: FeatureStore) -> str:
    """A digest of recipe, captions, features, word vectors, pseudo captions and the model that the run starts from."""
    parts: list[Any] = [recipe.model_dump(), dataset.fingerprint, store.manifest.checksums]
    if recipe.data.vectors:
        parts.append(WordVectors.open(dataset.path / VECTORS / recipe.data.vectors).manifest.model_dump())
    fitted = recipe.text.words.options.get("map") in FITTED
    induced = fitted and not recipe.text.words.options.get("dictionary")
    if (recipe.data.text_only or induced) and dataset.text_only_file is not None:
        parts.append(checksum(dataset.text_only_file))
    parts += _start(recipe, fitted=fitted)
    if recipe.data.annotated:
        parts.append(checksum(Path(recipe.data.annotated)))
    source: PseudoSource = make_part(PSEUDO_SOURCES, recipe.pseudo)
    parts += source.digests(dataset)
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _start(recipe: Recipe, *, fitted: bool) -> list[str]:
    """Checksums of the start model of a run and of the dictionary that fits its map."""
    if not recipe.start.run:
        if recipe.start.parts or fitted:
            copied = ", ".join(recipe.start.parts) or "the words that text.words.map leads to"
            teacher = recipe.teacher.name == "start"
            advice = (
                "name the teacher's model folder:"
                if teacher
                else "train one with recipe translator_fs and add"
            )
            raise UserError(
                f"recipe {recipe.name} takes {copied} from another model, but start.run names none; "
                f"{advice} start.run=FOLDER"
            )
        return []
    digests = model_digests(recipe.start.run)
    dictionary = recipe.text.words.options.get("dictionary")
    if dictionary:
        read_dictionary(Path(dictionary))
        digests.append(checksum(Path(dictionary)))
    return digests

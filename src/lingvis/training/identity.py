"""What must be the same for a run to be resumed."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from lingvis.data.dataset import Dataset
from lingvis.data.detections import FILE, REGIONS
from lingvis.errors import UserError
from lingvis.features.store import FeatureStore
from lingvis.files import checksum
from lingvis.model.folder import CONFIG, WEIGHTS, read_config
from lingvis.pseudo.labels import LABELS
from lingvis.recipes.schema import Recipe
from lingvis.text.dictionaries import read_dictionary
from lingvis.text.vectors.store import VECTORS, WordVectors
from lingvis.text.words.mapped import FITTED


def run_identity(recipe: Recipe, dataset: Dataset, store: FeatureStore) -> str:
    """A digest of recipe, captions, features, word vectors and the model that the run begins with."""
    parts: list[Any] = [recipe.model_dump(), dataset.fingerprint, store.manifest.checksums]
    if recipe.data.vectors:
        parts.append(WordVectors.open(dataset.path / VECTORS / recipe.data.vectors).manifest.model_dump())
    fitted = recipe.text.words.options.get("map") in FITTED
    induced = fitted and not recipe.text.words.options.get("dictionary")
    if (recipe.data.text_only or induced) and dataset.text_only_file is not None:
        parts.append(checksum(dataset.text_only_file))
    parts += _source(recipe, fitted=fitted)
    if recipe.data.annotated:
        parts.append(checksum(Path(recipe.data.annotated)))
    if recipe.pseudo.weight and recipe.pseudo.teachers:
        parts += [digest for run in recipe.pseudo.teachers for digest in _model(Path(run))]
    elif recipe.pseudo.weight:
        folder = dataset.detections_dir / (recipe.pseudo.detections or REGIONS)
        files = [folder / FILE, *sorted((dataset.path / LABELS).glob("*.csv"))]
        parts += [checksum(file) for file in files if file.is_file()]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _source(recipe: Recipe, *, fitted: bool) -> list[str]:
    """Checksums of the model that a run begins with, and of the dictionary that its map is fitted to."""
    if not recipe.start.run:
        if recipe.start.parts or fitted:
            wanted = ", ".join(recipe.start.parts) or "the words that text.words.map leads to"
            raise UserError(
                f"recipe {recipe.name} takes {wanted} from another model, but start.run names none; "
                "train one with recipe translator_fs and add start.run=FOLDER"
            )
        return []
    found = _model(Path(recipe.start.run))
    dictionary = recipe.text.words.options.get("dictionary")
    if dictionary:
        read_dictionary(Path(dictionary))
        found.append(checksum(Path(dictionary)))
    return found


def _model(run: Path) -> list[str]:
    """Checksums of a model folder."""
    read_config(run)  # says in a sentence what is wrong with a folder that is no model
    if not (run / WEIGHTS).is_file():
        raise UserError(f"model {run} lacks its {WEIGHTS}; get the folder again, or name another model")
    return [checksum(run / name) for name in (CONFIG, WEIGHTS)]

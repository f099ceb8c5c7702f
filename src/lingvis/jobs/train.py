"""The job of training: recipe + dataset -> model folder."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tomli_w
import torch

from lingvis import __version__
from lingvis.artifact import is_artifact, write_artifact
from lingvis.config import Recipe
from lingvis.data.dataset import Dataset
from lingvis.device import choose_device, choose_precision
from lingvis.embedder import Embedder
from lingvis.errors import UserError
from lingvis.evaluation.evaluate import evaluate
from lingvis.features.description import describe_features
from lingvis.features.store import FeatureStore, without_broken
from lingvis.files import write_json, write_text
from lingvis.hardware import processor_name
from lingvis.image.table import FeatureTable
from lingvis.jobs.card import model_card
from lingvis.recipes.build import build_model, build_objective, build_tokenizer, load_recipe
from lingvis.stored import StoredEmbedder
from lingvis.text.bank import TokenBank
from lingvis.training.batches import batch_count
from lingvis.training.checkpoint import FILE as CHECKPOINT
from lingvis.training.checkpoint import TrainingState
from lingvis.training.loop import Plan, fit
from lingvis.training.optimizer import make_optimizer, make_schedule
from lingvis.training.task import RetrievalTask

MARK = "run.json"  # tells a folder of an unfinished run from one of the user's


def train(
    recipe_name: str,
    dataset_path: Path,
    out: Path,
    *,
    overrides: Sequence[str] = (),
    resume: bool = False,
    device: str | None = None,
) -> dict[str, Any]:
    """Train a recipe on a dataset, write the model that is best on validation to `out`, return its config."""
    recipe = load_recipe(recipe_name, overrides)
    where = choose_device(device)
    _check_out(out, resume)
    dataset, store = open_with_features(dataset_path, recipe.data.features)
    embedder, task = prepare(recipe, dataset, store, out.resolve().name, where)
    stored = StoredEmbedder(embedder, store)

    def validate() -> dict[str, Any]:
        return evaluate([stored], dataset, split="val", languages=embedder.languages)

    out.mkdir(parents=True, exist_ok=True)
    identity = _identity(recipe, dataset, store)
    write_json(out / MARK, {"lingvis": __version__, "recipe": recipe.name, "identity": identity})
    plan = Plan(**{field.name: getattr(recipe.training, field.name) for field in dataclasses.fields(Plan)})
    optimizer = make_optimizer(embedder.model, **recipe.optimizer.model_dump())
    schedule = make_schedule(
        **recipe.schedule.model_dump(),
        lr=recipe.optimizer.lr,
        total_epochs=plan.epochs,
        steps_per_epoch=batch_count(len(task.lengths), plan.batch_size),
    )
    state = fit(
        task=task,
        optimizer=optimizer,
        schedule=schedule,
        plan=plan,
        validate=validate,
        folder=out,
        identity=identity,
        resume=resume,
    )
    embedder.model.load_state_dict(state.best, strict=True)
    return _finish(out, recipe, dataset, embedder, state)


def open_with_features(dataset_path: Path, name: str) -> tuple[Dataset, FeatureStore]:
    """A dataset and its stored features; images whose picture was broken at extraction are left out, aloud."""
    dataset = Dataset.open(dataset_path)
    store = FeatureStore.open(dataset.features_dir / name)
    return without_broken(dataset, [store]), store


def _check_out(out: Path, resume: bool) -> None:
    if is_artifact(out):
        raise UserError(f"{out} holds a finished model already; choose another --out, or delete that folder")
    if not resume and (out / CHECKPOINT).exists():
        raise UserError(
            f"{out} holds an unfinished run; go on with --resume, or delete that folder to start anew"
        )
    if out.exists() and not out.is_dir():
        raise UserError(f"{out} is a file; --out names the folder to make")
    if out.is_dir() and any(out.iterdir()) and not (out / MARK).exists():
        raise UserError(
            f"{out} is not empty and holds no run; choose another --out, nothing there was touched"
        )


def prepare(
    recipe: Recipe, dataset: Dataset, store: FeatureStore, name: str, device: torch.device
) -> tuple[Embedder, RetrievalTask]:
    """Everything that a step touches, on the device."""
    languages = recipe.data.languages or dataset.languages
    captions = dataset.captions("train", languages)
    dataset.captions("val", languages)  # missing validation captions are found now, not after an epoch
    tokenizer = build_tokenizer(recipe)
    tokenizer.fit(captions.texts, captions.langs)
    embedder = Embedder(
        name=name,
        model=build_model(recipe, feature_dim=store.dim, vocabulary=tokenizer.vocabulary).to(device),
        tokenizer=tokenizer,
        features=describe_features(store),
        languages=languages,
        device=device,
    )
    task = RetrievalTask(
        model=embedder.model,
        objective=build_objective(recipe),
        captions=TokenBank(tokenizer=tokenizer, texts=captions.texts, langs=captions.langs, device=device),
        pictures=FeatureTable(
            values=store.values, offsets=store.offsets, rows=store.index(captions.images), device=device
        ),
        image_of=captions.image_of,
        precision=choose_precision(recipe.training.precision, device),
        graphs=recipe.training.graphs,
    )
    return embedder, task


def _identity(recipe: Recipe, dataset: Dataset, store: FeatureStore) -> str:
    """What must be the same for a run to be resumed: recipe, captions and features."""
    parts = [recipe.model_dump(), dataset.fingerprint, store.manifest.checksums]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _finish(
    out: Path, recipe: Recipe, dataset: Dataset, embedder: Embedder, state: TrainingState
) -> dict[str, Any]:
    """Write the model folder and drop the checkpoint."""
    write_text(out / "recipe.toml", tomli_w.dumps(recipe.model_dump()))
    embedder.tokenizer.save(out)
    words = embedder.model.text.words
    if hasattr(words, "save"):
        words.save(out)  # type: ignore[operator]
    cuda = embedder.device.type == "cuda"
    config = {
        "lingvis": __version__,
        "name": out.resolve().name,
        "recipe": recipe.model_dump(),
        "features": embedder.features,
        "languages": embedder.languages,
        "parameters": embedder.parameters,
        "image_fingerprint": embedder.model.image_fingerprint(),
        "dataset": {"name": dataset.path.resolve().name, "sha256": dataset.fingerprint},
        "training": {
            "steps": state.step,
            "seconds": round(state.seconds, 1),
            "best_epoch": state.best_epoch,
            "validation_mR": state.best_score,
            "device": torch.cuda.get_device_name(embedder.device) if cuda else processor_name(),
            "torch": torch.__version__,
        },
    }
    write_artifact(out, config=config, tensors=embedder.model.state_dict(), card=model_card(config))
    for file in (CHECKPOINT, MARK):
        (out / file).unlink(missing_ok=True)
    return config

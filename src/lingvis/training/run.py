"""The job of training: recipe + dataset -> model folder."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tomli_w
import torch

from lingvis import __version__
from lingvis.data.dataset import Dataset
from lingvis.device import choose_device, choose_precision
from lingvis.errors import UserError
from lingvis.evaluation.evaluate import evaluate
from lingvis.features.description import describe_features
from lingvis.features.store import FeatureStore, without_broken
from lingvis.files import write_json, write_text
from lingvis.hardware import processor_name
from lingvis.image.table import FeatureTable
from lingvis.model.build import build_model, build_tokenizer
from lingvis.model.card import model_card
from lingvis.model.embedder import Embedder
from lingvis.model.folder import is_artifact, write_artifact
from lingvis.model.stored import StoredEmbedder
from lingvis.recipes.schema import Recipe
from lingvis.text.bank import TokenBank
from lingvis.training.build import (
    build_objective,
    build_pretraining,
    build_pseudo,
    build_sampler,
    build_terms,
    load_recipe,
)
from lingvis.training.identity import run_identity
from lingvis.training.lessons import Lessons, find_lessons
from lingvis.training.loop.checkpoint import FILE as CHECKPOINT
from lingvis.training.loop.checkpoint import TrainingState, check_checkpoint, load_checkpoint
from lingvis.training.loop.fit import TrainingPlan, fit
from lingvis.training.loop.optimizer import make_optimizer, make_schedule
from lingvis.training.loop.task import Validation
from lingvis.training.pretraining import PretrainingData
from lingvis.training.pseudo import PseudoCaptions, WithPseudo
from lingvis.training.sampling import CaptionTable, Sampler
from lingvis.training.source import fit_translator, open_source, take_parts
from lingvis.training.start import (
    ASSIGNMENT,
    kept_assignment,
    stored_vectors,
    vocabulary_sentences,
    words_start,
)
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
    identity = run_identity(recipe, dataset, store)
    if resume:
        check_checkpoint(out, identity)
    out.mkdir(parents=True, exist_ok=True)
    write_json(out / MARK, {"lingvis": __version__, "recipe": recipe.name, "identity": identity})
    if not resume:
        (out / ASSIGNMENT).unlink(missing_ok=True)
    embedder, task, sampler = prepare(recipe, dataset, store, out, where)
    stored = StoredEmbedder(embedder, store)

    def validate() -> Validation:
        return Validation.from_report(evaluate([stored], dataset, split="val", languages=embedder.languages))

    plan = TrainingPlan(
        **{field.name: getattr(recipe.training, field.name) for field in dataclasses.fields(TrainingPlan)}
    )
    optimizer = make_optimizer(task.trained, **recipe.optimizer.model_dump())
    schedule = make_schedule(
        **recipe.schedule.model_dump(),
        lr=recipe.optimizer.lr,
        total_epochs=plan.epochs,
        steps_per_epoch=sampler.batch_count(),
    )
    state = fit(
        task=task,
        sampler=sampler,
        optimizer=optimizer,
        schedule=schedule,
        plan=plan,
        state=load_checkpoint(out, identity, task, optimizer) if resume else TrainingState(identity),
        validate=validate,
        folder=out,
    )
    embedder.model.load_state_dict(state.best, strict=True)
    trained = sum(parameter.numel() for parameter in task.trained.values() if parameter.requires_grad)
    return _finish(out, recipe, dataset, embedder, state, trained=trained)


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
    recipe: Recipe, dataset: Dataset, store: FeatureStore, out: Path, device: torch.device
) -> tuple[Embedder, RetrievalTask, Sampler]:
    """Everything that a step touches, on the device."""
    languages = recipe.data.languages or dataset.languages
    lessons = find_lessons(recipe, dataset, languages, device)
    dataset.captions("val", languages)  # missing validation captions are found now, not after an epoch
    tokenizer = build_tokenizer(recipe)
    tokenizer.fit(*vocabulary_sentences(recipe, dataset, lessons))
    bank = TokenBank(
        tokenizer=tokenizer, texts=lessons.texts, langs=lessons.langs, languages=languages, device=device
    )
    people = slice(lessons.pseudo)
    table = CaptionTable(
        lessons.groups[people], bank.langs[people], bank.rows.lengths[people], len(lessons.images)
    )
    vectors = stored_vectors(recipe, dataset, tokenizer.vocabulary)
    material = PretrainingData(
        bank=bank,
        vocabulary=tokenizer.vocabulary,
        table=table,
        vectors=vectors,
        dim=recipe.text.words.options.get("dim", 0),
        seed=recipe.training.seed,
        device=device,
    )
    pretraining = build_pretraining(recipe)
    start = words_start(recipe, tokenizer.vocabulary, vectors)
    assignment = kept_assignment(out, lambda: pretraining.assign(material))
    if assignment is not None:
        start["assignment"] = assignment
    fresh = not (out / CHECKPOINT).exists()  # a checkpoint has all weights
    source = open_source(recipe, store) if fresh else None
    if source is not None and vectors is not None:
        start |= fit_translator(recipe, dataset, source, tokenizer.vocabulary, vectors, device)
    model = build_model(
        recipe,
        feature_dim=store.dim,
        vocabulary=tokenizer.vocabulary,
        languages=len(languages),
        start=start,
    ).to(device)
    if source is not None:
        take_parts(model, source, recipe.start.parts)
    if fresh:
        pretraining.warm_up(model.text.words, material)
    sampler = build_sampler(recipe, table)
    pseudo = _pseudo(recipe, lessons, device)
    if pseudo is not None:
        sampler = WithPseudo(sampler, pseudo, bank.langs[lessons.pseudo :], recipe.training.batch_size)
    terms = build_terms(
        recipe,
        model,
        languages=len(languages),
        total_steps=recipe.training.epochs * sampler.batch_count(),
    )
    embedder = Embedder(
        name=out.resolve().name,
        model=model,
        tokenizer=tokenizer,
        features=describe_features(store),
        languages=languages,
        device=device,
    )
    task = RetrievalTask(
        model=model,
        objective=build_objective(recipe),
        terms=terms,
        captions=bank,
        mask_id=tokenizer.vocabulary.mask,
        pictures=FeatureTable(
            values=store.values, offsets=store.offsets, rows=store.index(lessons.images), device=device
        ),
        groups=lessons.groups,
        pseudo=pseudo,
        precision=choose_precision(recipe.training.precision, device),
        languages_apart=recipe.training.languages_apart,
        graphs=recipe.training.graphs,
    ).to(device)
    return embedder, task, sampler


def _pseudo(recipe: Recipe, lessons: Lessons, device: torch.device) -> PseudoCaptions | None:
    """The captions of detectors, or those that teachers found."""
    captions = build_pseudo(recipe, lessons.groups, lessons.texts, first=lessons.pseudo)
    taught = lessons.taught
    if captions is None or taught is None:
        return captions
    return captions.taught_by(taught.images, taught.texts, taught.rows, device)


def _finish(
    out: Path,
    recipe: Recipe,
    dataset: Dataset,
    embedder: Embedder,
    state: TrainingState,
    *,
    trained: int,
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
        "parameters": {**embedder.parameters, "training": trained},
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
    for file in (CHECKPOINT, MARK, ASSIGNMENT):
        (out / file).unlink(missing_ok=True)
    return config

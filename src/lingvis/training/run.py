"""`lingvis train`: a recipe and a dataset -> a model folder."""

from __future__ import annotations

import contextlib
import dataclasses
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w
import torch

from lingvis import __version__
from lingvis.data.dataset import Dataset
from lingvis.errors import UserError, check_list
from lingvis.evaluation.evaluate import evaluate_models
from lingvis.features.store import FeatureStore, without_broken
from lingvis.files import write_json, write_text
from lingvis.hardware import processor_name
from lingvis.lock import exclusive
from lingvis.model.card import model_card
from lingvis.model.embedder import Embedder
from lingvis.model.folder import CHECKPOINT, DatasetReference, ModelConfig, TrainingSummary, is_model_folder
from lingvis.model.stored import StoredImages
from lingvis.model.weights import write_model_folder
from lingvis.processes.exchange import first_process_first, from_first
from lingvis.processes.group import joined, process_number
from lingvis.progress import note
from lingvis.recipes.schema import Recipe
from lingvis.training.build import build_weight
from lingvis.training.identity import run_identity
from lingvis.training.loop.checkpoint import TrainingState, check_checkpoint, load_checkpoint
from lingvis.training.loop.fit import TrainingPlan, fit
from lingvis.training.loop.optimizer import make_optimizer, make_schedule
from lingvis.training.loop.task import Validation
from lingvis.training.prepare import prepare
from lingvis.training.start.words import ASSIGNMENT
from lingvis.training.validate import load_recipe
from lingvis.types import Clock

MARK = "run.json"  # distinguishes the folder of an unfinished run from other folders of the user
LOCK = "lock"


@dataclass(frozen=True, slots=True)
class TrainedModel:
    """A finished run: the model folder, its description, and the model, ready to encode."""

    path: Path
    config: ModelConfig
    embedder: Embedder


def train(
    recipe: str | Path | Recipe,
    dataset: str | Path | Dataset,
    out: str | Path,
    *,
    overrides: Sequence[str] = (),
    resume: bool = False,
    device: str | None = None,
) -> TrainedModel:
    """Train a recipe on a dataset and write the model that is best on validation to the folder `out`.

    recipe: the name of a shipped recipe, a TOML file, or a recipe that was read before. dataset: a dataset folder with
    the features that the recipe names. overrides: a list of changed values such as "training.epochs=5", for a recipe by
    name or file. resume: continue an interrupted run in `out`. device: cpu or cuda; a GPU is used when there is one.

    Processes that were started together, by torchrun for example, train one model: see docs/guide/training.md.
    """
    check_list("overrides", overrides, "changes")
    with joined(device) as on_device, contextlib.ExitStack() as stack:
        with first_process_first():
            if not isinstance(recipe, Recipe):
                recipe = load_recipe(str(recipe), overrides)
            elif overrides:
                raise UserError(
                    "overrides are for a recipe by name or file; got a Recipe object, which is complete"
                )
            folder = stack.enter_context(_own_folder(Path(out)))
            _check_out(folder, resume)
            opened, store = open_with_features(dataset, recipe.data.features)
            identity = run_identity(recipe, opened, store)
            if resume:
                check_checkpoint(folder, identity)
            folder.mkdir(parents=True, exist_ok=True)
            busy = f"another process is training in {folder}; wait until it has finished, or choose another folder"
            stack.enter_context(exclusive(folder / LOCK, busy, remove=True))
            _check_out(folder, resume)  # again: another process may have finished meanwhile
        trained = _train(recipe, opened, store, folder, identity, resume=resume, device=on_device)
        return dataclasses.replace(trained, path=Path(out))


@contextlib.contextmanager
def _own_folder(out: Path) -> Iterator[Path]:
    """The folder of the run; for all processes but the first a temporary one, which begins with the same checkpoint."""
    if not process_number():
        yield out
        return
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / out.resolve().name
        folder.mkdir()
        for name in (CHECKPOINT, MARK, ASSIGNMENT):
            if (out / name).is_file():
                shutil.copyfile(out / name, folder / name)
        yield folder


def _train(
    recipe: Recipe,
    opened: Dataset,
    store: FeatureStore,
    folder: Path,
    identity: str,
    *,
    resume: bool,
    device: torch.device,
) -> TrainedModel:
    """Train in a folder that this process has locked."""
    write_json(folder / MARK, {"lingvis": __version__, "recipe": recipe.name, "identity": identity})
    if not resume:
        (folder / ASSIGNMENT).unlink(missing_ok=True)
    run = prepare(recipe, opened, store, folder, device)
    stored = StoredImages(run.embedder, store)
    pictures = [row.image for row in opened.rows if row.split == "train"]
    run.embedder.model.similarity.check_pictures(len(pictures))

    def measure() -> dict[str, Any]:
        report = evaluate_models([stored], opened, split="val", languages=run.embedder.languages)
        return dataclasses.asdict(Validation.from_report(report))

    def validate() -> Validation:
        return Validation(**from_first(measure))

    plan = TrainingPlan(
        **{field.name: getattr(recipe.training, field.name) for field in dataclasses.fields(TrainingPlan)}
    )
    if process_number():  # the first one writes them
        plan = dataclasses.replace(plan, checkpoint_seconds=float("inf"))
    optimizer = make_optimizer(run.task.trained, **recipe.optimizer.model_dump())
    schedule = make_schedule(
        **recipe.schedule.model_dump(),
        lr=recipe.optimizer.lr,
        total_epochs=plan.epochs,
        steps_per_epoch=run.sampler.batch_count(),
    )
    state = fit(
        task=run.task,
        sampler=run.sampler,
        optimizer=optimizer,
        schedule=schedule,
        plan=plan,
        state=load_checkpoint(folder, identity, run.task, optimizer) if resume else TrainingState(identity),
        validate=validate,
        folder=folder,
    )
    last = Clock(state.step, state.epoch - 1, state.learning_since)
    idle = [
        f"terms.{name}"
        for name, part in recipe.terms.items()
        if part.weight and not build_weight(part).at(last)
    ]
    if idle:
        lasted = "the whole training" if state.learning_since is None else f"{state.learning_since} epochs"
        note(
            f"{', '.join(idle)} had no weight in {state.epoch} epochs: the plateau at the beginning, where the matching "
            f"loss is near that of a model that maps everything to one point, lasted {lasted}; train longer "
            "(training.epochs)"
        )
    run.embedder.model.load_state_dict(state.best, strict=True)
    run.embedder.model.eval()
    whole = run.embedder.dim
    run.embedder.model.similarity.finish(lambda: torch.from_numpy(stored.encode(pictures)).to(device))
    if run.embedder.dim != whole or plan.selection_epochs > 1:
        state.best_score = validate().score
    trained = sum(parameter.numel() for parameter in run.task.trained.values() if parameter.requires_grad)
    config = _finish(folder, recipe, opened, run.embedder, state, trained=trained)
    return TrainedModel(folder, config, run.embedder)


def open_with_features(dataset: str | Path | Dataset, name: str) -> tuple[Dataset, FeatureStore]:
    """A dataset and its stored features; pictures that were broken at extraction are skipped with a warning."""
    opened = dataset if isinstance(dataset, Dataset) else Dataset.open(Path(dataset))
    store = FeatureStore.open(opened.features_dir / name)
    return without_broken(opened, [store]), store


def _check_out(out: Path, resume: bool) -> None:
    if is_model_folder(out):
        raise UserError(f"{out} already holds a finished model; choose another folder, or delete it")
    if not resume and (out / CHECKPOINT).exists():
        raise UserError(
            f"{out} holds an unfinished run; continue it with `resume`, or delete the folder to start again"
        )
    if out.exists() and not out.is_dir():
        raise UserError(f"{out} is a file; name a folder for the new model")
    if out.is_dir() and {file.name for file in out.iterdir()} - {LOCK} and not (out / MARK).exists():
        raise UserError(
            f"{out} is not empty and holds no run; choose another folder (nothing in it was changed)"
        )


def _finish(
    out: Path,
    recipe: Recipe,
    dataset: Dataset,
    embedder: Embedder,
    state: TrainingState,
    *,
    trained: int,
) -> ModelConfig:
    """Write the model folder and drop the checkpoint."""
    write_text(out / "recipe.toml", tomli_w.dumps(recipe.model_dump()))
    cuda = embedder.device.type == "cuda"
    config = ModelConfig(
        name=out.resolve().name,
        languages=embedder.languages,
        features=embedder.features,
        model=recipe.model,
        recipe=recipe.model_dump(),
        parameters={**embedder.parameters, "training": trained},
        image_fingerprint=embedder.model.image_fingerprint(),
        dataset=DatasetReference(name=dataset.path.resolve().name, sha256=dataset.fingerprint),
        training=TrainingSummary(
            steps=state.step,
            seconds=round(state.seconds, 1),
            best_epoch=state.best_epoch,
            validation_mR=state.best_score,
            device=torch.cuda.get_device_name(embedder.device) if cuda else processor_name(),
            torch=torch.__version__,
        ),
    )
    write_model_folder(
        out,
        config=config,
        model=embedder.model,
        tokenizer=embedder.tokenizer,
        card=model_card(config, recipe),
    )
    for file in (CHECKPOINT, MARK, ASSIGNMENT):
        (out / file).unlink(missing_ok=True)
    return config

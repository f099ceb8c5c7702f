"""The whole path on the built-in data: scenes -> features -> model -> numbers -> a collection to search. Offline."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lingvis.collection.collection import Collection
from lingvis.data.scenes import make_scenes
from lingvis.demo.check import check_server
from lingvis.demo.collection import fill, gather
from lingvis.demo.questions import ask, example_questions
from lingvis.demo.server import serving
from lingvis.evaluation.run import evaluate_runs
from lingvis.features.extract import extract
from lingvis.hardware import describe_hardware
from lingvis.model.folder import is_model_folder
from lingvis.training.loop.checkpoint import FILE as CHECKPOINT
from lingvis.training.run import train
from lingvis.training.validate import load_recipe

RECIPE = "demo"
PAGE = Path("page", "index.html")  # below the demo's folder, like the others
PICTURES, COLLECTION = Path("unseen"), Path("scenes.lv")


def run_demo(
    out: Path, *, scenes: int = 3000, device: str | None = None, check: bool = False
) -> dict[str, Any]:
    """Do every step whose result is not there yet; returns the test report, with the seconds of each step.

    check: serve the collection for a moment, and compare what the server answers with the collection itself.
    """
    recipe = load_recipe(RECIPE)
    run, collection = out / "model", out / COLLECTION
    seconds: dict[str, float] = {}
    with _step("scenes", seconds):
        dataset = make_scenes(out / "scenes", scenes=scenes)
    with _step("features", seconds):
        extract(dataset, kind=recipe.data.features.rsplit("-", 1)[1], device=device)
    if not is_model_folder(run):
        with _step("train", seconds):
            train(RECIPE, dataset.path, run, resume=(run / CHECKPOINT).exists(), device=device)
    with _step("evaluate", seconds):
        report = evaluate_runs([run], dataset.path, page=out / PAGE, device=device)
    with _step("index", seconds):
        gather(dataset, out / PICTURES)
        indexed = fill(collection, out / PICTURES, run, device=device)
    with _step("search", seconds):
        opened = Collection.open(collection, device=device)
        questions = example_questions(dataset)
        report["collection"] = {"pictures": indexed.pictures, "added": indexed.added}
        report["questions"] = [ask(opened, question, out / PICTURES) for question in questions]
    if check:
        with _step("check", seconds), serving(collection, device=device) as port:
            report["checked"] = check_server(port, opened, [question.text for question in questions])
    return {**report, "seconds": seconds, "hardware": describe_hardware()}


@contextlib.contextmanager
def _step(name: str, seconds: dict[str, float]) -> Iterator[None]:
    """Say what is being done, and note how long it took."""
    print(f"demo: {name} ...", file=sys.stderr, flush=True)
    start = time.monotonic()
    yield
    seconds[name] = round(time.monotonic() - start, 1)
    print(f"demo: {name} done in {seconds[name]:.0f} s", file=sys.stderr, flush=True)

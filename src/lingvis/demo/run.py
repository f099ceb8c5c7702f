"""The whole path on the built-in data, offline.

Photographs -> a collection by lingvis-base -> searches; then scenes -> features -> a model -> numbers -> a collection.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lingvis.collection.collection import Collection
from lingvis.data.scenes import make_scenes
from lingvis.demo.check import check_server
from lingvis.demo.collection import fill, gather
from lingvis.demo.photographs import search_photographs
from lingvis.demo.queries import example_queries, run_query
from lingvis.demo.server import serving
from lingvis.evaluation.result import Report
from lingvis.evaluation.run import evaluate
from lingvis.features.extract import extract
from lingvis.hardware import describe_hardware
from lingvis.model.folder import CHECKPOINT, is_model_folder
from lingvis.printing import print_line
from lingvis.training.run import train
from lingvis.training.validate import load_recipe

RECIPE = "demo"
PAGE = Path("page", "index.html")  # in the demo's folder, like the other paths
PICTURES, COLLECTION = Path("unseen"), Path("scenes.lv")
PHOTOGRAPHS, PHOTOGRAPH_COLLECTION = Path("photographs"), Path("photographs.lv")


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoReport:
    """The results of the demo's steps; checked: names of the passed checks, empty without a check.

    photographs: their number and the results of searches; the other fields are of the scenes.
    """

    photographs: dict[str, Any]
    evaluation: Report
    collection: dict[str, int]
    questions: list[dict[str, Any]]
    checked: list[str]
    seconds: dict[str, float]

    def as_json(self) -> dict[str, Any]:
        """The report of the evaluation as JSON values, with the results of the other steps."""
        return {
            **self.evaluation.as_json(),
            "photographs": self.photographs,
            "collection": self.collection,
            "queries": self.questions,
            **({"checked": self.checked} if self.checked else {}),
            "seconds": self.seconds,
            "hardware": describe_hardware(),
        }


def run_demo(out: Path, *, scenes: int = 3000, device: str | None = None, check: bool = False) -> DemoReport:
    """Run every step without an existing result; returns the test report, with the seconds per step.

    check: start a server briefly and compare its answers with the collection.
    """
    recipe = load_recipe(RECIPE)
    run, collection = out / "model", out / COLLECTION
    seconds: dict[str, float] = {}
    with _step("photographs", seconds):
        photographs = search_photographs(out / PHOTOGRAPHS, out / PHOTOGRAPH_COLLECTION, device=device)
    with _step("scenes", seconds):
        dataset = make_scenes(out / "scenes", scenes=scenes)
    with _step("features", seconds):
        extract(dataset, kind=recipe.data.features.rsplit("-", 1)[1], device=device)
    if not is_model_folder(run):
        with _step("train", seconds):
            train(RECIPE, dataset.path, run, resume=(run / CHECKPOINT).exists(), device=device)
    with _step("evaluate", seconds):
        measured = evaluate(run, dataset.path, page=out / PAGE, device=device)
    with _step("index", seconds):
        gather(dataset, out / PICTURES)
        indexed = fill(collection, out / PICTURES, run, device=device)
    with _step("search", seconds):
        opened = Collection.open(collection, device=device)
        queries = example_queries(dataset)
        answers = [run_query(opened, query, out / PICTURES) for query in queries]
    checked = []
    if check:
        with _step("check", seconds), serving(collection, device=device) as port:
            checked = check_server(port, opened, [query.text for query in queries])
    return DemoReport(
        photographs=photographs,
        evaluation=measured,
        collection={"pictures": indexed.pictures, "added": indexed.added},
        questions=answers,
        checked=checked,
        seconds=seconds,
    )


@contextlib.contextmanager
def _step(name: str, seconds: dict[str, float]) -> Iterator[None]:
    """Print the name of a step, and record how long it took."""
    print_line(f"demo: {name} ...", stderr=True)
    start = time.monotonic()
    yield
    seconds[name] = round(time.monotonic() - start, 1)
    print_line(f"demo: {name} done in {seconds[name]:.0f} s", stderr=True)

"""The whole path on the built-in data: scenes -> features -> model -> numbers and a page. Offline."""

from __future__ import annotations

import contextlib
import functools
import http.server
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lingvis.artifact import is_artifact
from lingvis.data.scenes import make_scenes
from lingvis.features.extract import extract
from lingvis.hardware import describe_hardware
from lingvis.jobs.evaluate import evaluate_runs
from lingvis.jobs.train import train
from lingvis.recipes.build import load_recipe
from lingvis.training.checkpoint import FILE as CHECKPOINT

RECIPE = "demo"


def run_demo(out: Path, *, scenes: int = 3000, device: str | None = None) -> dict[str, Any]:
    """Do every step whose result is not there yet; returns the test report, with the seconds of each step."""
    recipe = load_recipe(RECIPE)
    run = out / "model"
    seconds: dict[str, float] = {}
    with _step("scenes", seconds):
        dataset = make_scenes(out / "scenes", scenes=scenes)
    with _step("features", seconds):
        extract(dataset, kind=recipe.data.features.rsplit("-", 1)[1], device=device)
    if not is_artifact(run):
        with _step("train", seconds):
            train(RECIPE, dataset.path, run, resume=(run / CHECKPOINT).exists(), device=device)
    with _step("evaluate", seconds):
        report = evaluate_runs([run], dataset.path, page=out / "page" / "index.html", device=device)
    return {**report, "seconds": seconds, "hardware": describe_hardware()}


def serve_page(folder: Path, port: int = 8000) -> None:
    """Show a folder at a local address until Ctrl-C; another port is taken when this one is in use."""
    handler = functools.partial(_Quiet, directory=str(folder))
    try:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", port), handler)
    except OSError:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    with server:
        print(f"open http://127.0.0.1:{server.server_address[1]}/ in a browser; Ctrl-C ends", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Requests are not worth a line each."""


@contextlib.contextmanager
def _step(name: str, seconds: dict[str, float]) -> Iterator[None]:
    """Say what is being done, and note how long it took."""
    print(f"demo: {name} ...", file=sys.stderr, flush=True)
    start = time.monotonic()
    yield
    seconds[name] = round(time.monotonic() - start, 1)
    print(f"demo: {name} done in {seconds[name]:.0f} s", file=sys.stderr, flush=True)

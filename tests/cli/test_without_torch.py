"""Processes without torch, LanceDB and pyarrow, and without the packages of other extras: index, search and serve, or
one sentence."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path

import numpy as np
import pytest

from lingvis.extras import EXTRAS
from lingvis.model.embedder import Embedder
from studies.licences import extras, packages

from ..collection.conftest import make_pictures
from ..model.live_model import make_live_model
from ..serve.conftest import serving

STORED = Path(__file__).parents[1] / "stored" / "0.1.0"
BLOCKER = """
import importlib.util, sys
BLOCKED = {blocked!r}
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name.partition(".")[0] in BLOCKED else find(name, *rest)
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Blocker())
"""
# Names of packages that a search from the command line may not load, whatever is installed.
HEAVY = ("torch", "lancedb", "pyarrow", "matplotlib", "onnx", "fastapi", "transformers", "scipy")


def block(folder: Path, *names: str) -> dict[str, str]:
    """An environment in which these packages cannot be imported; the module runs when Python starts."""
    folder.mkdir(exist_ok=True)
    (folder / "sitecustomize.py").write_text(BLOCKER.format(blocked=names))
    return {**os.environ, "PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"}


def lingvis(env: dict[str, str], *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "lingvis", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=env, timeout=240)


@pytest.fixture(scope="module")
def no_torch(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return block(tmp_path_factory.mktemp("blocker"), "torch", "lancedb", "pyarrow")


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return make_pictures(tmp_path_factory.mktemp("photos"), 3)


@pytest.fixture(scope="module")
def collection(no_torch: dict[str, str], photos: list[Path]) -> Path:
    """A collection that a process without torch has filled with the shipped model."""
    made = photos[0].parent.parent / "photos.lv"
    done = lingvis(no_torch, "index", made, photos[0].parent)
    assert done.returncode == 0, done.stderr
    assert "3 pictures; 3 added" in done.stdout
    return made


def test_search_gives_the_scores_of_torch(
    no_torch: dict[str, str], collection: Path, photos: list[Path]
) -> None:
    done = lingvis(no_torch, "search", collection, "ein Hund", "--lang", "de", "--json")
    hits = {Path(hit["path"]).name: hit["score"] for hit in json.loads(done.stdout)}
    model = Embedder.load(device="cpu")
    scores = model.encode_images(photos) @ model.encode_texts(["ein Hund"], "de")[0]
    np.testing.assert_allclose([hits[photo.name] for photo in photos], scores, atol=1e-3)
    by_picture = lingvis(no_torch, "search", collection, "--image", photos[1], "--json")
    assert json.loads(by_picture.stdout)[0]["path"] == str(photos[1].resolve())


def test_serve_answers(
    no_torch: dict[str, str], collection: Path, photos: list[Path], tmp_path: Path
) -> None:
    with (
        serving(str(collection), env=no_torch, log=tmp_path / "log.txt") as (port, _),
        urllib.request.urlopen(f"http://127.0.0.1:{port}/api/search?q=a+dog&lang=en", timeout=60) as answer,
    ):
        hits = json.load(answer)["hits"]
    assert {hit["path"] for hit in hits} == {str(photo.resolve()) for photo in photos}


def test_a_search_loads_no_more_than_it_needs(collection: Path) -> None:
    script = f"""
import sys
from lingvis.cli import main
main(["search", {str(collection)!r}, "a dog", "--lang", "en"])
print([name for name in {HEAVY} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"


def test_python_loads_the_shipped_model(no_torch: dict[str, str], photos: list[Path]) -> None:
    script = f"""
import lingvis
model = lingvis.load()
print(type(model).__name__, model.encode_images([{str(photos[0])!r}]).shape == (1, model.dim))
try:
    lingvis.train
except Exception as error:
    print(type(error).__name__, error)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=no_torch, timeout=240
    )
    assert done.stdout.splitlines() == [
        "OnnxEmbedder True",
        "UserError this needs torch, which is not installed; run: pip install 'lingvis[train]'",
    ]


def test_a_model_without_graphs_is_one_sentence(
    no_torch: dict[str, str], photos: list[Path], collection: Path, tmp_path: Path
) -> None:
    run = make_live_model(tmp_path / "run")
    done = lingvis(no_torch, "index", tmp_path / "new.lv", photos[0].parent, "--model", run)
    assert done.returncode == 2
    assert done.stderr == (
        f"lingvis: {run} has no graphs for onnxruntime, and torch is not installed; run: pip install 'lingvis[train]', "
        f"or where torch is installed, run: lingvis export {run}\n"
    )
    done = lingvis(no_torch, "search", collection, "a dog", "--device", "cuda")
    assert done.stderr == (
        "lingvis: device cuda needs torch, and torch is not installed; run: pip install 'lingvis[train]', or leave the "
        "device out\n"
    )


@pytest.mark.parametrize(
    ("command", "package"),
    [
        (["serve", "new.lv"], "starlette"),
        (["train", "start", "DATASET", "--out", "run"], "torch"),
        (["evaluate", "DATASET"], "torch"),
        (["export", "run", "out"], "torch"),
    ],
)
def test_without_any_extra_a_command_names_the_one_it_needs(
    command: list[str], package: str, tmp_path: Path
) -> None:
    env = block(tmp_path / "blocker", *EXTRAS)
    done = subprocess.run(
        [sys.executable, "-m", "lingvis", *command],
        capture_output=True,
        text=True,
        env=env,
        cwd=tmp_path,
        timeout=120,
    )
    sentence = f"this needs {package}, which is not installed; run: pip install 'lingvis[{EXTRAS[package]}]'"
    assert (done.returncode, done.stderr) == (2, f"lingvis: {sentence}\n")


def test_a_collection_on_lancedb_names_its_extra(
    no_torch: dict[str, str], photos: list[Path], tmp_path: Path
) -> None:
    sentence = "needs LanceDB, which is not installed; run: pip install 'lingvis[lance]'"
    done = lingvis(no_torch, "search", STORED / "collection.lv", "a dog")
    assert (done.returncode, done.stderr) == (
        2,
        f"lingvis: collection {STORED / 'collection.lv'} {sentence}\n",
    )
    done = lingvis(no_torch, "index", tmp_path / "new.lv", photos[0].parent, "--engine", "lance")
    assert (done.returncode, done.stderr) == (2, f"lingvis: collection {tmp_path / 'new.lv'} {sentence}\n")
    assert not (tmp_path / "new.lv").exists()
    assert {"lancedb", "pyarrow"} <= set(packages(extras()["lance"])) - set(packages(extras()["photos"]))


def test_without_any_extra_indexing_names_the_one_it_needs(tmp_path: Path) -> None:
    done = lingvis(block(tmp_path / "blocker", *EXTRAS), "index", tmp_path / "new.lv", tmp_path)
    sentence = "an exported model needs onnxruntime; run: pip install 'lingvis[onnx]'"
    assert (done.returncode, done.stderr) == (2, f"lingvis: {sentence}\n")


def test_each_extra_installs_its_packages() -> None:
    requirements = extras()
    for package, extra in EXTRAS.items():
        assert package.replace("_", "-") in packages(requirements[extra]), package

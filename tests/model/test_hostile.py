"""Model folders of strangers: no code, no hub, no memory beyond their weights, no way out of the folder."""

from __future__ import annotations

import json
import math
import os
import resource
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from lingvis.errors import UserError
from lingvis.features.backbones.hub import without_hub
from lingvis.model.embedder import Embedder
from lingvis.training.run import train

from ..collection.conftest import make_model

# Beside that of torch alone, which is larger with CUDA libraries.
MEMORY = 4 << 30
LOAD = f"""
import resource, sys
from pathlib import Path
import torch, lingvis
pages = int(Path("/proc/self/statm").read_text().split()[0])
limit = pages * resource.getpagesize() + {MEMORY}
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
lingvis.load(sys.argv[1], device="cpu")
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("made") / "model")


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "model")
    return tmp_path / "model"


def edit(file: Path, change: Callable[[Any], object]) -> None:
    value = json.loads(file.read_text(encoding="utf-8"))
    change(value)
    file.write_text(json.dumps(value), encoding="utf-8")


def load_apart(run: Path, **variables: str) -> str:
    """Load in a process with little memory; returns its last line of errors."""
    done = subprocess.run(
        [sys.executable, "-c", LOAD, str(run)],
        capture_output=True,
        text=True,
        timeout=120,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", **variables},
    )
    return done.stderr.strip().splitlines()[-1] if done.returncode else ""


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_weights_that_are_no_numbers(run: Path, value: float) -> None:
    tensors = load_file(run / "model.safetensors")
    name = sorted(tensors)[3]
    tensors[name].view(-1)[-1] = value
    save_file(tensors, run / "model.safetensors")
    with pytest.raises(
        UserError, match=rf"{name} has a value that is not a finite number\); restore the file"
    ):
        Embedder.load(run)


@pytest.mark.parametrize(
    ("place", "key", "size"),
    [("image.encoder", "dim", 900_000), ("text.words", "dim", 1_000_000), ("features", "dim", 10**12)],
)
def test_sizes_beyond_the_weights_allocate_nothing(run: Path, place: str, key: str, size: int) -> None:
    def change(config: Any) -> None:
        section = config if place == "features" else config["model"]
        for part in place.split("."):
            section = section[part]
        section[key] = size

    edit(run / "config.json", change)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(
        UserError, match=r"config\.json is damaged \(it describes a model that is much larger"
    ):
        Embedder.load(run)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000  # KB


def test_names_that_leave_the_folder(run: Path) -> None:
    edit(run / "config.json", lambda config: config["features"].update(name="../../x"))
    with pytest.raises(UserError, match=r"'\.\./\.\./x' is not the name of a folder"):
        Embedder.load(run)
    edit(run / "config.json", lambda config: config["features"].update(name="x"))
    edit(run / "config.json", lambda config: config.update(added=["../../de"]))
    with pytest.raises(UserError, match="bad language code"):
        Embedder.load(run)


class Hub:
    """A hub on loopback that counts who asks."""

    def __init__(self) -> None:
        self.asked = 0
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.variables = {
            "HF_ENDPOINT": f"http://127.0.0.1:{self._socket.getsockname()[1]}",
            "HF_HUB_OFFLINE": "0",
        }
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            connection, _ = self._socket.accept()
            self.asked += 1
            connection.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            connection.close()


def test_an_added_language_never_asks_a_hub(run: Path, tmp_path: Path) -> None:
    """Its words were a transformer by a name on the hub, downloaded as soon as somebody loaded the model."""
    part = {"name": "transformer", "model": "somebody/hostile"}
    language = run / "added" / "cs"
    language.mkdir(parents=True)
    tokenizer = json.loads((run / "config.json").read_text())["model"]["text"]["tokenizer"]
    for file in run.glob("*.json"):
        if file.name != "config.json":
            shutil.copy(file, language)
    config = {"format": 1, "lang": "cs", "tokenizer": tokenizer, "words": part, "like": "en", "route": "x"}
    (language / "config.json").write_text(json.dumps({**config, "data": {}, "numbers": {}}))
    save_file({"a": torch.zeros(1)}, language / "words.safetensors")
    edit(run / "config.json", lambda config: config.update(added=["cs"]))
    hub = Hub()
    error = load_apart(run, **hub.variables, HF_HOME=str(tmp_path / "cache"))
    assert hub.asked == 0
    assert "added/cs/config.json is damaged (there is no folder transformer)" in error


def test_a_transformer_runs_no_code_and_reads_no_other_file(
    toy_dataset: Path, tiny_bert: Path, tmp_path: Path
) -> None:
    small = ["data.features=toy-grid", "image.encoder.dim=8", "image.encoder.hidden=8", "text.encoder.dim=8"]
    bert = [f"text.{part}.model={tiny_bert}" for part in ("tokenizer", "words")]
    run = train(
        "vse_infinity_bert",
        toy_dataset,
        tmp_path / "run",
        overrides=[*small, *bert, "training.epochs=1", "training.batch_size=16"],
        device="cpu",
    ).path
    config = run / "transformer" / "config.json"
    whole = config.read_text()
    ran = tmp_path / "ran"
    (run / "transformer" / "hostile.py").write_text(f"import pathlib\npathlib.Path({str(ran)!r}).touch()\n")
    Embedder.load(run)
    edit(config, lambda value: value.update(model_type="hostile", auto_map={"AutoConfig": "hostile.Config"}))
    with pytest.raises(UserError, match=r"is damaged \(transformer: .*; restore the file or train again"):
        Embedder.load(run)
    assert not ran.exists()
    config.write_text(whole)
    edit(run / "transformer" / "tokenizer_config.json", lambda value: value.update(vocab_file="../../secret"))
    with pytest.raises(UserError, match=r"names the file '\.\./\.\./secret' outside the model folder"):
        Embedder.load(run)
    shutil.rmtree(run / "transformer")
    with pytest.raises(UserError, match="there is no folder transformer"):
        Embedder.load(run)


def test_weights_of_a_backbone_are_not_fetched_for_a_model_folder() -> None:
    hub = Hub()
    code = """
from huggingface_hub import hf_hub_download
from lingvis.errors import UserError
from lingvis.features.backbones.hub import without_hub
for allowed in (False, True):
    try:
        if allowed:
            hf_hub_download("timm/resnet18.a1_in1k", "model.safetensors")
        with without_hub("timm:resnet18"):
            hf_hub_download("timm/resnet18.a1_in1k", "model.safetensors")
    except Exception as error:
        print(type(error).__name__)
    print("between", flush=True)
    input()
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **hub.variables, "HF_HOME": "/nonexistent"},
    )
    assert process.stdout is not None and process.stdin is not None
    assert process.stdout.readline() == "LocalEntryNotFoundError\n"
    assert process.stdout.readline() == "between\n"
    assert hub.asked == 0
    print(file=process.stdin, flush=True)
    process.stdout.readline()
    assert process.stdout.readline() == "between\n"
    assert hub.asked > 0  # the same call without the guard
    process.kill()
    process.communicate()
    with (
        pytest.raises(
            UserError, match=r"^no weights; a model folder fetches nothing.*load_backbone\('timm:x'\)"
        ),
        without_hub("timm:x"),
    ):
        raise UserError("no weights")


def test_damage_is_reported_in_one_line(run: Path) -> None:
    config = json.loads((run / "config.json").read_text())
    config["model"]["image"]["pooling"]["k\0\n"] = 1
    (run / "config.json").write_text(json.dumps(config))
    with pytest.raises(UserError, match="is damaged") as caught:
        Embedder.load(run, device="cpu")
    assert str(caught.value).isprintable()

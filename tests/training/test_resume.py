"""Runs that are killed, stopped or repeated, and their folders."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from lingvis.errors import UserError
from lingvis.model.embedder import Embedder
from lingvis.model.folder import CHECKPOINT
from lingvis.training.loop.log import read_log
from lingvis.training.pretraining import LatentPretraining, UniversalPretraining
from lingvis.training.run import train
from lingvis.training.start.words import ASSIGNMENT

from ..command import lingvis
from .small_runs import REGION, Killed, kill_at, overrides, weights

COMMAND = [sys.executable, "-c", "from lingvis.cli import main; main()"]


def arguments(dataset: Path, run: Path) -> list[str]:
    options = [*REGION, "training.checkpoint_seconds=0", "training.epochs=8"]
    return ["train", "vse_infinity_region", str(dataset), *options, "--out", str(run)]


def start(dataset: Path, run: Path, *more: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [*COMMAND, *arguments(dataset, run), *more]
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)


def wait_for(path: Path, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 60
    while not path.exists():
        assert process.poll() is None, process.stderr.read() if process.stderr else ""
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture(scope="module")
def uninterrupted(toy_dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("whole") / "run"
    process = start(toy_dataset, run)
    assert process.wait() == 0
    return run


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_resumed_run_ends_with_exactly_the_same_weights(
    number: signal.Signals, toy_dataset: Path, uninterrupted: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    process = start(toy_dataset, run)
    wait_for(run / CHECKPOINT, process)
    process.send_signal(number)
    _, errors = process.communicate()
    if number is signal.SIGINT:
        assert process.returncode == 130
        assert "--resume" in errors
    assert not (run / "config.json").exists()
    with pytest.raises(
        UserError, match=r"no finished model .* finish it with: lingvis train \.\.\. --resume"
    ):
        Embedder.load(run)
    lingvis(*arguments(toy_dataset, run), check=2)  # an unfinished run is not overwritten by mistake
    process = start(toy_dataset, run, "--resume")
    assert process.wait() == 0, process.communicate()[1]
    expected = weights(uninterrupted)
    assert all(torch.equal(tensor, expected[name]) for name, tensor in weights(run).items())
    steps = [record["step"] for record in read_log(run) if record["kind"] == "val"]
    assert steps == [record["step"] for record in read_log(uninterrupted) if record["kind"] == "val"]


def test_two_trainings_in_one_folder_exclude_one_another(toy_dataset: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    first = start(toy_dataset, run)
    try:
        wait_for(run / CHECKPOINT, first)
        first.send_signal(signal.SIGSTOP)  # it neither ends nor writes from here on
        checkpoint = (run / CHECKPOINT).read_bytes()
        second = lingvis(*arguments(toy_dataset, run), "--resume", check=2)
        assert second.stderr == (
            f"lingvis: another process is training in {run}; wait until it has finished, or choose another folder\n"
        )
        assert (run / CHECKPOINT).read_bytes() == checkpoint
    finally:
        first.kill()
        first.communicate()
    third = start(toy_dataset, run, "--resume")  # a kill leaves no lock behind
    assert third.wait() == 0, third.communicate()[1]
    assert not (run / "lock").exists()


# Terms, sentences alone and a learned temperature; a latent vocabulary and masked sentences; words that learn
# before the model does.
RESUMED = {
    "lingvis_frozen": ["terms.matching.objective.learned=true", "training.sampling.passes=2"],
    "smalr": [],
    "mule": [],
}


@pytest.mark.parametrize("recipe", RESUMED)
def test_a_killed_run_with_terms_ends_as_if_it_had_not_been(
    recipe: str, rich_dataset: Path, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = [*overrides(recipe, tiny_bert), *RESUMED[recipe], "training.checkpoint_seconds=0"]
    train(recipe, rich_dataset, tmp_path / "whole", overrides=options)
    run, expected = tmp_path / "run", weights(tmp_path / "whole")
    with monkeypatch.context() as patched:
        kill_at(6, patched)
        with pytest.raises(Killed):
            train(recipe, rich_dataset, run, overrides=options)
    latent = (run / ASSIGNMENT).read_bytes() if recipe == "smalr" else b""
    assert (run / ASSIGNMENT).exists() == (recipe == "smalr")
    assert (run / CHECKPOINT).exists()
    with monkeypatch.context() as patched:
        # What was learnt before the training is not learnt again.
        patched.setattr(LatentPretraining, "assign", lambda self, material: pytest.fail("learnt again"))
        patched.setattr(UniversalPretraining, "warm_up", lambda self, words, material: pytest.fail("again"))
        kill_at(7, patched)
        with pytest.raises(Killed):
            train(recipe, rich_dataset, run, overrides=options, resume=True)
        assert not latent or (run / ASSIGNMENT).read_bytes() == latent
    train(recipe, rich_dataset, run, overrides=options, resume=True)
    found = weights(run)
    assert set(found) == set(expected)
    assert all(torch.equal(tensor, expected[name]) for name, tensor in found.items())
    assert [record for record in read_log(run) if record["kind"] == "val"] == [
        record for record in read_log(tmp_path / "whole") if record["kind"] == "val"
    ]


def test_a_latent_vocabulary_of_a_run_that_never_trained_is_not_taken_over(
    rich_dataset: Path, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = overrides("la", tiny_bert)
    with monkeypatch.context() as patched:
        kill_at(0, patched)
        with pytest.raises(Killed):
            train("la", rich_dataset, tmp_path / "run", overrides=[*options, "training.seed=5"])
    assert (tmp_path / "run" / ASSIGNMENT).exists()
    train("la", rich_dataset, tmp_path / "run", overrides=options)
    train("la", rich_dataset, tmp_path / "fresh", overrides=options)
    expected = weights(tmp_path / "fresh")
    assert all(torch.equal(tensor, expected[name]) for name, tensor in weights(tmp_path / "run").items())


def test_a_run_goes_on_with_its_own_data_only(
    rich_dataset: Path, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other captions, word vectors or sentences alone make another run; so does another value."""
    dataset, run = tmp_path / "data", tmp_path / "run"
    shutil.copytree(rich_dataset, dataset)
    text_only = ["data.text_only=true", "training.sampling.text_only=0.5"]
    options = [*overrides("la", tiny_bert), *text_only, "training.checkpoint_seconds=0"]
    with monkeypatch.context() as patched:
        kill_at(2, patched)
        with pytest.raises(Killed):
            train("la", dataset, run, overrides=options)

    def refused(*more: str) -> None:
        with pytest.raises(UserError, match="begun with another recipe, other values or other data"):
            train("la", dataset, run, overrides=[*options, *more], resume=True)

    refused("optimizer.lr=0.1")
    for file, old, new in (
        ("captions.jsonl", b"Katze", b"Tatze"),
        ("captions.jsonl", b"Ein Hund ist rot.", b"Ein kleiner Hund ist ganz rot."),  # more words than before
        ("text-only.jsonl", b"purple", b"violet"),
        ("vectors/captions/manifest.json", b"random", b"borrowed"),
    ):
        content = (dataset / file).read_bytes()
        assert old in content
        (dataset / file).write_bytes(content.replace(old, new))
        refused()
        (dataset / file).write_bytes(content)
    train("la", dataset, run, overrides=options, resume=True)


def test_a_finished_model_is_not_overwritten(toy_dataset: Path, uninterrupted: Path) -> None:
    before = weights(uninterrupted)
    with pytest.raises(UserError, match="already holds a finished model"):
        train("vse_infinity_region", toy_dataset, uninterrupted, overrides=REGION)
    assert all(torch.equal(tensor, before[name]) for name, tensor in weights(uninterrupted).items())


def test_damaged_models_get_a_sentence(uninterrupted: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"

    def copy() -> None:
        shutil.rmtree(run, ignore_errors=True)
        shutil.copytree(uninterrupted, run)

    copy()
    whole = (run / "model.safetensors").read_bytes()
    (run / "model.safetensors").write_bytes(whole[:1000])
    with pytest.raises(UserError, match="cannot be read"):
        Embedder.load(run)
    copy()
    (run / "config.json").write_text("{")
    with pytest.raises(UserError, match="damaged"):
        Embedder.load(run)
    copy()
    config = json.loads((run / "config.json").read_text())
    config["model"]["text"]["encoder"]["bidirectional"] = False
    (run / "config.json").write_text(json.dumps(config))
    with pytest.raises(UserError, match="do not fit its config"):
        Embedder.load(run)
    config["model"]["image"]["encoder"]["dim"] = -5
    (run / "config.json").write_text(json.dumps(config))
    with pytest.raises(UserError, match=r"config\.json is damaged"):
        Embedder.load(run)
    copy()
    for words in ([1, 2], ["red", "red"]):
        (run / "vocabulary.json").write_text(json.dumps({"words": words}))
        with pytest.raises(UserError, match="its words must be strings, each once"):
            Embedder.load(run)
    copy()
    config["format"] = 99
    (run / "config.json").write_text(json.dumps(config))
    with pytest.raises(UserError, match="model format 99"):
        Embedder.load(run)

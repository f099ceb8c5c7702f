"""The command line as a user meets it: exit codes and sentences."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lingvis.evaluation.protocols import PROTOCOLS

from ..command import lingvis

SMALL = [
    "data.features=toy-grid",
    "text.tokenizer.min_count=1",
    "image.encoder.dim=8",
    "text.encoder.dim=8",
    "training.batch_size=16",
    "training.epochs=1",
]


@pytest.fixture(scope="module")
def run(toy_dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "toy"
    done = lingvis("train", "vsepp", toy_dataset, *SMALL, "--out", out, "--json")
    assert json.loads(done.stdout)["recipe"]["name"] == "vsepp"
    return out


def test_evaluate_prints_the_promised_object(run: Path, toy_dataset: Path, tmp_path: Path) -> None:
    page, drawn = tmp_path / "deep" / "page.html", tmp_path / "map.png"
    options = ("--json", "--page", page, "--map", drawn)
    report = json.loads(lingvis("evaluate", run, toy_dataset, *options).stdout)
    assert list(report["languages"]) == ["en"]  # the languages the model knows
    assert report["split"] == "test"
    assert set(report) >= {"model", "dataset", "split", "protocol", "parameters", "languages", "A", "HA"}
    english = report["languages"]["en"]
    assert set(english) >= {"images", "captions", "i2t", "t2i", "mR", "rsum"}
    assert set(english["i2t"]) >= {"R@1", "R@5", "R@10", "median"}
    assert page.read_text().startswith("<!doctype html>")
    assert drawn.read_bytes().startswith(b"\x89PNG")
    other = json.loads(
        lingvis("evaluate", run, toy_dataset, "--json", "--lang", "de", "--split", "val").stdout
    )
    assert list(other["languages"]) == ["de"]
    assert "R@1" in lingvis("evaluate", run, toy_dataset).stdout


def test_an_ensemble_of_a_model_with_itself_changes_nothing(run: Path, toy_dataset: Path) -> None:
    alone = json.loads(lingvis("evaluate", run, toy_dataset, "--json").stdout)
    both = json.loads(lingvis("evaluate", run, toy_dataset, "--json", "--with", run).stdout)
    assert both["languages"] == alone["languages"]
    assert both["parameters"]["total"] == 2 * alone["parameters"]["total"]


def test_data_show_and_recipes(toy_dataset: Path, tmp_path: Path) -> None:
    shown = json.loads(
        lingvis("data", "show", toy_dataset, "--json", "--sheet", tmp_path / "sheet.png").stdout
    )
    assert shown["images"]["total"] == 36
    assert shown["languages"]["en"]["train"]["captions"] == 38
    assert (tmp_path / "sheet.png").read_bytes().startswith(b"\x89PNG")
    assert "toy" in lingvis("data", "show", toy_dataset).stdout
    names = [recipe["name"] for recipe in json.loads(lingvis("recipes", "list", "--json").stdout)]
    assert "vse_infinity_region" in names
    assert 'name = "vsepp"' in lingvis("recipes", "show", "vsepp").stdout


def test_scenes(tmp_path: Path) -> None:
    made = json.loads(lingvis("data", "scenes", tmp_path / "scenes", "--count", "12", "--json").stdout)
    assert made["images"] == 12
    assert len(made["languages"]) == 14
    assert "at least 10" in lingvis("data", "scenes", tmp_path / "few", "--count", "3", check=2).stderr


def test_import_then_import_again(tmp_path: Path, toy_dataset: Path) -> None:
    source = tmp_path / "pictures"
    shutil.copytree(toy_dataset / "images", source)
    for picture in source.iterdir():
        picture.with_suffix(".en.txt").write_text(f"a {picture.stem.replace('-', ' ')}\n")
    first = lingvis("data", "import", "folder", source, tmp_path / "set")
    assert "written, 36 images" in first.stdout
    assert "up to date" in lingvis("data", "import", "folder", source, tmp_path / "set").stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["train", "vsepp", "nowhere", "--out", "x"], "no dataset folder at nowhere"),
        (["train", "vsepp"], "Try: lingvis --help"),
        (["fly"], "Try: lingvis --help"),
        (["evaluate", "nowhere", "DATASET"], "no model folder at nowhere"),
        (["evaluate", "RUN", "DATASET", "--protocol", "mine"], "unknown protocol"),
        (["evaluate", "RUN", "DATASET", "--protocol", "flickr-1k"], "needs 1000 images"),
        (["evaluate", "RUN", "DATASET", "--lang", "fr"], "fr"),
        (["evaluate", "RUN", "DATASET", "--split", "exam"], "'exam'"),
        (["features", "extract", "DATASET", "--backbone", "resnet9000"], "unknown backbone 'resnet9000'"),
        (["features", "extract", "DATASET", "--kind", "round"], "Try: lingvis --help"),
        (["data", "import", "floppy", "x", "y"], "unknown import format 'floppy'"),
        (["data", "show", "nowhere"], "no dataset folder"),
        (["recipes", "show", "vse"], "unknown recipe 'vse'"),
        (["train", "vsepp", "DATASET", "training.wings=2", "--out", "x"], "unknown key training.wings"),
    ],
)
def test_bad_input_gets_one_sentence_and_exit_code_2(
    arguments: list[str], sentence: str, run: Path, toy_dataset: Path, tmp_path: Path
) -> None:
    places = {
        "RUN": str(run),
        "DATASET": str(toy_dataset),
        "x": str(tmp_path / "x"),
        "y": str(tmp_path / "y"),
    }
    done = lingvis(*[places.get(each, each) for each in arguments], check=2)
    assert sentence in done.stderr
    assert done.stderr.startswith("lingvis: ")
    assert not done.stdout


def test_a_full_disk_gets_a_sentence_and_leaves_nothing(toy_dataset: Path, tmp_path: Path) -> None:
    script = (
        "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000)); from lingvis.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "train", "vsepp", toy_dataset, *SMALL, "--out", tmp_path / "run"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert "File too large" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.glob("run/config.json"))
    assert not list(tmp_path.glob("run/model.safetensors*"))


def test_ctrl_c_ends_with_a_sentence(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "studies",
            "pooling",
            "--out",
            tmp_path / "study",
        ],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    deadline = time.monotonic() + 60
    while not (tmp_path / "study").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "stopped" in errors
    assert "Traceback" not in errors


def test_the_help_names_every_protocol() -> None:
    shown = lingvis("evaluate", "--help").stdout
    assert all(name in shown for name in PROTOCOLS)

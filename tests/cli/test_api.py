"""The public Python functions do what the commands do, with paths as text or Path, or opened objects."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import lingvis
from lingvis.cli import main
from lingvis.errors import UserError

from ..conftest import FEATURES

SMALL = [
    f"data.features={FEATURES}",
    "text.tokenizer.min_count=1",
    "image.encoder.dim=8",
    "text.encoder.dim=8",
    "training.batch_size=16",
    "training.epochs=1",
]


@pytest.fixture(scope="module")
def run(toy_dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("api") / "run"
    lingvis.train("vsepp", toy_dataset, out, overrides=SMALL)
    return out


def test_evaluate_takes_folders_and_opened_objects(
    run: Path, toy_dataset: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = lingvis.evaluate(str(run), str(toy_dataset))
    english = report.languages["en"]
    assert (report.model, report.split, english.zero_shot) == ("run", "test", False)
    six = [direction[f"R@{k}"] for direction in (english.i2t, english.t2i) for k in (1, 5, 10)]
    assert english.mR == pytest.approx(sum(six) / 6) == report.A
    assert english.rsum == pytest.approx(sum(six))
    assert lingvis.evaluate(lingvis.load(run), lingvis.Dataset.open(toy_dataset)) == report
    ensemble = lingvis.evaluate([run, lingvis.load(run)], toy_dataset)
    assert ensemble.languages == report.languages
    assert ensemble.parameters["total"] == 2 * report.parameters["total"]
    main(["evaluate", str(run), str(toy_dataset), "--json"])
    assert json.loads(capsys.readouterr().out) == report.as_json()


def test_errors_name_arguments_and_the_command_line_its_flags(
    run: Path, toy_dataset: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UserError, match="`translator` has no effect without `consistency` or `translate_to`"):
        lingvis.evaluate(run, toy_dataset, translator="apertium")
    with pytest.raises(UserError, match="`save_consistency` needs the model folder"):
        lingvis.evaluate(lingvis.load(run), toy_dataset, consistency="learned", save_consistency=True)
    with pytest.raises(UserError, match="no model to evaluate"):
        lingvis.evaluate([], toy_dataset)
    with pytest.raises(SystemExit):
        main(["evaluate", str(run), str(toy_dataset), "--translator", "apertium"])
    assert "--translator has no effect without --consistency or --translate-to" in capsys.readouterr().err


def test_suggest_takes_folders_and_opened_objects(run: Path, toy_dataset: Path, tmp_path: Path) -> None:
    folder = tmp_path / "toy"
    shutil.copytree(toy_dataset, folder)
    captions = folder / "captions.jsonl"
    rows = [json.loads(line) for line in captions.read_text(encoding="utf-8").splitlines()]
    for row in [row for row in rows if row["split"] == "train"][:6]:
        row["captions"] = {}
    captions.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    suggestions = lingvis.suggest(str(folder), 3, model=str(run))
    assert (suggestions.candidates, len(suggestions.pictures)) == (6, 3)
    assert lingvis.suggest(lingvis.Dataset.open(folder), 3, model=lingvis.load(run)) == suggestions
    assert suggestions.as_json()["pictures"][0]["image"] == suggestions.pictures[0].image


def test_extract_features_takes_a_folder(toy_dataset: Path, tmp_path: Path) -> None:
    folder = tmp_path / "toy"
    shutil.copytree(toy_dataset, folder)
    with pytest.raises(UserError, match="unknown backbone 'resnet9000'"):
        lingvis.extract_features(str(folder), backbone="resnet9000")
    with pytest.raises(UserError, match="no dataset folder at"):
        lingvis.extract_features(tmp_path / "nowhere")

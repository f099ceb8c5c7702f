"""Scores become probabilities: fitted on judged hits, stored in a model folder."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

import lingvis
from lingvis.data.dataset import Captions
from lingvis.errors import UserError
from lingvis.model.folder import CALIBRATION, KNOWN_WORDS
from lingvis.pretrained import find_model
from lingvis.relevance.calibration import Calibration, CalibrationSource
from lingvis.relevance.fit import fit_calibration
from lingvis.relevance.judgements import JudgedQuery, Trial, judge, try_queries

from ..command import lingvis as command

SMALL = [
    "data.features=toy-grid",
    "text.tokenizer.min_count=1",
    "image.encoder.dim=8",
    "text.encoder.dim=8",
    "training.batch_size=16",
    "optimizer.lr=0.01",
    "training.epochs=12",
]
SOURCE = CalibrationSource(model="m", dataset="d", split="val", pictures=9, right=1, wrong=1)
NOTHING = np.zeros(1, bool)
QUERY = JudgedQuery("x", "en", "name", NOTHING, NOTHING)


def test_probabilities_and_their_words() -> None:
    fitted = Calibration(intercept=-5, score=20, log_pictures=-0.5, source=SOURCE)
    assert fitted.probability(0.5, 100) == pytest.approx(1 / (1 + math.exp(-(5 - 0.5 * math.log(100)))))
    assert [fitted.confidence(score, 1000) for score in (0.3, 0.5, 0.6)] == ["weak", "likely", "strong"]
    assert fitted.probability(0.5, 10_000) == fitted.probability(0.5, 1_000_000) < fitted.probability(0.5, 50)
    assert 0 <= fitted.probability(-1e9, 0) < fitted.probability(1e9, 0) <= 1


def test_the_fit_finds_the_curve_that_made_the_hits() -> None:
    random = np.random.default_rng(0)
    trials = []
    for _ in range(20_000):
        size, score = int(random.choice([50, 1000])), float(random.uniform(0, 1))
        chance = 1 / (1 + math.exp(-(-2 + 12 * score - 0.6 * math.log(size))))
        trials.append(Trial(QUERY, size, [score], [bool(random.random() < chance)]))
    fitted = fit_calibration(trials, model="m", dataset="d", split="val", pictures=1000)
    assert fitted.score == pytest.approx(12, rel=0.1)
    assert fitted.log_pictures == pytest.approx(-0.6, rel=0.2)
    hits = [trial.judged[0] for trial in trials]
    assert (fitted.source.right, fitted.source.wrong) == (sum(map(bool, hits)), hits.count(False))


def test_too_few_hits_are_an_error() -> None:
    with pytest.raises(UserError, match="gives 1 right and 0 wrong hits, too few"):
        fit_calibration([Trial(QUERY, 50, [0.5], [True])], model="m", dataset="d", split="val", pictures=50)


def test_judgements_follow_the_captions() -> None:
    texts = [f"a goldfish number{n}" if n < 3 else f"a bicycle thing{n}" for n in range(120)]
    captions = Captions([f"{n}.jpg" for n in range(120)], texts, ["en"] * 120, np.arange(120))
    queries = judge(captions)
    named = {query.text: query for query in queries if query.kind == "name"}
    assert named["goldfish"].right.nonzero()[0].tolist() == [0, 1, 2] and not named["goldfish"].wrong.any()
    absent = [query for query in named.values() if not query.answerable]
    assert len(absent) > 200 and all(query.wrong.all() for query in absent)
    for query in queries:
        assert not (query.right & query.wrong).any()
        if query.kind == "sentence":
            own = texts.index(query.text)
            assert query.right[own] if query.answerable else not query.wrong[own]


def test_trials_have_a_right_picture_or_only_wrong_ones() -> None:
    right = np.zeros(200, bool)
    right[7] = True
    queries = [
        JudgedQuery("x", "en", "name", right, NOTHING.repeat(200)),
        JudgedQuery("y", "en", "sentence", NOTHING.repeat(200), ~right),
    ]
    image_emb = np.random.default_rng(0).normal(size=(200, 4)).astype(np.float32)
    image_emb /= np.linalg.norm(image_emb, axis=1, keepdims=True)
    found, absent = try_queries(queries, image_emb[[7, 7]], image_emb, size=60)
    assert found.pictures == absent.pictures == 60 and found.scores == sorted(found.scores, reverse=True)
    assert found.judged.count(True) == 1 and found.judged.count(None) == 4
    assert absent.judged == [False] * 5  # the right picture was not in its collection


def test_a_damaged_file_is_one_sentence(tmp_path: Path) -> None:
    assert Calibration.read(tmp_path) is None
    (tmp_path / CALIBRATION).write_text('{"intercept": NaN}')
    with pytest.raises(UserError, match=r"calibration\.json is damaged"):
        Calibration.read(tmp_path)


def test_the_command_writes_both_files(tmp_path: Path, toy_dataset: Path) -> None:
    run = tmp_path / "model"
    lingvis.train("vsepp", toy_dataset, run, overrides=SMALL, device="cpu")
    out = tmp_path / "copy"
    command("compress", run, out)
    arguments = ["calibrate", run, toy_dataset, "--out", out, "--device", "cpu"]
    assert "too few to calibrate scores" in command(*arguments, check=2).stderr
    # The training split has twice the pictures.
    printed = json.loads(command(*arguments, "--split", "train", "--json").stdout)
    fitted = Calibration.read(out)
    assert fitted is not None and printed["score"] == fitted.score > 0
    assert printed["known_words"] > 1000 and (out / KNOWN_WORDS).is_file()
    assert not (run / CALIBRATION).exists()
    # A copy of the model keeps them.
    command("compress", out, tmp_path / "again")
    assert Calibration.read(tmp_path / "again") == fitted


def test_the_shipped_model_is_calibrated() -> None:
    fitted = Calibration.read(find_model())
    assert fitted is not None and fitted.score > 5 and fitted.log_pictures < 0
    assert fitted.confidence(0.2, 300) == "weak" and fitted.confidence(0.9, 300) == "strong"

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
from lingvis.relevance.mentions import MentionedWords
from lingvis.relevance.spread import ScoreSpread

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
EVERYTHING = np.ones(1, bool)
QUERY = JudgedQuery("x", "en", "name", EVERYTHING, EVERYTHING, NOTHING)
ORDINARY = ScoreSpread(mean=0.1, variance=0.01, pictures=1000)


def test_probabilities_and_their_words() -> None:
    fitted = Calibration(intercept=-5, score=20, log_pictures=-0.5, source=SOURCE)
    expected = 1 / (1 + math.exp(-(5 - 0.5 * math.log(100))))
    assert fitted.probability(0.5, 100, ORDINARY) == pytest.approx(expected)
    words = [fitted.confidence(score, 1000, ORDINARY) for score in (0.3, 0.45, 0.6)]
    assert words == ["weak", "likely", "strong"]
    first = fitted.model_copy(update={"format": 1})  # of an earlier version
    assert [first.confidence(score, 1000, ORDINARY) for score in (0.45, 0.52, 0.53, 0.6)] == [
        "weak",
        "likely",
        "likely",
        "strong",
    ]
    many = fitted.probability(0.5, 10_000, ORDINARY)
    assert many == fitted.probability(0.5, 1_000_000, ORDINARY) < fitted.probability(0.5, 50, ORDINARY)
    assert 0 <= fitted.probability(-1e9, 0, ORDINARY) < fitted.probability(1e9, 0, ORDINARY) <= 1


def test_a_score_among_equal_ones_says_less() -> None:
    fitted = Calibration(intercept=-5, score=0, deviation=1, log_pictures=0, source=SOURCE)
    alone, among = (ScoreSpread(mean, 0.01, 10_000_000) for mean in (0.0, 0.4))
    assert fitted.probability(0.5, 100, alone) == pytest.approx(0.5, abs=1e-3)  # five deviations
    assert fitted.probability(0.5, 100, among) < 0.02
    # A spread of no or few pictures is the usual one.
    nothing = ScoreSpread.of(np.zeros(0, np.float32))
    assert nothing.deviations(0.5, usual_mean=0.1, usual_deviation=0.2) == pytest.approx(2)
    scores = np.random.default_rng(0).normal(0.3, 0.05, 60).astype(np.float32)
    steadied = np.concatenate([scores, np.tile([0.1 - 0.2, 0.1 + 0.2], 10)])  # 20 usual scores
    expected = (0.7 - steadied.mean()) / steadied.std()
    found = ScoreSpread.of(scores).deviations(0.7, usual_mean=0.1, usual_deviation=0.2)
    assert found == pytest.approx(expected, rel=1e-4)


def test_the_fit_finds_the_curve_that_made_the_hits() -> None:
    random = np.random.default_rng(0)
    other = JudgedQuery("y", "en", "name", EVERYTHING, NOTHING, EVERYTHING)
    trials = []
    for _ in range(40_000):
        size, score, mean = int(random.choice([50, 1000])), random.uniform(0, 1), random.uniform(0, 0.3)
        spread = ScoreSpread(float(mean), 0.01, 1_000_000)
        chance = 1 / (1 + math.exp(-(-3 + 7 * score + 0.4 * (score - mean) / 0.1 - 0.6 * math.log(size))))
        right = bool(random.random() < chance)
        trials.append(Trial(QUERY if right else other, size, spread, [float(score)], [right]))
    # Both kinds of queries weigh the same, whatever their number: that moves the intercept alone.
    fitted = fit_calibration(trials, model="m", dataset="d", split="val", pictures=1000)
    assert fitted.score == pytest.approx(7, rel=0.1) and fitted.deviation == pytest.approx(0.4, rel=0.2)
    assert fitted.log_pictures == pytest.approx(-0.6, rel=0.15)
    assert fitted.usual_mean == pytest.approx(0.15, abs=0.01) and fitted.usual_deviation == pytest.approx(0.1)
    hits = [trial.judged[0] for trial in trials]
    assert (fitted.source.right, fitted.source.wrong) == (sum(map(bool, hits)), hits.count(False))


def test_too_few_hits_are_an_error() -> None:
    with pytest.raises(UserError, match="gives 1 right and 0 wrong hits, too few"):
        fit_calibration(
            [Trial(QUERY, 50, ORDINARY, [0.5], [True])], model="m", dataset="d", split="val", pictures=50
        )


def captions_of(*texts: str, lang: str = "en") -> Captions:
    return Captions(
        [f"{n}.jpg" for n in range(len(texts))], list(texts), [lang] * len(texts), np.arange(len(texts))
    )


def test_names_are_judged_by_what_captions_mention() -> None:
    others = [f"nothing of that kind {n}" for n in range(4)]
    captions = captions_of("two terriers", "a dog sleeps", "a goldfish", "a cat", *others)
    named = {query.text: query for query in judge(captions) if query.kind == "name"}
    # A kind of dog is a dog; a dog may be a terrier; what no caption mentions is wrong.
    assert named["dog"].right.nonzero()[0].tolist() == [0, 1] and named["dog"].wrong[2:].all()
    assert named["terrier"].right.nonzero()[0].tolist() == [0]
    assert named["terrier"].wrong.nonzero()[0].tolist() == [2, 3, 4, 5, 6, 7]
    absent = [query for query in named.values() if not query.answerable]
    assert len(absent) > 200 and all(query.wrong[4:].all() and query.pool.all() for query in absent)


def test_concepts_are_mentioned_in_any_language() -> None:
    captions = Captions(["0.jpg", "1.jpg"], ["a goldfish", "ein Haus"], ["en", "de"], np.array([0, 1]))
    named = {(query.lang, query.text): query for query in judge(captions) if query.kind == "name"}
    assert named["de", "Goldfisch"].right.tolist() == [True, False]


@pytest.mark.parametrize(
    ("caption", "name", "mentioned"),
    [
        ("Zwei Hunden", "Hund", True),
        ("two dogs", "dog", True),
        ("a card", "car", False),
        ("a red car", "car", True),
        ("a polar bear", "polar bear", True),
        ("a bear at the pole", "polar bear", False),
        ("a caravan", "car", False),
    ],
)
def test_endings(caption: str, name: str, mentioned: bool) -> None:
    lang = "de" if caption[0] == "Z" else "en"
    assert MentionedWords(captions_of(caption, lang=lang), lang).mentioned(name).tolist() == [mentioned]


def test_sentences_have_their_picture_or_are_far_from_all() -> None:
    texts = [f"number{n} of thing{n}" for n in range(120)]
    for query in judge(captions_of(*texts)):
        if query.kind == "sentence":
            own = texts.index(query.text)
            assert not (query.right & query.wrong).any()
            assert query.right[own] if query.answerable else not query.pool[own]


def test_trials_have_a_right_picture_or_only_wrong_ones() -> None:
    right = np.zeros(200, bool)
    right[7] = True
    all_of_them = np.ones(200, bool)
    queries = [
        JudgedQuery("x", "en", "name", all_of_them, right, NOTHING.repeat(200)),
        JudgedQuery("y", "en", "sentence", ~right, NOTHING.repeat(200), ~right),
    ]
    image_emb = np.random.default_rng(0).normal(size=(200, 4)).astype(np.float32)
    image_emb /= np.linalg.norm(image_emb, axis=1, keepdims=True)
    found, absent = try_queries(queries, image_emb[[7, 7]], image_emb, size=60, k=5)
    assert found.pictures == absent.pictures == 60 and found.scores == sorted(found.scores, reverse=True)
    assert found.judged.count(True) == 1 and found.judged.count(None) == 4
    assert absent.judged == [False] * 5  # the right picture was not in its collection
    assert found.spread.pictures == 60 and found.scores[0] > found.spread.mean


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
    assert fitted.confidence(0.2, 300, ORDINARY) == "weak"
    assert fitted.confidence(0.9, 300, ORDINARY) == "strong"
    assert fitted.deviation > 0

"""How a route is chosen: folds, distractors, means over folds, and a start that is measured without dropout."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lingvis.data.dataset import Dataset
from lingvis.evaluation.metrics import scores
from lingvis.evaluation.ranks import ranks
from lingvis.evaluation.scorers import InnerProduct
from lingvis.model.card import added_sentences
from lingvis.model.embedder import Embedder
from lingvis.new_language import gather as gather_module
from lingvis.new_language.cross_validation import mean_outcome
from lingvis.new_language.folds import make_folds
from lingvis.new_language.gather import gather
from lingvis.new_language.language_data import SentenceGroups
from lingvis.new_language.measure import RetrievalMeasure
from lingvis.new_language.routes import find_routes
from lingvis.new_language.start_factory import LexicalResources
from lingvis.new_language.task import TeachingPlan
from lingvis.new_language.try_routes import RouteOutcome, try_routes
from lingvis.training.validate import load_recipe

from .conftest import SMALL, SPELLED


def many(pictures: int) -> SentenceGroups:
    """Two sentences for each of some pictures, and one picture without any."""
    names = [f"{number}.jpg" for number in range(pictures + 1)]
    return SentenceGroups(
        images=names,
        known=[[("en", f"known {name}")] for name in names],
        texts=[f"{which} of {number}" for number in range(pictures) for which in ("first", "second")],
        groups=[number for number in range(pictures) for _ in range(2)],
    )


def test_every_picture_is_held_out_once_with_all_its_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lingvis.new_language.folds.FOLDS", 5)
    learn = many(23)
    folds = make_folds("el", learn, seed=0)
    held_out = [image for fold in folds for image in fold.choose.images]
    assert len(folds) == 5 and sorted(held_out) == sorted(learn.images[:23])
    for fold in folds:
        assert 4 <= len(fold.choose.images) <= 5 and len(fold.choose.texts) == 2 * len(fold.choose.images)
        assert sorted(fold.learn.texts + fold.choose.texts) == sorted(learn.texts)
        assert fold.learn.images == learn.images, "held-out pictures stay wrong answers"
        assert [bool(known) for known in fold.learn.known] == [
            image not in fold.choose.images for image in learn.images
        ]
        for text, group in zip(fold.choose.texts, fold.choose.groups, strict=True):
            assert fold.choose.images[group] == f"{text.rsplit()[-1]}.jpg"
    assert all(learn.known), "the original is unchanged"
    assert [fold.choose.images for fold in make_folds("el", learn, seed=1)] != [
        fold.choose.images for fold in folds
    ]


def test_a_split_val_of_few_pictures_does_not_choose(dataset: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert gather(Dataset.open(dataset), "el", ["en"]).by == "val"
    monkeypatch.setattr(gather_module, "FEW", 13)
    material = gather(Dataset.open(dataset), "el", ["en"])
    assert material.by == "picture folds" and len(material.learn.texts) == 2 * 24
    monkeypatch.setattr(gather_module, "MANY", 24)
    material = gather(Dataset.open(dataset), "el", ["en"])
    assert (material.by, len(material.choose.images), material.folds) == ("pictures", 2, [])


def test_distractors_are_wrong_answers() -> None:
    draws = np.random.default_rng(0)
    images = draws.normal(size=(40, 8)).astype(np.float32)
    of = np.array([3, 3, 17, 30])
    texts = images[of] + draws.normal(size=(4, 8)).astype(np.float32)
    found = ranks(InnerProduct(images, texts), of, distractors=True)
    matrix = images @ texts.T
    assert found.t2i.tolist() == [int((matrix[:, t] > matrix[of[t], t]).sum()) for t in range(4)]
    wrong = [
        int((matrix[image, of != image] > matrix[image, of == image].max()).sum()) for image in (3, 17, 30)
    ]
    assert found.i2t.tolist() == wrong
    alone = ranks(InnerProduct(images[[3, 17, 30]], texts), np.array([0, 0, 1, 2]))
    assert scores(found).t2i["R@1"] <= scores(alone).t2i["R@1"]
    with pytest.raises(ValueError, match="has no caption"):
        ranks(InnerProduct(images, texts), of)


def test_means_over_folds_choose_the_epoch() -> None:
    folds = [RouteOutcome("both", [1.0, 5.0, 9.0, 6.0], values=7), RouteOutcome("both", [1.0, 9.0, 6.0])]
    mean = mean_outcome(folds, epochs=4)
    assert mean.scores == [1.0, 7.0, 7.5, 6.0, 6.0], "a fold that stopped early keeps its last score"
    assert (mean.epoch, mean.score, mean.values) == (2, 7.5, 7)
    assert mean.spread == pytest.approx(np.std([9.0, 6.0], ddof=1))
    impossible = RouteOutcome("both", reason="no picture")
    assert mean_outcome([folds[0], impossible], epochs=4) == impossible


def test_routes_that_folds_do_not_distinguish_are_named() -> None:
    def route(name: str, score: float) -> dict[str, object]:
        return {"route": name, "mR": score, "spread": 2.0}

    report = {
        "lang": "el",
        "route": "both",
        "routes": [route("characters", 39.0), route("both", 40.0), route("mapped", 30.0)],
        **dict.fromkeys(("sentences", "with_picture", "with_translation", "values", "seconds", "pool"), 1),
        "pictures_same": True,
        "old_sentences_same": True,
        "measured_on": "picture folds",
    }
    sentence = "Route both is the best on average, but not clearly better than characters: "
    assert any(line.startswith(sentence) for line in added_sentences(report))
    report["routes"] = [route("both", 40.0) | {"spread": None}, route("mapped", 39.9)]
    assert not any("clearly better" in line for line in added_sentences(report))


class Twice(RetrievalMeasure):
    """A measure that compares two encodings of the same sentences: 1 if they are equal."""

    def score(self, embedder: Embedder) -> float:
        first, second = (embedder.encode_texts(self.texts, self.lang) for _ in range(2))
        return float(np.array_equal(first, second))


def test_a_start_is_measured_without_dropout(spelled_run: Path, dataset: Path) -> None:
    embedder = Embedder.load(spelled_run, device="cpu")
    data = gather(Dataset.open(dataset), "el", embedder.languages)
    points = np.zeros((1, embedder.dim), np.float32)
    (outcome,) = try_routes(
        embedder,
        load_recipe("lingvis_frozen", [*SMALL, *SPELLED]),
        data,
        np.zeros((len(data.learn.images), embedder.dim), np.float32),
        Twice(data.choose.texts, "el", points, [0] * len(data.choose.texts)),
        resources=LexicalResources(),
        plan=TeachingPlan(epochs=1, dropout=0.5),
        routes=find_routes("both"),
    )
    assert outcome.scores == [1.0, 1.0]

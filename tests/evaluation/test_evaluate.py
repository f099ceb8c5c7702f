"""The report: its shape, its numbers against a naive computation, folds, ensembles, and broken models."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from lingvis.arrays import Bools, Floats
from lingvis.data.dataset import Dataset
from lingvis.errors import UserError
from lingvis.evaluation.evaluate import evaluate_models, measure, score_pools
from lingvis.evaluation.protocols import EvaluationProtocol
from lingvis.evaluation.scorers import EVERY


def naive_recall(scores: NDArray[Any], right: Bools, k: int) -> float:
    """Percent of rows with a right answer among the k best, by sorting."""
    hits = [right[row][np.argsort(-scores[row])[:k]].any() for row in range(len(scores))]
    return 100 * float(np.mean(hits))


def test_the_report_has_the_agreed_shape(dataset: Dataset, hashed: Any) -> None:
    report = evaluate_models([hashed("one")], dataset).as_json()
    assert list(report)[:8] == [
        "model", "dataset", "split", "protocol", "parameters", "languages", "A", "HA",
    ]  # fmt: skip
    assert (report["model"], report["dataset"], report["split"]) == ("one", "tiny", "test")
    assert report["parameters"] == {"image": 100, "text": 20, "total": 120}
    assert list(report["languages"]) == ["en", "ar", "de"]
    german = report["languages"]["de"]
    assert list(german) == [
        "zero_shot",
        "images",
        "captions",
        "sentences",
        "i2t",
        "t2i",
        "mR",
        "rsum",
        "chance",
    ]
    assert (german["images"], german["captions"]) == (10, 20)
    assert list(german["i2t"]) == ["R@1", "R@5", "R@10", "median", "mean"]
    assert report["HA"] is None
    assert report["dataset_sha256"] == dataset.fingerprint
    assert json.loads(json.dumps(report)) == report


def test_numbers_equal_a_naive_computation(dataset: Dataset, hashed: Any) -> None:
    report = evaluate_models([hashed()], dataset, languages=["de"]).as_json()["languages"]["de"]
    model = hashed()
    captions = dataset.captions("test", ["de"])
    scores = model.encode(captions.images) @ model.encode_texts(captions.texts, captions.langs).T
    right = np.arange(len(captions.images))[:, None] == captions.image_of
    expected = {
        way: {f"R@{k}": naive_recall(matrix, answers, k) for k in (1, 5, 10)}
        for way, matrix, answers in (("i2t", scores, right), ("t2i", scores.T, right.T))
    }
    assert 0 < expected["t2i"]["R@1"] < 100
    for way, numbers in expected.items():
        assert {key: report[way][key] for key in numbers} == pytest.approx(numbers)
    six = [value for numbers in expected.values() for value in numbers.values()]
    assert report["rsum"] == pytest.approx(sum(six))
    assert report["mR"] == pytest.approx(sum(six) / 6)


def test_each_image_and_each_distinct_sentence_is_embedded_once(dataset: Dataset, hashed: Any) -> None:
    rows = [
        row.model_copy(
            update={"captions": {**row.captions, "en": ("the same 1", f"own of {row.image[:-4]}")}}
        )
        for row in dataset.rows
    ]
    model = hashed()
    report = evaluate_models([model], Dataset(dataset.path, rows)).as_json()
    assert sorted(model.asked_images) == sorted(f"{number}.png" for number in range(12))
    assert len(model.asked_texts) == len(set(model.asked_texts)) == (1 + 12) + 12 + 20
    assert report["languages"]["en"]["captions"] == 24


def test_means_over_all_and_over_human_languages(dataset: Dataset, hashed: Any) -> None:
    protocol = EvaluationProtocol(name="mine", summary="", human=("de", "en"))
    report = evaluate_models([hashed()], dataset, protocol=protocol).as_json()
    each = {lang: found["mR"] for lang, found in report["languages"].items()}
    assert len(set(each.values())) == 3
    assert report["A"] == pytest.approx(sum(each.values()) / 3)
    assert report["HA"] == pytest.approx((each["de"] + each["en"]) / 2)


def test_folds_are_consecutive_and_measured_alone(dataset: Dataset, hashed: Any) -> None:
    folds = EvaluationProtocol(name="folds", summary="", folds=3)
    report = evaluate_models([hashed(noise=2.0)], dataset, protocol=folds, languages=["en"]).as_json()[
        "languages"
    ]["en"]
    alone = [
        evaluate_models(
            [hashed(noise=2.0)], Dataset(dataset.path, dataset.rows[start : start + 4]), languages=["en"]
        ).as_json()["languages"]["en"]
        for start in (0, 4, 8)
    ]
    assert (report["images"], report["captions"]) == (12, 24)
    for way in ("i2t", "t2i"):
        for key in ("R@1", "R@5", "median", "mean"):
            assert report[way][key] == pytest.approx(np.mean([fold[way][key] for fold in alone]))
    assert report["mR"] == pytest.approx(np.mean([fold["mR"] for fold in alone]))
    assert report["chance"] == pytest.approx(alone[0]["chance"])


@pytest.mark.parametrize("inner_product", [True, False])
def test_an_ensemble_scores_by_the_mean(dataset: Dataset, hashed: Any, inner_product: bool) -> None:
    models = [
        hashed("a", seed=1, dim=6, inner_product=inner_product),
        hashed("b", seed=2, dim=9),
        hashed("c", seed=3, dim=9, inner_product=inner_product),
    ]
    both = score_pools(models, dataset, languages=["en"])
    apart = [
        score_pools([model], dataset, languages=["en"]).scorers[0].block(EVERY, EVERY).copy()
        for model in models
    ]
    np.testing.assert_allclose(both.scorers[0].block(EVERY, EVERY), np.mean(apart, axis=0), atol=1e-6)
    report = measure(both).as_json()
    assert report["model"] == "a + b + c"
    assert report["parameters"]["total"] == 360
    right = np.arange(12)[:, None] == both.pools[0].image_of
    expected = naive_recall(np.mean(apart, axis=0), right, 1)
    assert report["languages"]["en"]["i2t"]["R@1"] == pytest.approx(expected)


def test_a_score_function_is_used_as_it_is(dataset: Dataset, hashed: Any) -> None:
    model = hashed(inner_product=False)
    found = score_pools([model], dataset, languages=["en"])
    captions = dataset.captions("test", ["en"])
    expected = model.scores(model.encode(captions.images), model.encode_texts(captions.texts, captions.langs))
    np.testing.assert_array_equal(found.scorers[0].block(EVERY, EVERY), expected)


def test_a_collapsed_model_gets_nothing(dataset: Dataset, hashed: Any) -> None:
    class Collapsed(hashed):  # type: ignore[misc]
        def encode(self, names: list[str]) -> Floats:
            return np.ones((len(names), 8), dtype=np.float32)

        encode_texts = lambda self, texts, langs: self.encode(texts)  # noqa: E731

    found = evaluate_models([Collapsed()], dataset, languages=["en"]).as_json()["languages"]["en"]
    assert found["rsum"] == 0
    assert found["t2i"]["median"] == 12


def test_a_diverged_model_is_named(dataset: Dataset, hashed: Any) -> None:
    class Diverged(hashed):  # type: ignore[misc]
        def encode_texts(self, texts: list[str], langs: list[str]) -> Floats:
            emb: Floats = super().encode_texts(texts, langs)
            emb[3, 2] = np.nan
            return emb

    with pytest.raises(
        UserError, match="model late returned non-finite embeddings for 1 of 24 sentences in en"
    ):
        evaluate_models([Diverged("late")], dataset).as_json()


def test_a_language_that_no_model_was_trained_on_is_zero_shot(dataset: Dataset, hashed: Any) -> None:
    models = [hashed("a", languages=["en"]), hashed("b", languages=["en", "de"])]
    found = evaluate_models(models, dataset).as_json()["languages"]
    assert {lang: each["zero_shot"] for lang, each in found.items()} == {"en": False, "de": False, "ar": True}
    alone = evaluate_models(models[:1], dataset).as_json()["languages"]
    assert {lang: each["zero_shot"] for lang, each in alone.items()} == {"en": False, "de": True, "ar": True}

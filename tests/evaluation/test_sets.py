"""Models that pool nothing: sets of vectors, scored block by block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch

from lingvis.arrays import Floats
from lingvis.data.dataset import Dataset
from lingvis.errors import UserError
from lingvis.evaluation import models, sets
from lingvis.evaluation.evaluate import evaluate_models, score_pools
from lingvis.evaluation.ranks import ranks
from lingvis.evaluation.scorers import EVERY
from lingvis.evaluation.sets import SetScores, VectorSets
from lingvis.similarity.cross_attention import CrossAttention

DIM = 5


def draw(sizes: Sequence[int], seed: int) -> list[Floats]:
    rng = np.random.default_rng(seed)
    found = [rng.standard_normal((size, DIM), dtype=np.float32) for size in sizes]
    return [each / np.linalg.norm(each, axis=1, keepdims=True) for each in found]


def packed(each: list[Floats]) -> VectorSets:
    """As a model would give them: some at a time, padded."""
    parts = []
    for first in range(0, len(each), 4):
        some = each[first : first + 4]
        part = np.zeros((len(some), max(map(len, some)), DIM), dtype=np.float32)
        for row, vectors in enumerate(some):
            part[row, : len(vectors)] = vectors
        parts.append(part)
    return VectorSets.pack(parts)


def scan(image_sets: Floats, text_sets: Floats) -> Floats:
    scores: Floats = CrossAttention(block=500)(
        torch.from_numpy(image_sets), torch.from_numpy(text_sets)
    ).numpy()
    return scores


def one_by_one(images: list[Floats], texts: list[Floats]) -> Floats:
    rows = [[scan(image[None], text[None])[0, 0] for text in texts] for image in images]
    return np.asarray(rows, dtype=np.float32)


def test_sets_come_back_as_they_were_packed() -> None:
    each = draw([3, 1, 4, 1, 5, 2, 6], 0)
    whole = packed(each)
    assert len(whole) == 7
    assert len(whole.values) == 22  # nothing of the padding is kept
    padded = whole.padded()
    assert padded.shape == (7, 6, DIM)
    for row, vectors in enumerate(each):
        np.testing.assert_array_equal(padded[row, : len(vectors)], vectors)
        assert not padded[row, len(vectors) :].any()
    some = whole[np.array([6, 1])][::-1]
    np.testing.assert_array_equal(some.padded()[0], padded[1])
    assert whole[1:4].padded().shape == (3, 4, DIM)
    holes = np.zeros((1, 4, DIM), dtype=np.float32)
    holes[0, [0, 3]] = each[5]
    np.testing.assert_array_equal(VectorSets.pack([holes]).padded()[0], each[5])


def test_blocks_ranks_and_pairs_equal_one_pair_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sets, "IMAGES", 4)
    monkeypatch.setattr(sets, "TEXTS", 7)
    rng = np.random.default_rng(3)
    images, texts = draw(rng.integers(1, 6, 11).tolist(), 1), draw(rng.integers(1, 9, 33).tolist(), 2)
    asked: list[tuple[int, int]] = []

    def score(image_sets: Floats, text_sets: Floats) -> Floats:
        asked.append((len(image_sets), len(text_sets)))
        return scan(image_sets, text_sets)

    scorer = SetScores(score, packed(images), packed(texts))
    expected = one_by_one(images, texts)
    np.testing.assert_allclose(scorer.block(EVERY, EVERY), expected, atol=1e-6)
    assert max(asked) <= (4, 7) and max(m for _, m in asked) <= 7
    assert sum(n * m for n, m in asked) == 11 * 33
    some, others = np.array([9, 0, 3]), slice(5, 30)
    np.testing.assert_allclose(scorer.block(some, others), expected[some][:, others], atol=1e-6)
    part = scorer.take(some, others)
    assert part.shape == (3, 25)
    np.testing.assert_allclose(part.block(slice(1, 3), EVERY), expected[some[1:]][:, others], atol=1e-6)

    image_of = rng.permutation(np.arange(33) % 11)
    np.testing.assert_allclose(scorer.pairs(image_of), expected[image_of, np.arange(33)], atol=1e-6)
    found = ranks(scorer, image_of)
    right = np.arange(11)[:, None] == image_of
    own = expected[image_of, np.arange(33)]
    t2i = [int((expected[~right[:, t], t] > own[t]).sum()) for t in range(33)]
    i2t = [int((expected[i, ~right[i]] > expected[i, right[i]].max()).sum()) for i in range(11)]
    assert found.t2i.tolist() == t2i
    assert found.i2t.tolist() == i2t
    assert 0 < np.mean(t2i) < 10


def make_model(hashed: Any) -> Any:
    """A model of sets: a picture has three vectors, a sentence one for each word."""

    class Sets(hashed):  # type: ignore[misc]
        pooled = False

        def encode(self, names: Sequence[str]) -> Floats:
            self.asked_images += names
            return np.stack([[self._draw(f"{name}{part}") for part in "abc"] for name in names])

        def encode_texts(self, texts: Sequence[str], langs: Sequence[str]) -> Floats:
            self.asked_texts += zip(langs, texts, strict=True)
            out = np.zeros((len(texts), max(len(text.split()) for text in texts), self.dim), np.float32)
            for row, (text, lang) in enumerate(zip(texts, langs, strict=True)):
                for place, word in enumerate(text.split()):
                    part = "abc"[place % 3] if word.isdigit() else lang
                    out[row, place] = self._draw(f"{word}.png{part}")
            self.longest = max(getattr(self, "longest", 0), len(texts))
            return out

        def scores(self, image_emb: Floats, text_emb: Floats) -> Floats:
            return scan(image_emb, text_emb)

    return Sets(inner_product=False)


def test_evaluation_packs_what_it_embeds_and_finds_the_same(
    dataset: Dataset, hashed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(models, "SETS_AT_ONCE", 5)
    model = make_model(hashed)
    report = evaluate_models([model], dataset, languages=["de", "en"])
    assert model.longest == 5
    assert sorted(model.asked_images) == sorted(f"{number}.png" for number in range(12))
    assert len(model.asked_texts) == len(set(model.asked_texts)) == 24 + 20
    for lang, seed in (("de", 10), ("en", 12)):
        captions = dataset.captions("test", [lang])
        assert len(captions.images) == seed
        images = [each[None] for each in model.encode(captions.images)]
        texts = [model.encode_texts([text], [lang]) for text in captions.texts]
        expected = np.block([[scan(image, text) for text in texts] for image in images])
        found = score_pools([model], dataset, languages=[lang]).scorers[0].block(EVERY, EVERY)
        np.testing.assert_allclose(found, expected, atol=1e-6)
        best = expected.argmax(axis=0) == captions.image_of
        assert report.languages[lang].t2i["R@1"] == pytest.approx(100 * best.mean())
        assert best.any()


def test_an_ensemble_of_sets_and_vectors(dataset: Dataset, hashed: Any) -> None:
    both = score_pools([make_model(hashed), hashed()], dataset, languages=["en"]).scorers[0]
    apart = [
        score_pools([each], dataset, languages=["en"]).scorers[0].block(EVERY, EVERY).copy()
        for each in (make_model(hashed), hashed())
    ]
    np.testing.assert_allclose(both.block(EVERY, EVERY), np.mean(apart, axis=0), atol=1e-6)


def test_a_diverged_model_of_sets_is_named(dataset: Dataset, hashed: Any) -> None:
    model = make_model(hashed)
    model._draw = lambda key: np.full(8, np.nan, np.float32)
    with pytest.raises(UserError, match="non-finite embeddings for 12 of 12 images"):
        evaluate_models([model], dataset, languages=["en"])

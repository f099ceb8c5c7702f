"""Cross-lingual consistency against naive loops: scores, ranks, what is learnt, and what is kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file

from lingvis.arrays import Floats
from lingvis.errors import UserError
from lingvis.evaluation.clc import fit as consistency_fit
from lingvis.evaluation.clc import learned as module
from lingvis.evaluation.clc import scores as consistent_scores
from lingvis.evaluation.clc.base import combine
from lingvis.evaluation.clc.fit import FitScores, fit, triplet
from lingvis.evaluation.clc.learned import LearnedConsistency
from lingvis.evaluation.clc.mean import MeanConsistency
from lingvis.evaluation.clc.scores import ConsistentScores
from lingvis.evaluation.ranks import ranks
from lingvis.evaluation.scorers import EVERY, InnerProduct, ScoreMatrix
from lingvis.model.folder import CONSISTENCY, WEIGHTS
from lingvis.objectives.top_triplet import TopTriplet

LANGS = ("en", "de", "fr")


def drawn(seed: int, *shape: int) -> Floats:
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


def random_weights(seed: int = 0) -> LearnedConsistency:
    return LearnedConsistency(LANGS, drawn(seed, 32, 3), drawn(seed + 1, 32))


def naive(learned: LearnedConsistency, scores: Floats) -> float:
    """One pair, one unit, one language at a time."""
    total = 0.0
    for unit in range(len(learned.out)):
        inside = sum(float(learned.hidden[unit, lang]) * float(scores[lang]) for lang in range(len(scores)))
        total += float(learned.out[unit]) * max(inside, 0.0)
    return total


def naive_filled(stack: Floats, present: Any, image: int, text: int) -> Floats:
    there = [float(stack[lang, image, text]) for lang in range(3) if present[lang, text]]
    mean = sum(there) / len(there)
    return np.asarray([stack[lang, image, text] if present[lang, text] else mean for lang in range(3)])


@pytest.mark.parametrize("learned", [False, True])
@pytest.mark.parametrize("missing", [False, True])
def test_scores_and_ranks_equal_a_naive_loop(
    learned: bool, missing: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    images, texts = 7, 11
    image_of = np.random.default_rng(5).permutation(np.concatenate([np.arange(7), np.arange(4)]))
    stack = drawn(0, 3, images, texts)
    present = np.ones((3, texts), dtype=np.bool_)
    if missing:
        present[0, ::2] = present[1, [1, 3]] = present[2] = False
    how = random_weights() if learned else MeanConsistency(LANGS)
    given: list[Any] = [ScoreMatrix(each) for each in stack]
    if missing:
        given[2] = None
    monkeypatch.setattr(consistent_scores, "PAIRS_AT_ONCE", 25)  # two images at a time
    monkeypatch.setattr(module, "PAIRS_AT_ONCE", 5)
    scorer = ConsistentScores(given, present, how)
    expected = np.empty((images, texts))
    for image in range(images):
        for text in range(texts):
            each = naive_filled(stack, present, image, text)
            expected[image, text] = naive(how, each) if isinstance(how, LearnedConsistency) else each.mean()
    np.testing.assert_allclose(scorer.block(EVERY, EVERY), expected, atol=1e-4)
    some = np.asarray([6, 0, 3])
    np.testing.assert_allclose(scorer.block(some, slice(2, 9)), expected[some, 2:9], atol=1e-4)
    np.testing.assert_allclose(scorer.pairs(image_of), expected[image_of, np.arange(texts)], atol=1e-4)
    np.testing.assert_allclose(
        scorer.take(slice(1, 5), some).block(EVERY, EVERY), expected[1:5][:, some], atol=1e-4
    )
    found = ranks(scorer, image_of)
    for text in range(texts):
        before = sum(expected[i, text] > expected[image_of[text], text] for i in range(images))
        assert found.t2i[text] == before
    for image in range(images):
        own = max(expected[image, t] for t in range(texts) if image_of[t] == image)
        before = sum(image_of[t] != image and expected[image, t] > own for t in range(texts))
        assert found.i2t[image] == before


def test_scorers_that_do_not_belong_together_are_rejected() -> None:
    mean, present = MeanConsistency(LANGS), np.ones((3, 4), dtype=np.bool_)
    one, other = ScoreMatrix(drawn(0, 2, 4)), ScoreMatrix(drawn(0, 2, 5))
    with pytest.raises(ValueError, match="one shape"):
        ConsistentScores([one, one, other], present, mean)
    with pytest.raises(ValueError, match=r"expected \[languages, texts\] \(3, 4\), got \(3, 4\), 2 scorers"):
        ConsistentScores([one, one], present, mean)
    with pytest.raises(ValueError, match="at least one language for each text"):
        ConsistentScores([one, one, one], np.zeros((3, 4), dtype=np.bool_), mean)


def test_the_perceptron_starts_as_the_mean_and_has_the_parameters_of_the_paper() -> None:
    ten = LearnedConsistency.start([str(number) for number in range(10)])
    assert ten.hidden.size + ten.out.size == 352
    assert len(np.unique(np.abs(ten.hidden))) == len(np.unique(np.abs(ten.out))) == 1
    scores = drawn(3, 10, 50)
    assert (scores.mean(axis=0) < 0).sum() > 10  # a ReLU alone would lose the order of these
    np.testing.assert_allclose(ten(scores), scores.mean(axis=0), atol=1e-6)


def positives(image_of: Any, images: int) -> torch.Tensor:
    return torch.arange(images)[:, None] == torch.from_numpy(image_of)


def test_the_loss_equals_a_naive_loop_and_the_objective(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consistency_fit, "PAIRS_AT_ONCE", 40)
    scores = torch.from_numpy(drawn(0, 2, 14, 16) * 0.1)
    image_of = np.asarray([*range(14), 3, 3])
    combined = scores.mean(dim=0)
    found = triplet(lambda each: each.mean(dim=0), scores, torch.from_numpy(image_of)).item()
    total = 0.0
    for text, image in enumerate(image_of):
        own = combined[image, text].item()
        images = sorted((combined[i, text].item() for i in range(14) if i != image), reverse=True)[:10]
        texts = sorted((combined[image, t].item() for t in range(16) if image_of[t] != image), reverse=True)[
            :10
        ]
        total += 1.5 * sum(max(0.0, 0.05 + each - own) for each in images) / 10
        total += sum(max(0.0, 0.05 + each - own) for each in texts) / 10
    assert found == pytest.approx(total / 16, rel=1e-5)
    objective = TopTriplet(margin=0.05, hardest=10, text_weight=1.5)
    assert found == pytest.approx(objective(combined, positives(image_of, 14)).item(), rel=1e-5)


def test_the_gradient_is_that_of_the_objective_over_all_pairs() -> None:
    scores = torch.from_numpy(drawn(2, 3, 4, 6) * 0.1)  # fewer than ten negatives
    image_of = np.asarray([0, 1, 2, 3, 1, 1])
    weights = torch.tensor([0.7, -0.2, 0.5], requires_grad=True)
    few = triplet(lambda each: torch.tensordot(weights, each, 1), scores, torch.from_numpy(image_of))
    whole = TopTriplet(margin=0.05, hardest=10, text_weight=1.5)(
        torch.tensordot(weights, scores, 1), positives(image_of, 4)
    )
    (one,), (other,) = torch.autograd.grad(few, weights), torch.autograd.grad(whole, weights)
    assert other.abs().min() > 0
    torch.testing.assert_close(one, other)


def fit_scores(noise: tuple[float, ...], *, seed: int = 0, images: int = 40) -> FitScores:
    """Languages whose sentences say more or less of their image."""
    rng = np.random.default_rng(seed)
    image_emb = rng.standard_normal((images, 12), dtype=np.float32)
    texts = [image_emb + rng.standard_normal((images, 12), dtype=np.float32) * size for size in noise]
    unit = [each / np.linalg.norm(each, axis=1, keepdims=True) for each in (image_emb, *texts)]
    return FitScores(np.stack([unit[0] @ each.T for each in unit[1:]]).astype(np.float32), np.arange(images))


def test_fitting_lowers_the_loss_and_trusts_the_better_language() -> None:
    asked = fit_scores((0.5, 3.0, 3.0))
    before = asked.scores.copy()
    found = fit(LANGS, [asked])
    np.testing.assert_array_equal(asked.scores, before)
    assert found.after < 0.9 * found.before
    assert (found.steps, found.rate in consistency_fit.RATES) == (30, True)

    def loss(how: Any) -> float:
        def combined(each: torch.Tensor) -> torch.Tensor:
            return torch.from_numpy(how(each.numpy()))

        return triplet(combined, torch.from_numpy(asked.scores), torch.from_numpy(asked.image_of)).item()

    assert loss(MeanConsistency(LANGS)) == pytest.approx(found.before, rel=1e-5)
    assert loss(found.consistency) == pytest.approx(found.after, rel=1e-5)
    alone = [float(found.consistency(np.eye(3, dtype=np.float32)[:, [lang]])[0]) for lang in range(3)]
    assert alone[0] > 2 * max(alone[1:])


def test_scores_of_a_weak_model_do_not_shrink_to_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consistency_fit, "RATES", (0.01,))
    asked = fit_scores((3.0, 6.0, 6.0), images=60)
    found = fit(LANGS, [asked])
    assert found.before > 2.5 * 0.05  # the loss of equal scores: shrinking would lower it
    assert 2.5 * 0.05 < found.after < found.before
    assert found.consistency(np.ones((3, 1), dtype=np.float32)) == pytest.approx(1.0, abs=1e-5)
    assert found.consistency(asked.scores).std() > 0.5 * asked.scores.mean(axis=0).std()


def test_the_mean_stays_where_nothing_can_be_won() -> None:
    easy = FitScores(np.stack([np.eye(12, dtype=np.float32)] * 3), np.arange(12))
    found = fit(LANGS, [easy])
    assert (found.before, found.after, found.steps) == (0.0, 0.0, 0)
    np.testing.assert_array_equal(found.consistency.hidden, LearnedConsistency.start(LANGS).hidden)


def test_several_query_languages_share_one_perceptron(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consistency_fit, "RATES", (0.01,))
    one, other = fit_scores((0.5, 3.0, 3.0)), fit_scores((0.5, 3.0, 1.0), seed=1, images=30)
    both, alone = fit(LANGS, [one, other]), [fit(LANGS, [each]) for each in (one, other)]
    assert both.before == pytest.approx((alone[0].before + alone[1].before) / 2)
    assert both.after >= min(each.after for each in alone)
    np.testing.assert_array_equal(fit(LANGS, [one]).consistency.hidden, alone[0].consistency.hidden)


def test_scores_by_language_are_combined_in_the_learnt_order() -> None:
    learned, scores = random_weights(), drawn(9, 3, 4)
    by_lang = {"fr": scores[2], "en": scores[0], "de": scores[1]}
    np.testing.assert_allclose(combine(learned, by_lang), learned(scores), atol=1e-6)
    del by_lang["de"]
    filled = np.stack([scores[0], (scores[0] + scores[2]) / 2, scores[2]])
    np.testing.assert_allclose(combine(learned, by_lang), learned(filled), atol=1e-5)
    mean = combine(MeanConsistency(LANGS), by_lang)
    np.testing.assert_allclose(mean, (scores[0] + scores[2]) / 2, atol=1e-6)
    with pytest.raises(UserError, match="got scores in es; allowed are one or more of: de, en, fr"):
        combine(learned, {"es": scores[0]})
    with pytest.raises(UserError, match="got scores in none"):
        combine(learned, {})


def test_what_was_learnt_is_kept_beside_the_model(tmp_path: Path) -> None:
    learned = random_weights()
    (tmp_path / WEIGHTS).write_bytes(b"a model")
    assert learned.save(tmp_path) == tmp_path / CONSISTENCY
    back = LearnedConsistency.load(tmp_path)
    assert back.languages == LANGS
    np.testing.assert_array_equal(back(drawn(1, 3, 5)), learned(drawn(1, 3, 5)))
    (tmp_path / WEIGHTS).write_bytes(b"the same folder, trained again")
    with pytest.raises(UserError, match=r"fitted for another model, .* fit it again with: lingvis evaluate"):
        LearnedConsistency.load(tmp_path)
    (tmp_path / WEIGHTS).write_bytes(b"a model")
    assert LearnedConsistency.load(tmp_path).languages == LANGS
    save_file(
        {"hidden": learned.hidden, "out": learned.out},
        tmp_path / CONSISTENCY,
        {"languages": json.dumps(LANGS)},
    )
    with pytest.raises(
        UserError, match="fitted for another model"
    ):  # of an earlier version: for which is not told
        LearnedConsistency.load(tmp_path)
    (tmp_path / CONSISTENCY).write_bytes((tmp_path / CONSISTENCY).read_bytes()[:-7])
    with pytest.raises(UserError, match=r"is damaged .*; make it again with: lingvis evaluate"):
        LearnedConsistency.load(tmp_path)
    with pytest.raises(UserError, match=r"has no consistency\.safetensors; make it with"):
        LearnedConsistency.load(tmp_path / "nowhere")
    with pytest.raises(ValueError, match=r"\[units, 3\]"):
        LearnedConsistency(LANGS, drawn(0, 32, 4), drawn(0, 32))


def test_large_pools_are_combined_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []

    class Watched(MeanConsistency):
        def __call__(self, scores: Floats) -> Floats:
            sizes.append(scores[0].size)
            return super().__call__(scores)

    monkeypatch.setattr(consistent_scores, "PAIRS_AT_ONCE", 300)
    parts = [InnerProduct(drawn(0, 50, 4), drawn(lang, 60, 4)) for lang in range(3)]
    scorer = ConsistentScores(parts, np.ones((3, 60), dtype=np.bool_), Watched(LANGS))
    scorer.block(EVERY, EVERY)
    assert (max(sizes), sum(sizes)) == (300, 50 * 60)

"""Learn the weights of languages (CLC-C): a few steps on validation; the model stays unchanged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from lingvis.arrays import Floats, Ints
from lingvis.evaluation.clc.learned import LearnedConsistency

STEPS = 30
RATES = (3e-4, 1e-3, 3e-3, 1e-2, 3e-2)
MARGIN, HARDEST, TO_IMAGES = 0.05, 10, 1.5
PAIRS_AT_ONCE = 65_536  # the hidden layer of these pairs takes 8 MB


@dataclass(frozen=True, slots=True)
class FitScores:
    """Scores to learn from: float32 [languages, images, texts]; text t describes image image_of[t]."""

    scores: Floats
    image_of: Ints


@dataclass(frozen=True, slots=True)
class FitResult:
    """The learned weights, and the loss on validation before and after; steps is 0 if the mean stayed best."""

    consistency: LearnedConsistency
    rate: float
    steps: int
    before: float
    after: float

    @property
    def record(self) -> dict[str, Any]:
        """The values for the report."""
        return {"rate": self.rate, "steps": self.steps, "loss_before": self.before, "loss_after": self.after}


def fit(languages: Sequence[str], scores: Sequence[FitScores]) -> FitResult:
    """30 steps of Adam over all pairs at once (SMALR, section 3.4), with the best of several learning rates.

    The loss is the mean over `scores`, one per query language. The rate is chosen by the same
    validation loss; if no rate lowers it, the result is the mean. The gain is fixed at one: a sentence that
    scores 1 in every language scores 1. The scale of scores does not change their order, but for a weak model, whose
    hardest negatives mostly win, scores that shrink to zero would have a lower loss than any good order.
    """
    start = LearnedConsistency.start(languages)
    data = [(torch.from_numpy(part.scores), torch.from_numpy(part.image_of)) for part in scores]
    before = _loss(torch.from_numpy(start.hidden), torch.from_numpy(start.out), data).item()
    best = FitResult(start, 0.0, 0, before, before)
    for rate in RATES:
        hidden, out = (torch.from_numpy(each.copy()).requires_grad_() for each in (start.hidden, start.out))
        optimizer = torch.optim.Adam([hidden, out], lr=rate)
        for _ in range(STEPS):
            optimizer.zero_grad()
            _loss(hidden, out, data).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        with torch.no_grad():
            after = _loss(hidden, out, data).item()
        if after < best.after:
            weights = hidden.detach().numpy(), (out / _gain(hidden, out)).detach().numpy()
            learned = LearnedConsistency(languages, *weights)
            best = FitResult(learned, rate, STEPS, before, after)
    return best


def _loss(hidden: Tensor, out: Tensor, data: Sequence[tuple[Tensor, Tensor]]) -> Tensor:
    unit = out / _gain(hidden, out)

    def mlp(scores: Tensor) -> Tensor:
        flat = scores.reshape(len(scores), -1)
        return (unit @ (hidden @ flat).relu()).reshape(scores.shape[1:])

    return torch.stack([triplet(mlp, scores, image_of) for scores, image_of in data]).mean()


def _gain(hidden: Tensor, out: Tensor) -> Tensor:
    """The score of a sentence that scores 1 in every language."""
    return (out @ hidden.sum(dim=1).relu()).clamp(min=1e-3)


def triplet(combine: Callable[[Tensor], Tensor], scores: Tensor, image_of: Tensor) -> Tensor:
    """Mean over the sentences t of image i of 1.5 h(t -> images) + h(i -> sentences) (SMALR, Eq. 3).

    h: mean of [0.05 + s(negative) - s(i, t)]+ over the ten hardest negatives. scores: [languages, I, T];
    image_of: int64 [T]. The same as `objectives.top_triplet.TopTriplet` of the combined scores, but only the
    pairs that count are combined with gradients. These pairs are found without gradients, some images at a time.
    """
    images, texts = scores.shape[1:]
    every_image, every_text = torch.arange(images), torch.arange(texts)
    with torch.no_grad():
        step = max(1, PAIRS_AT_ONCE // texts)
        combined = torch.cat([combine(part) for part in torch.split(scores, step, dim=1)])
        combined[image_of, every_text] = -torch.inf
        in_row, row = combined.topk(min(HARDEST, texts), dim=1)
        in_column, column = combined.topk(min(HARDEST, images), dim=0)
    own = combine(scores[:, image_of, every_text])
    wrong_texts = combine(scores[:, every_image[:, None], row])[image_of]
    wrong_images = combine(scores[:, column, every_text]).T
    by_text = _hinge(wrong_images, own, in_column.isfinite().T)
    by_image = _hinge(wrong_texts, own, in_row.isfinite()[image_of])
    return (TO_IMAGES * by_text + by_image).mean()


def _hinge(negatives: Tensor, own: Tensor, valid: Tensor) -> Tensor:
    """negatives, valid: [T, k]; own: [T] -> [T]. Small pools have fewer than k negatives."""
    hinge = (MARGIN + negatives - own[:, None]).clamp(min=0) * valid
    return hinge.sum(dim=1) / valid.sum(dim=1).clamp(min=1)

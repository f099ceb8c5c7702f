"""Steps for tests of terms: a few sentences about a few pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from lingvis.terms import Columns, Origin, Rereading, Step
from lingvis.terms.distillation import TEACHER_SCORES
from lingvis.types import Clock


def no_rereading(p: float) -> Rereading:
    raise AssertionError("the term was not expected to hide words")


def make_step(
    text_emb: Tensor,
    *,
    groups: Sequence[int],
    langs: Sequence[int] | None = None,
    origin: Sequence[Origin] | None = None,
    image_emb: Tensor | None = None,
    word_average: Tensor | None = None,
    clock: Clock = Clock(step=5),  # noqa: B008
    reread: Callable[[float], Rereading] = no_rereading,
    teacher_scores: Tensor | None = None,
    targets: Tensor | None = None,
) -> Step:
    """Sentences [T, D] about pictures `groups`; picture n is row n of image_emb. Scores are inner products."""
    count = len(text_emb)
    langs = [0] * count if langs is None else langs
    origin = [Origin.HUMAN] * count if origin is None else origin
    image_emb = torch.zeros(0, text_emb.shape[1]) if image_emb is None else image_emb
    on_device = torch.tensor(groups)
    return Step(
        image_emb=image_emb,
        text_emb=text_emb,
        word_average=torch.zeros(count, 1) if word_average is None else word_average,
        positives=torch.arange(len(image_emb)).unsqueeze(1) == on_device,
        images=torch.arange(len(image_emb)),
        groups=on_device,
        langs=torch.tensor(langs),
        columns=Columns(np.array(groups), np.array(langs), np.array(origin, np.int8)),
        clock=clock,
        similarity=lambda images, texts: images @ texts.T,
        reread=reread,
        pair_values={} if teacher_scores is None else {TEACHER_SCORES: teacher_scores},
        targets=targets,
    )

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from lingvis.similarity import SIMILARITIES, Cosine, Order


def sides() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(7, 5, generator=generator), torch.randn(4, 5, generator=generator)


def test_cosine_equals_a_naive_loop() -> None:
    images, texts = sides()
    measure = Cosine()
    scores = measure(measure.prepare_images(images), measure.prepare_texts(texts))
    for i, image in enumerate(images):
        for t, text in enumerate(texts):
            expected = float(image @ text) / (float(image.norm()) * float(text.norm()))
            assert float(scores[i, t]) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("rows", [1, 3, 100])
def test_order_equals_a_naive_loop_whatever_the_block(rows: int) -> None:
    measure = Order(rows=rows)
    images, texts = (measure.prepare_images(side) for side in sides())
    scores = measure(images, texts)
    for i, image in enumerate(images.tolist()):
        for t, text in enumerate(texts.tolist()):
            penalty = sum(max(0.0, b - a) ** 2 for a, b in zip(image, text, strict=True)) ** 0.5
            assert float(scores[i, t]) == pytest.approx(-penalty, abs=1e-5)


def test_order_is_zero_and_has_a_finite_gradient_where_the_order_holds() -> None:
    image = torch.tensor([[0.9, 0.8]], requires_grad=True)
    scores = Order()(image, torch.tensor([[0.5, 0.1]]))
    scores.sum().backward()
    assert float(scores.detach()) == pytest.approx(0.0, abs=1e-5)
    assert image.grad is not None
    assert torch.isfinite(image.grad).all()


def test_every_similarity_ranks_an_embedding_first_for_itself() -> None:
    images, _ = sides()
    for entry in SIMILARITIES:
        measure = entry.factory()
        if not measure.pooled:
            continue  # compares sets of vectors
        emb = measure.prepare_images(images)
        scores = measure(emb, emb)
        # Order: a picture lies above itself and, in random positions, above no other.
        assert scores.argmax(dim=1).tolist() == list(range(7))
        assert measure.indexable == torch.allclose(scores, emb @ emb.T)

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from lingvis.errors import UserError
from lingvis.similarity import SIMILARITIES, Cosine, Order


def sides() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(7, 5, generator=generator), torch.randn(4, 5, generator=generator)


def test_cosine_equals_a_naive_loop() -> None:
    images, texts = sides()
    measure = Cosine(input_dim=5)
    scores = measure(measure.prepare_images(images), measure.prepare_texts(texts))
    for i, image in enumerate(images):
        for t, text in enumerate(texts):
            expected = float(image @ text) / (float(image.norm()) * float(text.norm()))
            assert float(scores[i, t]) == pytest.approx(expected, abs=1e-6)


def test_short_embeddings_keep_the_main_directions_of_pictures() -> None:
    images, texts = sides()
    measure = Cosine(input_dim=5, dim=3)
    whole = measure.prepare_images(images)
    assert measure.output_dim(5) == whole.shape[1] == 5  # the training sees whole vectors
    measure.finish(lambda: whole)
    assert measure.output_dim(5) == 3
    # The main directions are the eigenvectors of the second moments, the largest eigenvalue first.
    moments = sum(torch.outer(image.double(), image.double()) for image in whole)
    values, vectors = torch.linalg.eigh(moments)
    main = vectors[:, values.argsort(descending=True)[:3]].float()
    for side in (images, texts):
        expected = torch.stack([row @ main / (row @ main).norm() for row in side])
        found = measure.prepare_texts(side)
        torch.testing.assert_close(found.abs(), expected.abs(), atol=1e-5, rtol=1e-4)  # the sign is free
        torch.testing.assert_close(found @ found.T, expected @ expected.T, atol=1e-5, rtol=1e-4)


def test_short_embeddings_are_loaded_as_they_were_saved() -> None:
    images, _ = sides()
    measure, unfitted, loaded = (Cosine(input_dim=5, dim=3) for _ in range(3))
    loaded.load_state_dict(unfitted.state_dict())
    assert loaded.output_dim(5) == 5
    measure.finish(lambda: measure.prepare_images(images))
    loaded.load_state_dict(measure.state_dict())
    assert loaded.output_dim(5) == 3
    assert torch.equal(loaded.prepare_images(images), measure.prepare_images(images))


def test_too_many_directions_are_rejected() -> None:
    images, _ = sides()
    with pytest.raises(UserError, match="choose at most 5"):
        Cosine(input_dim=5, dim=6)
    measure = Cosine(input_dim=5, dim=3)
    with pytest.raises(UserError, match="only 2 training pictures"):
        measure.check_pictures(2)
    measure.check_pictures(3)
    measure.finish(lambda: images)
    measure.check_pictures(0)  # fitted directions need no picture


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
        measure = entry.factory(**({"input_dim": 5} if entry.name == "cosine" else {}))
        if not measure.pooled:
            continue  # compares sets of vectors
        emb = measure.prepare_images(images)
        scores = measure(emb, emb)
        # Order: a picture lies above itself and, in random positions, above no other.
        assert scores.argmax(dim=1).tolist() == list(range(7))
        assert measure.indexable == torch.allclose(scores, emb @ emb.T)

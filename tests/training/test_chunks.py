"""A batch that is encoded in chunks: the same loss and gradients as at once, and what cannot be encoded so."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from lingvis.errors import UserError
from lingvis.training.batches import Batch
from lingvis.training.encoded import Encoded, chunk_count, in_chunks
from lingvis.training.prepare import prepare
from lingvis.training.run import open_with_features
from lingvis.training.task import RetrievalTask
from lingvis.training.validate import load_recipe
from lingvis.types import Clock

from .small_runs import OWN, SMALL, WORDS
from .test_live import SMALL as LIVE
from .test_live import drawings

__all__ = ["drawings"]  # a fixture

PLAIN = ["image.augment.name=none", "text.augment.name=none"]
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
RECIPES = {
    "lingvis_frozen": [
        *OWN["lingvis_frozen"],
        "image.encoder={name='linear',dim=24}",
        "text.encoder.dropout=0",
    ],
    "scan_t2i": WORDS,
    "vse_infinity_grid": WORDS,
}


def gradients(
    recipe: str, dataset: Path, out: Path, *more: str, device: str = "cpu"
) -> tuple[Tensor, dict[str, Tensor]]:
    """The loss of the first batch and its gradients."""
    options = LIVE if recipe == "lingvis" else [*SMALL, *RECIPES[recipe]]
    read = load_recipe(recipe, [*options, *more])
    run = prepare(read, *open_with_features(dataset, read.data.features), out, torch.device(device))
    run.task.train()
    torch.manual_seed(1)
    loss = run.task.loss(run.sampler.epoch(0, 0)[0], Clock()).total
    loss.backward()  # type: ignore[no-untyped-call]
    return loss, {name: each.grad for name, each in run.task.named_parameters() if each.grad is not None}


def assert_same(
    found: tuple[Tensor, dict[str, Tensor]], expected: tuple[Tensor, dict[str, Tensor]], share: float = 5e-6
) -> None:
    """share: of the largest gradient, the difference by rounding: sums of other lengths are rounded in other ways."""
    torch.testing.assert_close(found[0], expected[0], rtol=1e-6, atol=1e-6)
    assert found[1].keys() == expected[1].keys()
    largest = max(gradient.norm() for gradient in expected[1].values())
    for name, gradient in expected[1].items():
        assert (found[1][name] - gradient).norm() <= share * largest, name


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("chunk", [1, 5])
def test_chunks_give_the_gradients_of_the_whole_batch(
    recipe: str, chunk: int, rich_dataset: Path, tmp_path: Path
) -> None:
    whole = gradients(recipe, rich_dataset, tmp_path, *PLAIN, "training.chunk=0")
    assert_same(gradients(recipe, rich_dataset, tmp_path, *PLAIN, f"training.chunk={chunk}"), whole)


def test_a_network_and_its_classes_are_trained_in_chunks(drawings: Path, tmp_path: Path) -> None:
    # Imagined pictures of classes are drawn at random in every chunk.
    options = [
        *PLAIN,
        "image.encoder={name='linear',dim=16}",
        "image.pixels.name=none",
        "image.backbone.drop_path=0",
        "text.encoder.dropout=0",
    ]
    alone = [*options, "terms.class_names.weight=0"]
    whole = gradients("lingvis", drawings, tmp_path, *alone)
    assert_same(gradients("lingvis", drawings, tmp_path, *alone, "training.chunk=2"), whole, share=5e-5)
    loss, found = gradients("lingvis", drawings, tmp_path, *options, "training.chunk=2")
    assert torch.isfinite(loss) and "model.image.classes.table" in found


@pytest.mark.parametrize("device", DEVICES)
def test_random_numbers_are_the_same_the_second_time(device: str, rich_dataset: Path, tmp_path: Path) -> None:
    # One chunk draws what the whole batch draws: dropped vectors, changed words, dropout.
    found, whole, plain = (
        gradients(
            "vse_infinity_grid", rich_dataset, tmp_path, "training.precision=float32", *more, device=device
        )
        for more in (["text.encoder.dropout=0.5", "training.chunk=1000"], ["text.encoder.dropout=0.5"], PLAIN)
    )
    assert_same(found, whole)
    assert abs(float((plain[0] - whole[0]).detach())) > 1e-3  # something was drawn


def test_chunks_have_random_numbers_of_their_own(rich_dataset: Path, tmp_path: Path) -> None:
    read = load_recipe("vse_infinity_grid", [*SMALL, *WORDS, "training.chunk=5"])
    run = prepare(read, *open_with_features(rich_dataset, "toy-grid"), tmp_path, torch.device("cpu"))
    dropout = nn.Dropout(0.5)
    weight = torch.ones(8, requires_grad=True)
    seen: list[Tensor] = []

    def encode(chunk: Batch) -> Encoded:
        drawn = dropout(torch.ones(len(chunk.rows), 8))
        seen.append(drawn)
        values = drawn * weight
        return Encoded(values, values, values)

    parts = parts_of(run.task, run.sampler.epoch(0, 0)[0])
    vectors = in_chunks(encode, parts).text_emb
    first = list(seen)
    vectors.sum().backward()  # type: ignore[no-untyped-call]
    assert len(parts) > 2 and len(seen) == 2 * len(parts)
    assert torch.equal(torch.cat(first), vectors.detach())
    # The backward pass begins with the last chunk.
    for once, again in zip(first, reversed(seen[len(parts) :]), strict=True):
        assert torch.equal(once, again)
    assert not torch.equal(first[0], first[1])
    assert weight.grad is not None
    torch.testing.assert_close(weight.grad, torch.cat(first).sum(0))


def parts_of(task: RetrievalTask, rows: object) -> list[Batch]:
    batch = task._batches.cut(rows)  # type: ignore[arg-type]
    count = chunk_count(batch, 5)
    return [task._part(batch, number, count) for number in range(count)]


REFUSED = {
    "vse_infinity_region": "the batch norm of image.encoder residual_mlp needs",
    "embn": "the batch norm of image.encoder mlp needs",
    "dpc": "the batch norms of text.encoder convolutions need",
    "s_liwe": "the batch norms of text.words liwe need",
    "smalr": "term masked_pairs encodes",
}


@pytest.mark.parametrize("recipe", REFUSED)
def test_what_needs_the_whole_batch_is_refused(recipe: str) -> None:
    sentence = f"training.chunk is 8, but {REFUSED[recipe]} the whole batch at once; set training.chunk = 0"
    with pytest.raises(UserError, match=sentence):
        load_recipe(recipe, ["training.chunk=8"])

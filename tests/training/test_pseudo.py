"""Captions by detectors: which pictures they fit, which batches they come in, and what they add to the loss."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

from lingvis.data.dataset import Dataset
from lingvis.errors import UserError
from lingvis.features.store import FeatureStore
from lingvis.terms import DomainAdversaries, Origin
from lingvis.training.batches import _described_alike
from lingvis.training.prepare import prepare
from lingvis.training.run import train
from lingvis.training.sampling import PseudoSampler, Sampler, SentenceTable
from lingvis.training.sources.collect import collect_sentences
from lingvis.training.task import RetrievalTask
from lingvis.training.validate import load_recipe
from lingvis.types import Clock
from studies.sparse.forms import FIRST_FORM

from .origins import NO_PSEUDO, described, of, pseudo

SMALL = [
    "data.features=toy-grid",
    "data.images=0.5",
    "training.batch_size=6",
    "image.encoder.dim=24",
    "text.encoder.dim=24",
    "text.tokenizer.min_count=1",
    "text.words.dim=16",
    "image.pooling.hidden=6",
    "text.pooling.hidden=6",
    "terms.domains.hidden=6",
    "training.sampling.least_steps=2",
]


def table() -> SentenceTable:
    """Four human captions, then pictures 5 to 8 with pseudo captions 4 to 8; 7 in two languages."""
    groups = np.array([0, 1, 2, 3, 5, 6, 7, 7, 8])
    langs = np.array([0, 0, 0, 0, 0, 0, 0, 1, 0])
    origin = np.array([Origin.HUMAN] * 4 + [Origin.PSEUDO] * 5, np.int8)
    return SentenceTable(groups, langs, np.full(9, 3), origin)


def test_a_caption_fits_every_picture_that_is_described_alike() -> None:
    groups, wordings = np.array([5, 6, 7, 7, 8]), np.array([0, 1, 2, 3, 1])  # 6 and 8 are described alike
    images = np.array([1, 5, 6, 7, 8])
    expected = [
        [0, 0, 0, 0, 0],
        [1, 0, 0, 0, 0],
        [0, 1, 0, 0, 1],
        [0, 0, 1, 1, 0],
        [0, 1, 0, 0, 1],
    ]
    assert _described_alike(images[:, None] == groups, wordings).astype(int).tolist() == expected
    # Nothing is known of pictures whose captions are not in the batch.
    assert _described_alike(np.array([[True], [False]]), np.array([1])).tolist() == [[True], [False]]


class TwoBatches(Sampler):
    def batch_count(self) -> int:
        return 2

    def epoch(self, seed: int, epoch: int) -> list[np.ndarray]:
        return [np.array([0, 1]), np.array([2, 3])]


def test_pictures_without_human_captions_follow_in_every_batch() -> None:
    sentences = table()
    sampler = PseudoSampler(TwoBatches(), sentences, pictures=2, one_each=False)
    first, second = sampler.epoch(0, 0)
    assert first[:2].tolist() == [0, 1]
    assert second[:2].tolist() == [2, 3]
    drawn = sorted([*first[2:], *second[2:]])
    assert drawn == [4, 5, 6, 7, 8]  # each of four pictures once, with all its captions
    for batch in (first, second):
        assert (np.diff(sentences.langs[batch[2:]]) >= 0).all()
    assert [b.tolist() for b in sampler.epoch(0, 0)] == [first.tolist(), second.tolist()]
    # More than there are: a picture never comes twice in a batch.
    wide = PseudoSampler(TwoBatches(), sentences, pictures=100, one_each=False)
    assert sorted(wide.epoch(0, 3)[1][2:]) == [4, 5, 6, 7, 8]
    one = PseudoSampler(TwoBatches(), sentences, pictures=100, one_each=True)
    assert sorted(sentences.groups[one.epoch(0, 0)[0][2:]]) == [5, 6, 7, 8]


def made(dataset: Path, out: Path, *more: str) -> tuple[RetrievalTask, np.ndarray]:
    recipe = load_recipe("a3vse", [*SMALL, *more])
    opened = Dataset.open(dataset)
    store = FeatureStore.open(dataset / "features" / "toy-grid")
    run = prepare(recipe, opened, store, out, torch.device("cpu"))
    return run.task.eval(), run.sampler.epoch(0, 0)[0]


def test_adversaries_judge_short_embeddings_of_a_model_to_start_from(
    rich_dataset: Path, tmp_path: Path
) -> None:
    short = "similarity.dim=5"
    train(
        "a3vse",
        rich_dataset,
        tmp_path / "first",
        overrides=[*SMALL, short, "training.epochs=1"],
        device="cpu",
    )
    begin = [f"start.run={tmp_path / 'first'}", 'start.parts=["image", "similarity"]']
    task, rows = made(rich_dataset, tmp_path / "second", short, *begin)
    loss = task.loss(rows, Clock(step=5))
    assert task.model.dim == 5
    assert float(loss.parts["domains"].detach()) > 0
    loss.total.backward()  # type: ignore[no-untyped-call]
    whole, _ = made(rich_dataset, tmp_path / "third", short)
    assert whole.model.dim == 72  # three heads side by side; shortened after the training


def hinges(scores: torch.Tensor, positives: torch.Tensor, right: torch.Tensor, margin: float) -> float:
    """Equation 2 by loops: pictures and sentences as queries, the hardest negative, the sum over pairs.

    right: the pairs that are no negatives.
    """
    total = 0.0
    for i, t in positives.nonzero().tolist():
        row = [float(scores[i, o]) for o in range(scores.shape[1]) if not right[i, o]]
        column = [float(scores[o, t]) for o in range(scores.shape[0]) if not right[o, t]]
        total += sum(max(0.0, margin - float(scores[i, t]) + max(each)) for each in (row, column) if each)
    return total


@pytest.mark.parametrize(("form", "mean", "weight"), [((), False, 1.0), (FIRST_FORM, True, 0.03)])
def test_the_loss_is_equation_9(
    form: Sequence[str], mean: bool, weight: float, rich_dataset: Path, tmp_path: Path
) -> None:
    """With the mean over pairs, as in the paper, or their sum."""
    task, rows = made(rich_dataset, tmp_path, "training.precision=float32", *form)
    sentences = collect_sentences(load_recipe("a3vse", SMALL), Dataset.open(rich_dataset), ["en"])
    clock = Clock(step=5, epoch=1)  # all negatives count in the first epoch
    with torch.no_grad():
        found = task.loss(rows, clock)
        people = [row for row in rows if sentences.origin[row] == Origin.HUMAN]
        others = [row for row in rows if sentences.origin[row] == Origin.PSEUDO]
        assert people and others
        total = 0.0
        step = task._encode(task._batches.cut(rows), clock)
        pictures = task._batches.cut(rows).tensors.images.tolist()
        for name, some, share, margin in (("people", people, 0.8, 0.2), ("detectors", others, 0.2, 0.3)):
            images = sorted({int(sentences.groups[row]) for row in some})
            image_emb = step.image_emb[[pictures.index(image) for image in images]]
            text_emb = step.text_emb[np.isin(rows, some)]
            said = [sentences.texts[row] for row in some]
            own = {
                image: {said[n] for n, row in enumerate(some) if sentences.groups[row] == image}
                for image in images
            }
            positives = [[sentences.groups[row] == image for row in some] for image in images]
            right = [
                [positives[m][n] or (name == "detectors" and said[n] in own[image]) for n in range(len(some))]
                for m, image in enumerate(images)
            ]
            value = hinges(image_emb @ text_emb.T, torch.tensor(positives), torch.tensor(right), margin)
            total += share * (value / np.sum(positives) if mean else value)
        total += weight * float(task.terms["domains"](step))
    assert float(found.total) == pytest.approx(total, rel=1e-4)


def test_each_part_can_be_left_out(rich_dataset: Path, tmp_path: Path) -> None:
    whole = collect_sentences(load_recipe("a3vse", SMALL), Dataset.open(rich_dataset), ["en"])
    without = collect_sentences(
        load_recipe("a3vse", [*SMALL, *NO_PSEUDO]), Dataset.open(rich_dataset), ["en"]
    )
    assert without.texts == [text for text, _ in of(whole, Origin.HUMAN)]
    assert without.images == described(whole)
    task, rows = made(rich_dataset, tmp_path / "a", *NO_PSEUDO)
    assert (whole.origin[rows] == Origin.HUMAN).all()
    assert float(task.loss(rows, Clock()).total.detach()) > 0  # adversaries have nothing to tell apart
    some, rows = made(rich_dataset, tmp_path / "b", "terms.domains.cross=[0.0, 0.0]")
    adversaries = some.terms["domains"]
    assert isinstance(adversaries, DomainAdversaries)
    assert len(adversaries.discriminators) == 4
    assert some.loss(rows, Clock()).total.isfinite()


def test_what_detectors_wrote(rich_dataset: Path) -> None:
    sentences = collect_sentences(load_recipe("a3vse", SMALL), Dataset.open(rich_dataset), ["en"])
    made = {image: text for (image, _), text in pseudo(sentences).items()}
    assert made
    assert not set(made) & set(described(sentences))
    for image, text in made.items():
        colour, thing = Path(image).stem.split("-")
        assert text == f"{colour} {thing}"
    left = set(sentences.images) - set(made) - set(described(sentences))
    assert all("ball" in image for image in left)  # nothing was seen there


def test_clear_errors(rich_dataset: Path, toy_dataset: Path, tmp_path: Path) -> None:
    dataset = Dataset.open(rich_dataset)
    with pytest.raises(UserError, match="every training picture has human captions"):
        collect_sentences(
            load_recipe("a3vse", [*SMALL, "data.images=1.0", "data.per_image=0"]), dataset, ["en"]
        )
    with pytest.raises(UserError, match="has no regions with labels"):
        collect_sentences(load_recipe("a3vse", SMALL), Dataset.open(toy_dataset), ["en"])
    with pytest.raises(UserError, match="no labels in de"):
        collect_sentences(load_recipe("a3vse", SMALL), dataset, ["de"])
    names = tmp_path / "names.txt"
    with pytest.raises(UserError, match="cannot be read"):
        collect_sentences(load_recipe("a3vse", [*SMALL, f"data.annotated={names}"]), dataset, ["en"])
    names.write_text("nowhere.png\n")
    with pytest.raises(UserError, match=r"names 'nowhere\.png', which has no training captions"):
        collect_sentences(load_recipe("a3vse", [*SMALL, f"data.annotated={names}"]), dataset, ["en"])
    image = collect_sentences(load_recipe("vsepp", ["data.features=toy-grid"]), dataset, ["en"]).images[3]
    names.write_text(f"\n{image}\n")
    sentences = collect_sentences(load_recipe("a3vse", [*SMALL, f"data.annotated={names}"]), dataset, ["en"])
    assert described(sentences) == [image]

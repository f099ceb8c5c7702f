"""Captions by detectors: which pictures they fit, which batches they come in, and what they add to the loss."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from lingvis.data.dataset import Dataset
from lingvis.errors import UserError
from lingvis.features.store import FeatureStore
from lingvis.terms import DomainAdversaries, Domains
from lingvis.training.validate import load_recipe
from lingvis.training.lessons import find_lessons
from lingvis.training.pseudo import PseudoCaptions, WithPseudo
from lingvis.training.run import prepare
from lingvis.training.task import RetrievalTask
from lingvis.types import Clock

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


def captions() -> PseudoCaptions:
    """Pictures 5 to 8 with captions 20 to 24; 6 and 8 are described alike, 7 in two languages."""
    groups, wordings = np.array([5, 6, 7, 7, 8]), np.array([0, 1, 2, 3, 1])
    return PseudoCaptions(20, groups, wordings, 0.2, torch.nn.Identity())


def test_a_caption_fits_every_picture_that_is_described_alike() -> None:
    images, rows = np.array([1, 5, 6, 7, 8]), np.array([20, 21, 22, 23, 24])
    expected = [
        [0, 0, 0, 0, 0],
        [1, 0, 0, 0, 0],
        [0, 1, 0, 0, 1],
        [0, 0, 1, 1, 0],
        [0, 1, 0, 0, 1],
    ]
    assert captions().matches(images, rows).astype(int).tolist() == expected
    # Of what is not in the batch nothing is known.
    assert captions().matches(np.array([6, 8]), np.array([21])).tolist() == [[True], [False]]


class TwoBatches:
    def batch_count(self) -> int:
        return 2

    def epoch(self, seed: int, epoch: int) -> list[np.ndarray]:
        return [np.array([0, 1]), np.array([2, 3])]


def test_batches_have_pictures_without_annotation_behind() -> None:
    langs = np.array([0, 0, 0, 1, 0])
    sampler = WithPseudo(TwoBatches(), captions(), langs, pictures=2)
    first, second = sampler.epoch(0, 0)
    assert first[:2].tolist() == [0, 1]
    assert second[:2].tolist() == [2, 3]
    drawn = sorted([*first[2:], *second[2:]])
    assert drawn == [20, 21, 22, 23, 24]  # each of four pictures once, with all its captions
    for batch in (first, second):
        behind = batch[2:] - 20
        assert (np.diff(langs[behind]) >= 0).all()
    assert [b.tolist() for b in sampler.epoch(0, 0)] == [first.tolist(), second.tolist()]
    # More than there are: a picture never comes twice in a batch.
    wide = WithPseudo(TwoBatches(), captions(), langs, pictures=100)
    assert sorted(wide.epoch(0, 3)[1][2:]) == [20, 21, 22, 23, 24]


def made(dataset: Path, out: Path, *more: str) -> tuple[RetrievalTask, np.ndarray]:
    recipe = load_recipe("a3vse", [*SMALL, *more])
    opened = Dataset.open(dataset)
    store = FeatureStore.open(dataset / "features" / "toy-grid")
    _, task, sampler = prepare(recipe, opened, store, out, torch.device("cpu"))
    return task.eval(), sampler.epoch(0, 0)[0]


def hinges(scores: torch.Tensor, positives: torch.Tensor, margin: float) -> float:
    """Equation 2 by loops: pictures and sentences as queries, the hardest negative, the mean over pairs."""
    total, pairs = 0.0, 0
    for i, t in positives.nonzero().tolist():
        row = [float(scores[i, o]) for o in range(scores.shape[1]) if not positives[i, o]]
        column = [float(scores[o, t]) for o in range(scores.shape[0]) if not positives[o, t]]
        total += sum(max(0.0, margin - float(scores[i, t]) + max(each)) for each in (row, column) if each)
        pairs += 1
    return total / pairs


def test_the_loss_is_equation_9(rich_dataset: Path, tmp_path: Path) -> None:
    task, rows = made(rich_dataset, tmp_path, "training.precision=float32")
    lessons = find_lessons(load_recipe("a3vse", SMALL), Dataset.open(rich_dataset), ["en"])
    clock = Clock(step=5)
    with torch.no_grad():
        found = task.loss(rows, clock)
        people = [row for row in rows if row < lessons.pseudo]
        others = [row for row in rows if row >= lessons.pseudo]
        assert people and others
        total, parts = 0.0, {}
        for name, some, share, margin in (("people", people, 0.8, 0.2), ("detectors", others, 0.2, 0.3)):
            images = sorted({int(lessons.groups[row]) for row in some})
            image_emb, text_emb, _ = task._encode(np.array(some), np.array(images))
            said = [lessons.texts[row] for row in some]
            own = {
                image: {said[n] for n, row in enumerate(some) if lessons.groups[row] == image}
                for image in images
            }
            right = [
                [
                    lessons.groups[row] == image or (name == "detectors" and said[n] in own[image])
                    for n, row in enumerate(some)
                ]
                for image in images
            ]
            total += share * hinges(image_emb @ text_emb.T, torch.tensor(right), margin)
            parts[name] = (image_emb, text_emb)
        domains = Domains(*parts["people"], *parts["detectors"])
        total += 0.03 * float(task.terms["domains"](domains, clock))
    assert float(found.total) == pytest.approx(total, rel=1e-4)


def test_each_part_can_be_left_out(rich_dataset: Path, tmp_path: Path) -> None:
    whole = find_lessons(load_recipe("a3vse", SMALL), Dataset.open(rich_dataset), ["en"])
    without = find_lessons(
        load_recipe("a3vse", [*SMALL, "pseudo.weight=0.0"]), Dataset.open(rich_dataset), ["en"]
    )
    assert without.texts == whole.texts[: whole.pseudo] == whole.captions.texts
    assert without.images == whole.captions.images
    task, rows = made(rich_dataset, tmp_path / "a", "pseudo.weight=0.0")
    assert rows.max() < whole.pseudo
    assert float(task.loss(rows, Clock()).total.detach()) > 0  # adversaries have nothing to tell apart
    some, rows = made(rich_dataset, tmp_path / "b", "terms.domains.cross=[0.0, 0.0]")
    adversaries = some.terms["domains"]
    assert isinstance(adversaries, DomainAdversaries)
    assert len(adversaries.discriminators) == 4
    assert some.loss(rows, Clock()).total.isfinite()


def test_what_detectors_wrote(rich_dataset: Path) -> None:
    lessons = find_lessons(load_recipe("a3vse", SMALL), Dataset.open(rich_dataset), ["en"])
    made = {
        lessons.images[g]: text
        for g, text in zip(lessons.groups[lessons.pseudo :], lessons.texts[lessons.pseudo :], strict=True)
    }
    assert made
    assert not set(made) & set(lessons.captions.images)
    for image, text in made.items():
        colour, thing = Path(image).stem.split("-")
        assert text == f"{colour} {thing}"
    left = set(lessons.images) - set(made) - set(lessons.captions.images)
    assert all("ball" in image for image in left)  # nothing was seen there


def test_clear_errors(rich_dataset: Path, toy_dataset: Path, tmp_path: Path) -> None:
    dataset = Dataset.open(rich_dataset)
    with pytest.raises(UserError, match="every training image is annotated"):
        find_lessons(load_recipe("a3vse", [*SMALL, "data.images=1.0", "data.per_image=0"]), dataset, ["en"])
    with pytest.raises(UserError, match="has no regions with labels"):
        find_lessons(load_recipe("a3vse", SMALL), Dataset.open(toy_dataset), ["en"])
    with pytest.raises(UserError, match="no labels in de"):
        find_lessons(load_recipe("a3vse", SMALL), dataset, ["de"])
    names = tmp_path / "names.txt"
    with pytest.raises(UserError, match="cannot be read"):
        find_lessons(load_recipe("a3vse", [*SMALL, f"data.annotated={names}"]), dataset, ["en"])
    names.write_text("nowhere.png\n")
    with pytest.raises(UserError, match=r"names 'nowhere\.png', which has no training captions"):
        find_lessons(load_recipe("a3vse", [*SMALL, f"data.annotated={names}"]), dataset, ["en"])
    image = find_lessons(load_recipe("vsepp", ["data.features=toy-grid"]), dataset, ["en"]).images[3]
    names.write_text(f"\n{image}\n")
    lessons = find_lessons(load_recipe("a3vse", [*SMALL, f"data.annotated={names}"]), dataset, ["en"])
    assert lessons.captions.images == [image]

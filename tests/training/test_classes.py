"""Names of classes in training: their sentences, their batches, and what a model learns from them."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from lingvis.data.class_names import read_concepts
from lingvis.errors import UserError
from lingvis.model.embedder import Embedder
from lingvis.terms import Origin
from lingvis.training.batches import Batches
from lingvis.training.prepare import prepare
from lingvis.training.run import open_with_features
from lingvis.training.sampling import ClassSampler
from lingvis.training.sampling.base import Sampler
from lingvis.training.sources import Sentences
from lingvis.training.sources.class_names import add_class_names
from lingvis.training.validate import load_recipe

from .small_runs import weights
from .test_live import SMALL, drawings, trained

__all__ = ["drawings", "trained"]  # fixtures
CAPTIONS = ["two men ride along the river", "a boy on the wall", "zwei Hunde am Strand", "海滩上有一只狗"]
LANGS = ["en", "en", "de", "zh"]


@pytest.fixture(scope="module")
def sentences() -> Sentences:
    human = Sentences(
        ["1.jpg", "2.jpg"],
        CAPTIONS,
        LANGS,
        np.array([0, 1, 1, 0]),
        np.zeros(4, np.int8),
        np.ones(4, bool),
    )
    return add_class_names(human, ["en", "de", "zh"], seed=3)


def test_every_class_has_its_names_alone_and_among_words_of_captions(sentences: Sentences) -> None:
    concepts = read_concepts()
    rows = sentences.rows(Origin.CLASS)
    assert rows.tolist() == list(range(4, len(sentences.texts)))
    classes = sentences.classes
    assert classes is not None
    for number in (96, 963):  # toucan, pizza
        mine = [row for row in rows if classes.classes(sentences.groups[row]) == number]
        english = [sentences.texts[row] for row in mine if sentences.langs[row] == "en"]
        own = concepts[number].names["en"]
        general = {name for each in concepts if number in each.classes for name in each.names["en"]}
        assert set(own) <= set(english)
        words = {word for text in CAPTIONS for word in text.split()}
        for text in english:
            name = max((each for each in general if each in text), key=len)
            assert set(text.replace(name, "").split()) <= words
        assert any(text not in general for text in english)
        for row in mine:
            concept = concepts[classes.concepts[row - classes.first_row]]
            assert any(name in sentences.texts[row] for name in concept.names[sentences.langs[row]])
            assert number in concept.classes


def test_a_general_name_names_all_of_its_classes(sentences: Sentences) -> None:
    classes = sentences.classes
    assert classes is not None
    rows = np.array(
        [row for row in sentences.rows(Origin.CLASS) if sentences.texts[row] in ("bird", "pizza")]
    )
    named = classes.named(rows, np.array([96, 963, 10]))  # toucan, pizza, brambling
    expected = {"bird": [True, False, True], "pizza": [False, True, False]}
    assert {"bird", "pizza"} == {sentences.texts[row] for row in rows}
    assert named.T.tolist() == [expected[sentences.texts[row]] for row in rows]


def test_names_of_classes_need_a_language_that_has_some() -> None:
    human = Sentences(["1.jpg"], ["?"], ["xx"], np.array([0]), np.zeros(1, np.int8), np.ones(1, bool))
    langs = add_class_names(human, ["xx", "mn"], seed=0).langs
    assert (langs.count("xx"), set(langs)) == (1, {"xx", "mn"})
    with pytest.raises(UserError, match="classes have no names in xx; they have some in ar, bo, cs"):
        add_class_names(human, ["xx"], seed=0)


def test_groups_of_classes_are_none_of_a_picture() -> None:
    images = ["1.jpg", "2.jpg", "3.jpg"]  # the last two have no sentence
    human = Sentences(images, ["?"], ["en"], np.array([0]), np.zeros(1, np.int8), np.ones(1, bool))
    assert add_class_names(human, ["en"], seed=0).groups[1:].min() == 3


def test_classes_that_share_a_name_are_no_negatives_of_it(sentences: Sentences) -> None:
    concepts, classes = read_concepts(), sentences.classes
    assert classes is not None
    machine, bird = 517, 134
    assert "crane" in concepts[machine].names["en"] and "crane" in concepts[bird].names["en"]
    rows = sentences.rows(Origin.CLASS)
    crane = rows[[sentences.texts[row] == "crane" for row in rows]]
    assert len(crane) >= 2
    assert classes.named(crane, np.array([machine, bird, 963])).T.tolist() == [[True, True, False]] * len(
        crane
    )


def test_batches_have_names_of_some_classes_in_some_languages(drawings: Path, tmp_path: Path) -> None:
    recipe = load_recipe("lingvis", SMALL)
    dataset, store = open_with_features(drawings, recipe.data.features)
    run = prepare(recipe, dataset, store, tmp_path / "run", torch.device("cpu"))
    batches: Batches = run.task._batches
    assert isinstance(run.sampler, ClassSampler)
    first: list[Sampler] = [run.sampler, run.sampler]
    one, same = (sampler.epoch(0, 1) for sampler in first)
    assert all(np.array_equal(a, b) for a, b in zip(one, same, strict=True))
    batch = batches.cut(one[0])
    tensors = batch.tensors
    assert tensors.class_positives is not None and tensors.class_named is not None
    names = batch.columns.origin == Origin.CLASS
    assert len(tensors.classes) == recipe.training.batch_size
    assert names.sum() == 2 * recipe.training.batch_size  # the dataset has two languages
    assert tensors.class_positives.sum(dim=0).tolist() == [1] * int(names.sum())
    assert tensors.class_positives.sum(dim=1).tolist() == [2] * recipe.training.batch_size
    assert not tensors.positives[:, torch.from_numpy(names)].any()
    assert (tensors.class_positives & ~tensors.class_named).sum() == 0
    known = run.task._known_classes
    assert known is not None and known.shape == (8, 1000)


def test_training_teaches_names_and_keeps_classes(trained: Path, drawings: Path) -> None:
    before = weights(trained)
    assert before["image.classes.table"].shape == (1000, 16)
    assert before["image.classes.classifier.weight"].shape == (1000, 1280)
    model = Embedder.load(trained, device="cpu")
    assert model.dim == 6
    assert model.encode_texts(["toucan"], "en").shape == (1, 6)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (["training.graphs=true"], "training.graphs is true, but image.backbone is trained"),
        (["image.classes.name=none"], "data.classes is true, but image.classes is none"),
        (["similarity={name='cross_attention'}"], "image.classes is named, but similarity cross_attention"),
        (["terms.matching.hidden=0.2"], "terms.matching hides words in every batch, which names of classes"),
        (
            ["terms.masked={name='masked_pairs', weight=1.0}"],
            "data.classes is true, but term masked_pairs hides words",
        ),
        (
            [
                "terms.matching.weight=0",
                "terms.distance={name='teacher_distance', weight=1.0}",
                "teacher={name='start'}",
                'start.parts=["image"]',
                "start.run=model",
            ],
            "data.classes is true, but no term compares pictures",
        ),
        (
            ["data.text_only=true", 'training.sampling={name="meanings"}'],
            "training.sampling meanings has batches of text-only sentences",
        ),
        (["data.classes=false"], "needs image.classes.name = named and data.classes = true"),
    ],
)
def test_recipes_with_classes_that_do_not_fit_are_rejected(changes: list[str], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        load_recipe("lingvis", [*SMALL, *changes])


def test_directions_that_are_zero_are_reported_as_damage(trained: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged"
    shutil.copytree(trained, damaged)
    tensors = load_file(damaged / "model.safetensors")
    tensors["similarity.directions"].zero_()
    save_file(tensors, damaged / "model.safetensors")
    with pytest.raises(UserError, match=r"similarity\.directions is zero"):
        Embedder.load(damaged, device="cpu")

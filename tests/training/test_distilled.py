"""A text side that imitates another one: the languages are new, the pictures stay where they are."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from lingvis.collection.binding import image_fingerprint
from lingvis.data.dataset import Dataset, write_rows
from lingvis.errors import UserError
from lingvis.model.embedder import Embedder
from lingvis.model.folder import CHECKPOINT
from lingvis.model.stored import StoredImages
from lingvis.training.prepare import prepare
from lingvis.training.run import open_with_features, train
from lingvis.training.sources.collect import collect_sentences
from lingvis.training.start.model import check_image_weights
from lingvis.training.text_teachers import find_targets
from lingvis.training.text_teachers.start import StartTeacher
from lingvis.training.validate import load_recipe

from ..conftest import COLOURS, THINGS, make_toy_dataset
from .small_runs import Killed, kill_at, weights

CPU = torch.device("cpu")
IMAGE = ['image.encoder={name="residual_mlp",dim=24,hidden=12,dropout=0.3}', 'image.pooling={name="gpo"}']
TEXT = [
    "data.features=toy-grid",
    "training.batch_size=16",
    "text.words.dim=16",
    "text.words.buckets=500",
    "text.encoder.dim=24",
]


@pytest.fixture(scope="module")
def translations(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy dataset with translated sentences without pictures; no training picture has a German caption."""
    folder = make_toy_dataset(tmp_path_factory.mktemp("distilled") / "data")
    rows = [
        row.model_copy(update={"captions": {"en": row.captions["en"]}}) if row.split == "train" else row
        for row in Dataset.open(folder).rows
    ]
    write_rows(folder / "captions.jsonl", rows)
    lines = [
        json.dumps({"id": f"{c}-{t}", "captions": {"en": [f"a {c} {t}"], "de": [f"Ein {ding} ist {farbe}."]}})
        for c, farbe in COLOURS.items()
        for t, ding in THINGS.items()
    ]
    lines.append(json.dumps({"id": "alone", "captions": {"de": ["Ein Satz ohne Begleiter"]}}))
    (folder / "text-only.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def teacher(translations: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of English alone."""
    run = tmp_path_factory.mktemp("distilled") / "teacher"
    options = [
        *TEXT,
        "image.encoder.dim=24",
        "image.encoder.hidden=12",
        "training.epochs=10",
        'data.languages=["en"]',
    ]
    train(
        "lingvis_frozen", translations, run, overrides=[*options, "training.sampling.passes=8"], device="cpu"
    )
    return run


def student_of(teacher: Path, *more: str) -> list[str]:
    return [
        *TEXT,
        *IMAGE,
        "text.head.dim=24",
        "teacher.name=start",
        f"start.run={teacher}",
        'start.parts=["image"]',
        "training.epochs=3",
        "training.sampling.passes=30",
        *more,
    ]


@pytest.fixture(scope="module")
def student(translations: Path, teacher: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("distilled") / "student"
    train("distilled_text", translations, run, overrides=student_of(teacher), device="cpu")
    return run


def test_targets_are_the_teachers_embeddings_of_the_meaning(translations: Path, teacher: Path) -> None:
    recipe = load_recipe("distilled_text", student_of(teacher))
    sentences = collect_sentences(recipe, Dataset.open(translations), ["en", "de"])
    targets = find_targets(StartTeacher(start_run=str(teacher)), sentences, CPU)
    got = targets.of(np.arange(len(sentences.texts))).numpy()
    model = Embedder.load(teacher, device="cpu")
    for row, (text, lang, group) in enumerate(
        zip(sentences.texts, sentences.langs, sentences.groups, strict=True)
    ):
        english = [
            other
            for place, other in enumerate(sentences.texts)
            if sentences.langs[place] == "en" and sentences.groups[place] == group
        ]
        if text == "Ein Satz ohne Begleiter":
            assert not english and not got[row].any()
            continue
        vectors = model.encode_texts([text] if lang == "en" else english, "en").sum(axis=0)
        np.testing.assert_allclose(got[row], vectors / np.linalg.norm(vectors), atol=1e-3)


def test_a_student_answers_in_a_language_that_its_teacher_does_not_know(
    translations: Path, teacher: Path, student: Path, tmp_path: Path
) -> None:
    untrained = tmp_path / "untrained"
    overrides = student_of(teacher, "optimizer.lr=1e-12", "training.epochs=1", "training.sampling.passes=1")
    train("distilled_text", translations, untrained, overrides=overrides, device="cpu")
    blind, imitator = (mean_ranks(run, translations) for run in (untrained, student))
    known = mean_ranks(teacher, translations)["en"]
    assert known < 5  # of 36 pictures
    for lang in ("en", "de"):
        assert blind[lang] > 12
        assert imitator[lang] < 0.5 * blind[lang]


def mean_ranks(run: Path, dataset: Path) -> dict[str, float]:
    """The mean rank of the right picture among all pictures, by language, for pictures that were not trained on."""
    model, opened = Embedder.load(run, device="cpu"), Dataset.open(dataset)
    images = StoredImages.open(model, opened).encode([row.image for row in opened.rows])
    ranks: dict[str, list[int]] = {lang: [] for lang in model.languages}
    for place, row in enumerate(opened.rows):
        for lang, found in ranks.items():
            if row.split != "train":
                scores = images @ model.encode_texts(row.captions[lang][:1], lang)[0]
                found.append(int((scores >= scores[place]).sum()))
    return {lang: float(np.mean(found)) for lang, found in ranks.items()}


def test_the_image_side_is_the_teachers(
    translations: Path, teacher: Path, student: Path, tmp_path: Path
) -> None:
    first, second = weights(teacher), weights(student)
    image = [name for name in first if name.startswith("image.")]
    assert image and all(torch.equal(first[name], second[name]) for name in image)
    models = [Embedder.load(run, device="cpu") for run in (teacher, student)]
    assert image_fingerprint(models[0]) == image_fingerprint(models[1])
    names = [row.image for row in Dataset.open(translations).rows]
    vectors = [StoredImages.open(model, Dataset.open(translations)).encode(names) for model in models]
    np.testing.assert_array_equal(vectors[0], vectors[1])
    config = json.loads((student / "config.json").read_text())
    assert config["languages"] == ["en", "de"]
    text = sum(each.numel() for each in models[1].model.text.parameters())
    assert config["parameters"]["training"] == text  # nothing else was trained


def test_a_killed_run_ends_as_if_it_had_not_been(
    translations: Path, teacher: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = student_of(teacher, "training.sampling.passes=1", "training.checkpoint_seconds=0")
    whole = train("distilled_text", translations, tmp_path / "whole", overrides=options, device="cpu")
    run = tmp_path / "killed"
    with monkeypatch.context() as patched:
        kill_at(7, patched)
        with pytest.raises(Killed):
            train("distilled_text", translations, run, overrides=options, device="cpu")
    assert (run / CHECKPOINT).exists()
    train("distilled_text", translations, run, overrides=options, resume=True, device="cpu")
    expected = weights(whole.path)
    assert all(torch.equal(tensor, expected[name]) for name, tensor in weights(run).items())


def test_a_dataset_without_training_pictures_is_enough(
    translations: Path, teacher: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "data"
    shutil.copytree(translations, folder)
    rows = [row for row in Dataset.open(folder).rows if row.split != "train"]
    write_rows(folder / "captions.jsonl", rows)
    overrides = student_of(teacher)
    trained = train("distilled_text", folder, tmp_path / "run", overrides=overrides, device="cpu")
    assert mean_ranks(trained.path, folder)["de"] < 6  # of 18 pictures
    overrides = student_of(teacher, 'training.sampling={name="images",text_only=1.0}')
    with pytest.raises(UserError, match=r"and none has a caption; set training\.sampling\.name = meanings"):
        train("distilled_text", folder, tmp_path / "images", overrides=overrides, device="cpu")


def test_an_image_side_that_nothing_trains_must_be_copied(teacher: Path) -> None:
    model = Embedder.load(teacher, device="cpu").model
    for parts in (["image"], ["image.encoder", "image.pooling"]):
        check_image_weights(model, parts)
    for parts, missing in ((["text"], "image.encoder."), (["image.encoder"], "image.pooling.")):
        with pytest.raises(UserError, match=f"no term compares pictures, so {re.escape(missing)}"):
            check_image_weights(model, parts)


def test_pictures_join_where_a_term_compares_them(translations: Path, teacher: Path, tmp_path: Path) -> None:
    options = student_of(
        teacher,
        'terms.pictures={name="matching",weight=1.0,objective={name="contrastive",temperature=0.05}}',
        'optimizer.factors={"image"=0.0}',
    )
    recipe = load_recipe("distilled_text", options)
    opened = open_with_features(translations, "toy-grid")
    run = prepare(recipe, *opened, tmp_path, CPU)
    batch = run.task._batches.cut(run.sampler.epoch(0, 0)[0])
    assert len(batch.tensors.images) and batch.tensors.targets is not None
    alone = prepare(load_recipe("distilled_text", student_of(teacher)), *opened, tmp_path, CPU)
    assert not len(alone.task._batches.cut(alone.sampler.epoch(0, 0)[0]).tensors.images)


def test_the_vectors_of_a_finished_tower_stay_as_they_are(translations: Path, tmp_path: Path) -> None:
    tower = ['image.encoder={name="none"}', 'image.pooling={name="mean"}', "image.augment.name=none"]
    head = 'text.head={name="linear",dim=12}'
    options = [
        *TEXT,
        *tower,
        head,
        "training.epochs=1",
        "training.sampling.passes=1",
        'data.languages=["en"]',
    ]
    first = train("lingvis_frozen", translations, tmp_path / "tower", overrides=options, device="cpu")
    assert first.config.parameters["image"] == 0
    options = student_of(first.path, *tower, head, "training.sampling.passes=1")
    second = train("distilled_text", translations, tmp_path / "student", overrides=options, device="cpu")
    store = open_with_features(translations, "toy-grid")[1]
    stored = np.asarray(store[3], np.float32).mean(axis=0)
    encoded = second.embedder.encode_features([store[3]])[0]
    np.testing.assert_allclose(encoded, stored / np.linalg.norm(stored), atol=1e-6)
    for size in (10, 24):
        wrong = student_of(first.path, *tower, f'text.head={{name="linear",dim={size}}}')
        with pytest.raises(
            UserError, match=f"a sentence has {size} values, but the pictures have 12; set text.head"
        ):
            train("distilled_text", translations, tmp_path / "wrong", overrides=wrong, device="cpu")


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (
            ["teacher.languages=['fr']"],
            "teacher.languages names fr, but model teacher has en; choose from these",
        ),
        (["teacher.name=nobody"], "unknown teacher 'nobody'; choose one of: none, open_clip, start"),
        (["teacher.name=none"], "terms.distance imitates a teacher, but teacher.name is none"),
        (["start.parts=[]"], 'copy its image side with start.parts=["image"]'),
        (["start.run="], "but start.run names none; name the teacher's model folder: start.run=FOLDER"),
        (["start.run=nowhere"], "no model folder at nowhere"),
        (["text.head.dim=20"], "image.encoder.dim is 24 but text.encoder.dim (or text.head.dim) is 20"),
        (['image.pooling={name="mean"}'], "differs from this recipe; add: 'image.pooling={name=\"gpo\"}'"),
        (["data.languages=['de']"], "the teacher has en, but all sentences to learn from are in de; add"),
        (["terms.distance.weight=0.0", "terms.matching.weight=0.0"], "but no term imitates it"),
        (["teacher.name=open_clip", "teacher.network=a/b"], "teacher.languages"),
        (["teacher.name=open_clip", "teacher.network=a/b", "teacher.languages=[]"], "teacher.languages"),
        (["similarity.name=order"], "similarity.name is order; set similarity.name = cosine"),
    ],
)
def test_wrong_values_get_a_sentence(
    more: list[str], sentence: str, translations: Path, teacher: Path, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=re.escape(sentence)):
        train(
            "distilled_text",
            translations,
            tmp_path / "run",
            overrides=student_of(teacher, *more),
            device="cpu",
        )

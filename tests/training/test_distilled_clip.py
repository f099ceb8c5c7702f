"""A student of a CLIP model with random weights, stored in a file; skipped where open_clip cannot be imported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch.nn import functional as F

from lingvis.data.dataset import Dataset
from lingvis.errors import UserError
from lingvis.features.extract import extract
from lingvis.features.names import store_name
from lingvis.model.embedder import Embedder
from lingvis.model.stored import StoredImages
from lingvis.training.run import train
from lingvis.training.text_teachers.open_clip_tower import OpenClipTeacher

from ..conftest import COLOURS, THINGS
from ..features.test_adapters import library

ARCH = "ViT-S-32"
DIM = 384


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, str]:
    """A random CLIP and its name with the file of its weights."""
    open_clip = library("open_clip")
    torch.manual_seed(0)
    model = open_clip.create_model(ARCH).eval()
    file = tmp_path_factory.mktemp("clip") / "random.pt"
    torch.save(model.state_dict(), file)
    return model, f"{ARCH}/{file}"


@pytest.fixture(scope="module")
def dataset(clip: tuple[Any, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pictures of one colour to validate on, sentences without pictures to learn from."""
    folder = tmp_path_factory.mktemp("clip") / "data"
    (folder / "images").mkdir(parents=True)
    rows = []
    for english, german in COLOURS.items():
        Image.new("RGB", (60, 50), english).save(folder / "images" / f"{english}.png")
        captions = {"en": [f"a {english} dog"], "de": [f"Ein Hund ist {german}."]}
        rows.append({"image": f"{english}.png", "split": "val", "captions": captions})
    (folder / "captions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    lines = [
        json.dumps({"id": f"{c}-{t}", "captions": {"en": [f"a {c} {t}"], "de": [f"Ein {ding} ist {farbe}."]}})
        for c, farbe in COLOURS.items()
        for t, ding in THINGS.items()
    ]
    (folder / "text-only.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    extract(folder, backbone=f"open_clip:{clip[1]}", kind="global", device="cpu")
    return folder


def test_the_teacher_is_the_text_tower(clip: tuple[Any, str]) -> None:
    open_clip = library("open_clip")
    model, name = clip
    texts = ["a red dog", "two blue cars in front of a house"] * 129  # more than one batch
    teacher = OpenClipTeacher(network=name, languages=["en"])
    teacher.load(torch.device("cpu"))
    with torch.inference_mode():
        expected = F.normalize(model.encode_text(open_clip.get_tokenizer(ARCH)(texts[:2])), dim=-1).numpy()
    encoded = teacher.encode(texts, ["en"] * len(texts))
    np.testing.assert_allclose(encoded, np.tile(expected, (129, 1)), atol=1e-5)


def student_of(name: str) -> list[str]:
    return [
        f"data.features={store_name(f'open_clip:{name}', 'global')}",
        f"teacher.network={name}",
        f"text.head.dim={DIM}",
        "text.words.buckets=500",
        "text.encoder.dim=64",
        "training.batch_size=16",
        "training.epochs=2",
        "training.sampling.passes=30",
    ]


def test_pictures_that_no_term_trains_have_no_random_weights(
    clip: tuple[Any, str], dataset: Path, tmp_path: Path
) -> None:
    for part in (f'image.encoder={{name="linear",dim={DIM}}}', 'image.pooling={name="gpo"}'):
        with pytest.raises(UserError, match=r"no term compares pictures, so .* would keep its random values"):
            train(
                "distilled_text",
                dataset,
                tmp_path / "run",
                overrides=[*student_of(clip[1]), part],
                device="cpu",
            )


def test_a_student_has_the_pictures_and_the_sentences_of_clip(
    clip: tuple[Any, str], dataset: Path, tmp_path: Path
) -> None:
    model, name = clip
    train("distilled_text", dataset, tmp_path / "run", overrides=student_of(name), device="cpu")
    student = Embedder.load(tmp_path / "run", device="cpu")
    assert student.parameters["image"] == 0
    names = [f"{colour}.png" for colour in COLOURS]
    pictures = student.encode_images([dataset / "images" / each for each in names])
    np.testing.assert_allclose(
        pictures, StoredImages.open(student, Dataset.open(dataset)).encode(names), atol=1e-3
    )
    open_clip = library("open_clip")
    transform = open_clip.image_transform(224, is_train=False, mean=model.visual.image_mean)
    with torch.inference_mode():
        batch = torch.stack([transform(Image.open(dataset / "images" / each)) for each in names])
        expected = F.normalize(model.encode_image(batch), dim=-1).numpy()
    np.testing.assert_allclose(pictures, expected, atol=5e-3)
    english = [f"a {colour} {thing}" for colour in COLOURS for thing in THINGS]
    german = [f"Ein {ding} ist {farbe}." for farbe in COLOURS.values() for ding in THINGS.values()]
    with torch.inference_mode():
        target = F.normalize(model.encode_text(open_clip.get_tokenizer(ARCH)(english)), dim=-1).numpy()
    for texts, lang in ((english, "en"), (german, "de")):
        nearest = (student.encode_texts(texts, lang) @ target.T).argmax(axis=1)
        assert (nearest == np.arange(36)).mean() > 0.7

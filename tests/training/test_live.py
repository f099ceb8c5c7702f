"""A recipe that trains its backbone: from pixels to a model folder that indexes and searches."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image, ImageDraw
from safetensors.torch import load_file

from lingvis.collection.binding import image_fingerprint
from lingvis.collection.collection import Collection
from lingvis.data.dataset import Dataset, write_rows
from lingvis.errors import UserError
from lingvis.features.backbones import load_trainable
from lingvis.features.extract import extract
from lingvis.features.store import FeatureStore
from lingvis.model.compress import compress
from lingvis.model.embedder import Embedder
from lingvis.model.folder import CHECKPOINT
from lingvis.model.stored import StoredImages
from lingvis.suggestion import choose
from lingvis.suggestion.run import suggest
from lingvis.training.loop.average import WeightAverage
from lingvis.training.prepare import prepare
from lingvis.training.run import open_with_features, train
from lingvis.training.validate import load_recipe

from ..conftest import COLOURS
from .small_runs import Killed, kill_at, weights

SMALL = [
    "training.epochs=2",
    "training.batch_size=4",
    "training.sampling.passes=1",
    "training.sampling.text_only=0.0",
    "training.checkpoint_seconds=0",
    "data.text_only=false",
    "data.features=efficientnet-lite0-pixels",
    "image.backbone.network=efficientnet-lite0",
    "image.backbone.size=64",
    "image.encoder.dim=16",
    "text.encoder.dim=16",
    "similarity.dim=6",
    "text.words.dim=8",
    "text.words.buckets=500",
]
NETWORK = "image.backbone.network."
FINETUNED = [
    "training.epochs=2",
    "training.batch_size=4",
    'optimizer.frozen_epochs={"image.backbone"=1}',
    "image.backbone.size=64",
    "image.encoder.dim=16",
    "text.encoder.dim=16",
    "text.words.dim=8",
    "text.tokenizer.min_count=1",
]


@pytest.fixture(scope="module")
def drawings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Drawings of one colour each, 8 to train and 4 to validate, with stored pixels."""
    folder = tmp_path_factory.mktemp("live") / "drawings"
    (folder / "images").mkdir(parents=True)
    rows = []
    for number in range(12):
        english, german = list(COLOURS.items())[number % len(COLOURS)]
        picture = Image.new("RGB", (80, 60), english)
        ImageDraw.Draw(picture).ellipse((number, number, 40, 40), fill="white")
        picture.save(folder / "images" / f"{number}.png")
        rows.append(
            {
                "image": f"{number}.png",
                "split": "train" if number < 8 else "val",
                "captions": {"en": [f"{english} picture {number}"], "de": [f"{german} Bild {number}"]},
            }
        )
    (folder / "captions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    extract(folder, kind="pixels", device="cpu")
    return folder


@pytest.fixture(scope="module")
def trained(drawings: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("live") / "run"
    train("lingvis", drawings, run, overrides=SMALL, device="cpu")
    return run


def test_stored_pixels_are_those_of_the_decoded_picture(drawings: Path) -> None:
    store = FeatureStore.open(drawings / "features" / "efficientnet-lite0-pixels")
    assert (str(store.values.dtype), store.dim, len(store)) == ("uint8", 224 * 224 * 3, 12)
    with Image.open(drawings / "images" / "3.png") as picture:
        expected = np.asarray(picture.resize((224, 224), Image.Resampling.BICUBIC))
    np.testing.assert_allclose(store[3].reshape(224, 224, 3).astype(int), expected.astype(int), atol=1)


def test_a_model_with_its_own_backbone_encodes_files_as_stored_pixels(trained: Path, drawings: Path) -> None:
    model = Embedder.load(trained, device="cpu")
    names = ["1.png", "9.png"]
    stored = StoredImages.open(model, Dataset.open(drawings)).encode(names)
    files = model.encode_images([drawings / "images" / name for name in names])
    np.testing.assert_allclose(files, stored, atol=1e-5)
    original = load_trainable("efficientnet-lite0", pretrained=True).network.state_dict()
    saved = weights(trained)
    moved = [name for name in original if not torch.equal(saved[NETWORK + name], original[name])]
    assert "_conv_stem.weight" in moved
    assert not any("running" in name for name in moved)  # the norms are frozen


def test_batch_norms_that_follow_the_batches_see_no_fillers(drawings: Path, tmp_path: Path) -> None:
    for norms, pictures in (("frozen", 16), ("running", 3)):
        recipe = load_recipe("vsepp_finetuned", [*FINETUNED, f"image.backbone.norms={norms}"])
        run = prepare(
            recipe, *open_with_features(drawings, recipe.data.features), tmp_path, torch.device("cpu")
        )
        assert len(run.task._batches.cut(np.array([0, 3, 5])).tensors.images) == pictures


def test_collections_bind_to_the_weights_of_the_backbone(
    trained: Path, drawings: Path, tmp_path: Path
) -> None:
    collection = Collection(tmp_path / "drawings.lv", model=trained, device="cpu")
    assert collection.add([drawings / "images"]).added == 12
    model = Embedder.load(trained, device="cpu")
    hits = collection.search(image=drawings / "images" / "5.png", k=1)
    assert Path(hits[0].path).name == "5.png"
    assert hits[0].score == pytest.approx(1.0, abs=1e-3)
    before = image_fingerprint(model)
    with torch.no_grad():
        next(iter(model.model.image.backbone.parameters())).mul_(1.01)
    assert image_fingerprint(model) != before


def test_a_compressed_model_keeps_its_classes_and_short_embeddings(
    trained: Path, drawings: Path, tmp_path: Path
) -> None:
    whole = Embedder.load(trained, device="cpu")
    files = [drawings / "images" / f"{number}.png" for number in range(12)]
    for precision, nearest in (("float16", 0.999), ("int8", 0.97)):
        compress(trained, tmp_path / precision, weights=precision)  # type: ignore[arg-type]
        small = Embedder.load(tmp_path / precision, device="cpu")
        assert small.dim == whole.dim == 6
        assert image_fingerprint(small) != image_fingerprint(whole)
        for first, second in (
            (whole.encode_images(files), small.encode_images(files)),
            (whole.encode_texts(["toucan", "red"], "en"), small.encode_texts(["toucan", "red"], "en")),
        ):
            assert (first * second).sum(axis=1).min() > nearest


def test_pictures_are_suggested_by_their_embeddings_not_by_their_pixels(
    trained: Path, drawings: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "data"
    shutil.copytree(drawings, folder)
    rows = [
        row.model_copy(update={"captions": {}}) if row.image in ("5.png", "6.png", "7.png") else row
        for row in Dataset.open(folder).rows
    ]
    write_rows(folder / "captions.jsonl", rows)
    stored = StoredImages.open(Embedder.load(trained, device="cpu"), Dataset.open(folder))
    emb = stored.encode([f"{number}.png" for number in range(8)])
    uncertain = np.zeros(8, np.float32)
    for each in suggest(folder, 3, model=trained, device="cpu").pictures:
        uncertain[int(Path(each.image).stem)] = each.uncertainty
    (expected,) = choose(emb, 1, known=np.arange(5), uncertain=uncertain)
    (chosen,) = suggest(folder, 1, model=trained, device="cpu").pictures
    assert (chosen.image, chosen.alike) == (f"{expected.row}.png", expected.alike)
    assert chosen.typicality == pytest.approx(expected.typicality, abs=1e-5)
    with pytest.raises(UserError, match="are pixels, which do not show whether pictures are similar"):
        suggest(folder, 3, device="cpu")


def student_of(teacher: Path) -> list[str]:
    """Overrides of distilled_text for a student of a small model."""
    return [
        "data.features=efficientnet-lite0-pixels",
        "data.text_only=false",
        "training.epochs=2",
        "training.batch_size=4",
        "training.sampling.passes=1",
        "training.checkpoint_seconds=0",
        "text.words.buckets=500",
        "text.head.dim=16",
        "teacher.name=start",
        "teacher.languages=['en']",
        f"start.run={teacher}",
        'start.parts=["image", "similarity"]',
        'image.classes={name="named"}',
        'similarity={name="cosine",dim=6}',
        'image.backbone={name="trained",network="efficientnet-lite0",drop_path=0.2,compiled=true,size=64}',
        'image.encoder={name="residual_mlp",dim=16,hidden=512,dropout=0.2}',
        'image.pooling={name="gpo"}',
    ]


def test_a_student_searches_the_collection_of_its_teacher(
    trained: Path, drawings: Path, tmp_path: Path
) -> None:
    student = tmp_path / "student"
    train("distilled_text", drawings, student, overrides=student_of(trained), device="cpu")
    Collection(tmp_path / "drawings.lv", model=trained, device="cpu").add([drawings / "images"])
    collection = Collection(tmp_path / "drawings.lv", model=student, device="cpu")
    hits = collection.search("rot Bild 3", lang="de", k=12)
    expected = collection.model.encode_texts(["rot Bild 3"], "de")[0]
    images = collection.model.encode_images([drawings / "images" / Path(hit.path).name for hit in hits])
    np.testing.assert_allclose([hit.score for hit in hits], images @ expected, atol=2e-3)
    assert len(hits) == 12
    added = Collection(tmp_path / "drawings.lv", model=student, device="cpu").add([drawings / "images"])
    assert (added.added, added.unchanged) == (0, 12)  # no picture is encoded again


def test_a_killed_run_ends_as_if_it_had_not_been(
    drawings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = [*SMALL, 'optimizer.frozen_epochs={"image.backbone"=1}', "training.average=0.5"]
    whole = train("lingvis", drawings, tmp_path / "whole", overrides=options, device="cpu")
    for step in (1, 3):  # in the frozen epoch, and after it
        run = tmp_path / f"killed-{step}"
        with monkeypatch.context() as patched:
            kill_at(step, patched)
            with pytest.raises(Killed):
                train("lingvis", drawings, run, overrides=options, device="cpu")
        assert (run / CHECKPOINT).exists()
        train("lingvis", drawings, run, overrides=options, resume=True, device="cpu")
        expected = weights(whole.path)
        assert all(torch.equal(tensor, expected[name]) for name, tensor in weights(run).items())


@pytest.mark.parametrize("recipe", ["distilled_text", "lingvis"])
def test_a_killed_run_that_starts_from_a_model_ends_as_if_it_had_not_been(
    recipe: str, trained: Path, drawings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied = [*SMALL, f"start.run={trained}", 'start.parts=["image"]', "terms.class_scores.weight=10"]
    options = student_of(trained) if recipe == "distilled_text" else copied
    whole = train(recipe, drawings, tmp_path / "whole", overrides=options, device="cpu")
    run = tmp_path / "killed"
    with monkeypatch.context() as patched:
        kill_at(1, patched)
        with pytest.raises(Killed):
            train(recipe, drawings, run, overrides=options, device="cpu")
    assert (run / CHECKPOINT).exists()
    train(recipe, drawings, run, overrides=options, resume=True, device="cpu")
    expected = weights(whole.path)
    assert all(torch.equal(tensor, expected[name]) for name, tensor in weights(run).items())


def test_too_few_pictures_for_short_embeddings_are_reported_before_the_training(
    drawings: Path, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match="but the dataset has only 8 training pictures"):
        train("lingvis", drawings, tmp_path / "run", overrides=[*SMALL, "similarity.dim=9"], device="cpu")
    assert not (tmp_path / "run" / CHECKPOINT).exists()


def test_the_backbone_stays_as_it_is_in_frozen_epochs(
    drawings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = [*SMALL, 'optimizer.frozen_epochs={"image.backbone"=1}']
    with monkeypatch.context() as patched:
        kill_at(2, patched)  # the first step of the second epoch
        with pytest.raises(Killed):
            train("lingvis", drawings, tmp_path / "run", overrides=options, device="cpu")
    state = load_file(tmp_path / "run" / CHECKPOINT)
    original = load_trainable("efficientnet-lite0", pretrained=True).network.state_dict()
    for name, value in original.items():
        assert torch.equal(state[f"task/model.{NETWORK}{name}"], value)


@pytest.mark.parametrize("recipe", ["vsepp_finetuned", "vse_infinity_grid_finetuned"])
def test_recipes_of_papers_train_their_backbone_after_the_frozen_epochs(
    recipe: str, drawings: Path, tmp_path: Path
) -> None:
    trained = train(recipe, drawings, tmp_path / "run", overrides=FINETUNED, device="cpu")
    lines = (tmp_path / "run" / "log.jsonl").read_text().splitlines()
    assert max(json.loads(line)["step"] for line in lines) == 4  # 8 captions, 2 epochs
    state = trained.embedder.model.state_dict()
    original = load_trainable("efficientnet-lite0", pretrained=True).network.state_dict()
    moved = any(not torch.equal(state[NETWORK + name], value) for name, value in original.items())
    assert moved == (trained.config.training.best_epoch > 1)  # epochs count from 1; the first one is frozen
    emb = Embedder.load(tmp_path / "run", device="cpu").encode_images([drawings / "images" / "9.png"])
    np.testing.assert_allclose(np.linalg.norm(emb, axis=1), 1, rtol=1e-5)


def test_the_average_follows_the_weights() -> None:
    model = torch.nn.BatchNorm1d(2)
    average = WeightAverage(model, 0.6, values={})
    expected = None
    for step in range(1, 30):
        with torch.no_grad():
            model.weight.add_(torch.randn(2))
            model.num_batches_tracked.add_(1)  # type: ignore[union-attr]
        average.update(step)
        decay = min(0.6, (1 + step) / (10 + step))
        weight = model.weight.detach().clone()
        expected = weight if expected is None else decay * expected + (1 - decay) * weight
    torch.testing.assert_close(average.values["weight"], expected)
    assert average.values["num_batches_tracked"] == 29
    own = model.weight.detach().clone()
    with average.applied():
        torch.testing.assert_close(model.weight.detach(), expected)
    assert torch.equal(model.weight, own)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("data.features=efficientnet-lite0-grid", "image.backbone is trained, which takes pixels"),
        ('image.backbone={name="stored"}', "image.backbone is stored, which takes vectors"),
        (
            'image.backbone={name="trained",network="efficientnet-lite0",norms="running",chunk=2}',
            "needs whole ones",
        ),
    ],
)
def test_recipes_that_do_not_fit_together_are_rejected(
    change: str, sentence: str, drawings: Path, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=sentence):
        train("lingvis", drawings, tmp_path / "run", overrides=[change])

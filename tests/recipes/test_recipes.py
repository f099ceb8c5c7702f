"""The shipped recipes: their values, and the models that they build."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from lingvis.model.build import build_model, build_tokenizer
from lingvis.recipes.library import recipe_names
from lingvis.recipes.schema import Recipe
from lingvis.text.bank import TokenBank
from lingvis.text.tokenizers.base import Vocabulary
from lingvis.text.words.latent import Assignment
from lingvis.training.loop.optimizer import make_schedule
from lingvis.training.validate import load_recipe
from lingvis.types import Tokens

WITHOUT_DOWNLOAD = [name for name in recipe_names() if "bert" not in name]
TEXTS = ["A red dog.", "the dog is red and green", "Ein Hund ist rot.", "Ein grüner Hund"]
LANGS = ["en", "en", "de", "de"]
VOCABULARY = Vocabulary(size=30, pad=0, mask=4, special=(0, 1, 2, 3, 4))


def test_every_recipe_is_complete_and_named_after_its_file() -> None:
    assert {"vsepp", "vse_infinity_region", "vse_infinity_grid", "vse_infinity_bert"} <= set(recipe_names())
    for name in recipe_names():
        recipe = load_recipe(name)
        assert recipe.name == name
        assert recipe.summary
        assert recipe.source


def objective(recipe: Recipe) -> dict[str, Any]:
    """The objective between pictures and human captions."""
    found: dict[str, Any] = recipe.terms["matching"].options["objective"]
    return found


def test_values_of_the_papers() -> None:
    vsepp, infinity = load_recipe("vsepp"), load_recipe("vse_infinity_region")
    assert (vsepp.optimizer.name, vsepp.optimizer.lr, vsepp.training.epochs) == ("adam", 2e-4, 30)
    assert objective(vsepp) == {"name": "ranking", "margin": 0.2, "schedule": "hardest"}
    assert (infinity.optimizer.name, infinity.optimizer.lr, infinity.training.epochs) == ("adamw", 5e-4, 25)
    assert infinity.image.augment.options == {"p": 0.2}
    assert infinity.text.augment.options == {"p": 0.2, "masked": 0.5, "replaced": 0.1}
    assert load_recipe("vse_infinity_bert").optimizer.factors == {"text.words": 0.1}
    video = load_recipe("vse_infinity_video")
    assert (video.optimizer.lr, video.schedule.epochs, video.training.epochs) == (1e-4, [25], 35)
    assert objective(video) == objective(vsepp) and video.training.batch_size == 128
    for recipe in (vsepp, infinity):
        assert (recipe.training.batch_size, recipe.training.clip, recipe.schedule.epochs) == (128, 2.0, [15])


def test_uvs_is_vsepp_with_an_lstm_all_negatives_and_one_rate() -> None:
    uvs = load_recipe("uvs")
    changes = ["schedule.epochs=[]", "training.epochs=15", "terms.matching.objective.schedule=all"]
    encoder = 'text.encoder={name="lstm",dim=1024}'
    base = load_recipe("vsepp", [*changes, encoder])
    own = {"name", "summary", "source"}
    assert uvs.model_dump(exclude=own) == base.model_dump(exclude=own)
    rate = make_schedule(**uvs.schedule.model_dump(), lr=2e-4, total_epochs=15, steps_per_epoch=10)
    assert {rate(10 * epoch, epoch) for epoch in range(15)} == {2e-4}


@pytest.mark.parametrize(
    ("name", "epochs", "frozen", "factors", "rates"),
    [
        ("vsepp", 45, 30, {}, {0: 2e-4, 14: 2e-4, 15: 2e-5, 44: 2e-5}),
        ("vse_infinity_grid", 25, 1, {"image.backbone": 0.1}, {0: 5e-4, 1: 5e-5, 2: 5e-4, 15: 5e-5}),
    ],
)
def test_finetuned_recipes_are_the_frozen_ones_with_the_stages_of_their_papers(
    name: str, epochs: int, frozen: int, factors: dict[str, float], rates: dict[int, float]
) -> None:
    recipe, base = load_recipe(f"{name}_finetuned"), load_recipe(name)
    for section in ("text", "similarity", "terms"):
        assert getattr(recipe, section) == getattr(base, section)
    for part in ("augment", "encoder", "pooling"):
        assert getattr(recipe.image, part) == getattr(base.image, part)
    assert recipe.optimizer.factors == factors
    assert recipe.optimizer.frozen_epochs == {"image.backbone": frozen}
    same = {"epochs": epochs, "graphs": False}
    assert recipe.training == base.training.model_copy(update=same)
    schedule = make_schedule(
        **recipe.schedule.model_dump(), lr=recipe.optimizer.lr, total_epochs=epochs, steps_per_epoch=10
    )
    for epoch, rate in rates.items():  # the first step of an epoch
        assert schedule(10 * epoch, epoch) == pytest.approx(rate)


def test_values_of_the_papers_on_many_languages() -> None:
    small, large, bert = (load_recipe(name) for name in ("s_liwe", "l_liwe", "bert_gru"))
    assert (small.text.words.options["letter_dim"], large.text.words.options["letter_dim"]) == (24, 120)
    for recipe in (small, large):
        inner = {"name": "ranking", "margin": 0.2, "schedule": "exponential", "base": 0.91}
        assert objective(recipe) == {**inner, "base": 0.991}
        assert recipe.terms["captions"].options == {
            "on": "sentence",
            "languages": "different",
            "objective": inner,
        }
    assert bert.optimizer.factors == {"text.words": 0.0}
    smalr, hem, la = (load_recipe(name) for name in ("smalr", "hem", "la"))
    assert smalr.terms["masked"].weight == 1e-4
    assert smalr.terms["masked"].options == {"p": 0.2}
    assert smalr.terms["matching_masked"].options == {**smalr.terms["matching"].options, "hidden": 0.2}
    added = ("masked", "matching_masked")
    assert {name: term for name, term in smalr.terms.items() if name not in added} == hem.terms
    assert [recipe.text.words.options["own"] for recipe in (smalr, hem, la)] == [5000, 5000, 0]
    for recipe in (smalr, hem, la):
        assert recipe.pretraining.options["tokens"] == 40_000
        assert (recipe.pretraining.options["explore"], recipe.pretraining.options["among"]) == (0.2, 20)
        assert (objective(recipe)["margin"], objective(recipe)["hardest"]) == (0.05, 10)
        assert objective(recipe)["text_weight"] == 1.5
        assert recipe.terms["matching"].options["languages_apart"]


@pytest.mark.parametrize("name", WITHOUT_DOWNLOAD)
def test_every_recipe_builds_and_encodes_whatever_the_padding(name: str) -> None:
    recipe = load_recipe(name, ["text.tokenizer.min_count=1"])
    # A map leads from one language into that of another model.
    langs = LANGS if recipe.text.words.options.get("map", "none") == "none" else ["de"] * 4
    tokenizer = build_tokenizer(recipe)
    tokenizer.fit(TEXTS, langs)
    start: dict[str, Any] = {}
    if recipe.pretraining.name == "latent":
        tokens = torch.arange(tokenizer.vocabulary.size) % 3
        start["assignment"] = Assignment(tokens, torch.randn(3, recipe.text.words.options["dim"]))
    pixels = recipe.image.backbone.name == "trained"
    kept = recipe.image.encoder.name == "none"  # stored vectors are embeddings
    dim = 3 * 64 * 64 if pixels else recipe.text.head.options["dim"] if kept else 16
    model = build_model(
        recipe,
        seed=recipe.training.seed,
        feature_dim=dim,
        vocabulary=tokenizer.vocabulary,
        languages=2,
        start=start,
    ).eval()
    bank = TokenBank(
        tokenizer=tokenizer, texts=TEXTS, langs=langs, languages=["en", "de"], device=torch.device("cpu")
    )
    values, mask = (
        torch.randn(3, 1 if pixels else 4, dim),
        torch.ones(3, 1 if pixels else 4, dtype=torch.bool),
    )
    with torch.inference_mode():
        image_emb = model.encode_images(Tokens(values, mask))
        if not pixels:  # a picture has one row of pixels
            padded = Tokens(
                torch.cat([values, torch.randn(3, 2, dim)], 1),
                torch.cat([mask, torch.zeros(3, 2, dtype=torch.bool)], 1),
            )
            encoded = model.encode_images(padded)
            assert model.similarity.pooled or not encoded[:, 4:].any()
            torch.testing.assert_close(encoded if model.similarity.pooled else encoded[:, :4], image_emb)
        text_emb = model.encode_texts(bank.batch(np.arange(4)))
        turned = model.encode_texts(bank.batch(np.array([3, 0, 2, 1])))  # four runs of languages, not two
        torch.testing.assert_close(turned, text_emb[[3, 0, 2, 1]])
        for row in range(4):
            alone = model.encode_texts(bank.batch(np.array([row])))
            here = text_emb[row : row + 1]
            torch.testing.assert_close(here if model.similarity.pooled else here[:, : alone.shape[1]], alone)
        emb, reading = model.encode_with_states(bank.batch(np.arange(4)))
        torch.testing.assert_close(emb, text_emb)
        scores = model.similarity(image_emb, text_emb)
    batch, special = bank.batch(np.arange(4)), tokenizer.vocabulary.special
    for row in range(4):
        inner = [place for place, number in enumerate(batch.ids[row].tolist()) if number not in special]
        assert inner == list(range(1, len(inner) + 1))  # between the start and the end
        torch.testing.assert_close(reading.average[row], reading.words.values[row][inner].mean(dim=0))
        assert torch.nonzero(reading.is_word[row]).flatten().tolist() == inner
    assert scores.shape == (3, 4)
    for emb in (image_emb, text_emb):
        lengths = emb.norm(dim=-1)[emb.any(dim=-1)]
        torch.testing.assert_close(lengths, torch.ones(len(lengths)))
    assert (text_emb[0] - text_emb[1]).abs().max() > 1e-3


def test_a_sentence_without_words_keeps_its_tokens_in_averages() -> None:
    recipe = load_recipe("vsepp", ["text.tokenizer.min_count=1"])
    tokenizer = build_tokenizer(recipe)
    tokenizer.fit(TEXTS, LANGS)
    model = build_model(
        recipe, seed=recipe.training.seed, feature_dim=4, vocabulary=tokenizer.vocabulary
    ).eval()
    texts = [
        "",
        "a zebra quagga",
        "zebra",
    ]  # nothing; one known word, the others left out; an unknown one alone
    bank = TokenBank(
        tokenizer=tokenizer, texts=texts, langs=["en"] * 3, languages=["en"], device=torch.device("cpu")
    )
    _, reading = model.encode_with_states(bank.batch(np.arange(3)))
    expected = [[1, 1, 0], [0, 1, 0], [1, 1, 1]]
    assert reading.is_word.int().tolist() == expected
    for row, kept in enumerate(expected):
        vectors = reading.words.values[row][torch.tensor(kept, dtype=torch.bool)]
        torch.testing.assert_close(reading.average[row], vectors.mean(dim=0))


def test_every_language_of_par_embn_has_a_branch_down_to_the_joint_space() -> None:
    recipe = load_recipe("par_embn", ["text.tokenizer.min_count=1"])
    tokenizer = build_tokenizer(recipe)
    tokenizer.fit(TEXTS, LANGS)
    model = build_model(
        recipe, seed=recipe.training.seed, feature_dim=4, vocabulary=tokenizer.vocabulary, languages=2
    )
    bank = TokenBank(
        tokenizer=tokenizer, texts=TEXTS, langs=LANGS, languages=["en", "de"], device=torch.device("cpu")
    )
    model.encode_texts(bank.batch(np.array([2, 3]))).sum().backward()  # type: ignore[no-untyped-call]
    moved = {name for name, parameter in model.text.named_parameters() if parameter.grad is not None}
    assert {name for name in moved if name.startswith("head")} == {
        "head.linear.layers.1.weight",
        "head.linear.layers.1.bias",
    }
    assert {name.split(".")[2] for name in moved if name.startswith("encoder")} == {"1"}


def test_parameter_counts_of_the_reference() -> None:
    vocabulary = Vocabulary(size=2820, pad=0, mask=4, special=(0, 1, 2, 3, 4))
    counts = build_model(
        load_recipe("vse_infinity_region"), feature_dim=1280, vocabulary=vocabulary, seed=0
    ).parameter_counts()
    linear, mlp, gpo = 1280 * 1024 + 1024, 1280 * 512 + 512 + 2 * 512 + 512 * 1024 + 1024, 12_704
    gru = 2 * (3 * 1024 * (300 + 1024) + 2 * 3 * 1024)
    assert counts["image"] == linear + mlp + gpo
    assert counts["text"] == 2820 * 300 + gru + gpo


def test_the_same_seed_gives_the_same_weights() -> None:
    def weights(seed: int) -> torch.Tensor:
        recipe = load_recipe("vsepp", [f"training.seed={seed}"])
        model = build_model(recipe, seed=recipe.training.seed, feature_dim=4, vocabulary=VOCABULARY)
        return torch.cat([parameter.flatten() for parameter in model.parameters()])

    assert torch.equal(weights(1), weights(1))
    assert not torch.equal(weights(1), weights(2))

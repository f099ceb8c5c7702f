from __future__ import annotations

from pathlib import Path

import pytest
import torch

from lingvis.config import parse_recipe
from lingvis.errors import UserError
from lingvis.recipes.build import build_model, load_recipe, recipe_names, recipe_text
from lingvis.text.tokenizers import Vocabulary
from lingvis.types import TextBatch, Tokens

WITHOUT_DOWNLOAD = [name for name in recipe_names() if "bert" not in name]
VOCABULARY = Vocabulary(size=30, pad=0, mask=4, special=(0, 1, 2, 3, 4))


def test_every_recipe_is_complete_and_named_after_its_file() -> None:
    assert {"vsepp", "vse_infinity_region", "vse_infinity_grid", "vse_infinity_bert"} <= set(recipe_names())
    for name in recipe_names():
        recipe = load_recipe(name)
        assert recipe.name == name
        assert recipe.summary
        assert recipe.source


def test_values_of_the_papers() -> None:
    vsepp, infinity = load_recipe("vsepp"), load_recipe("vse_infinity_region")
    assert (vsepp.optimizer.name, vsepp.optimizer.lr, vsepp.training.epochs) == ("adam", 2e-4, 30)
    assert vsepp.objective.options == {"margin": 0.2, "schedule": "hardest"}
    assert (infinity.optimizer.name, infinity.optimizer.lr, infinity.training.epochs) == ("adamw", 5e-4, 25)
    assert infinity.image.augment.options == {"p": 0.2}
    assert infinity.text.augment.options == {"p": 0.2, "masked": 0.5, "replaced": 0.1}
    assert load_recipe("vse_infinity_bert").optimizer.factors == {"text.words": 0.1}
    for recipe in (vsepp, infinity):
        assert (recipe.training.batch_size, recipe.training.clip, recipe.schedule.epochs) == (128, 2.0, [15])


@pytest.mark.parametrize("name", WITHOUT_DOWNLOAD)
def test_every_recipe_builds_and_encodes_whatever_the_padding(name: str) -> None:
    recipe = load_recipe(name)
    model = build_model(recipe, feature_dim=16, vocabulary=VOCABULARY).eval()
    values, mask = torch.randn(3, 4, 16), torch.ones(3, 4, dtype=torch.bool)
    ids = torch.tensor([[2, 7, 8, 3], [2, 9, 3, 0]])
    with torch.inference_mode():
        image_emb = model.encode_images(Tokens(values, mask))
        padded = Tokens(
            torch.cat([values, torch.randn(3, 2, 16)], 1),
            torch.cat([mask, torch.zeros(3, 2, dtype=torch.bool)], 1),
        )
        torch.testing.assert_close(model.encode_images(padded), image_emb)
        text_emb = model.encode_texts(TextBatch(ids, ids != 0))
        alone = model.encode_texts(TextBatch(ids[1:, :3], ids[1:, :3] != 0))
        torch.testing.assert_close(text_emb[1:], alone)
        scores = model.similarity(image_emb, text_emb)
    assert scores.shape == (3, 2)
    torch.testing.assert_close(image_emb.norm(dim=1), torch.ones(3))


def test_parameter_counts_of_the_reference() -> None:
    vocabulary = Vocabulary(size=2820, pad=0, mask=4, special=(0, 1, 2, 3, 4))
    counts = build_model(
        load_recipe("vse_infinity_region"), feature_dim=1280, vocabulary=vocabulary
    ).parameter_counts()
    linear, mlp, gpo = 1280 * 1024 + 1024, 1280 * 512 + 512 + 2 * 512 + 512 * 1024 + 1024, 12_704
    gru = 2 * (3 * 1024 * (300 + 1024) + 2 * 3 * 1024)
    assert counts["image"] == linear + mlp + gpo
    assert counts["text"] == 2820 * 300 + gru + gpo


def test_the_same_seed_gives_the_same_weights() -> None:
    def weights(seed: int) -> torch.Tensor:
        recipe = load_recipe("vsepp", [f"training.seed={seed}"])
        return torch.cat(
            [p.flatten() for p in build_model(recipe, feature_dim=4, vocabulary=VOCABULARY).parameters()]
        )

    assert torch.equal(weights(1), weights(1))
    assert not torch.equal(weights(1), weights(2))


def test_overrides_change_values_and_swap_parts() -> None:
    recipe = load_recipe(
        "vse_infinity_region", ["training.epochs=3", 'data.languages=["de", "fr"]', "data.features=mine"]
    )
    assert (recipe.training.epochs, recipe.data.languages, recipe.data.features) == (3, ["de", "fr"], "mine")
    swapped = load_recipe("vse_infinity_region", ["image.pooling.name=kmax", "image.pooling.k=3"])
    assert swapped.image.pooling.options == {"k": 3}
    plain = load_recipe("vse_infinity_region", ["image.encoder.name=linear", "image.encoder.dim=1024"])
    assert plain.image.encoder.options == {"dim": 1024}  # `hidden` went with the part it belonged to
    turned = load_recipe("vse_infinity_region", ["image.pooling.k=3", "image.pooling.name=kmax"])
    assert turned.image.pooling.options == {"k": 3}


def test_all_problems_of_a_recipe_are_reported_at_once() -> None:
    with pytest.raises(UserError) as caught:
        load_recipe(
            "vsepp", ["training.epochs=0", "training.wings=2", "optimizer.name=sgd", "text.words.dim=0"]
        )
    message = str(caught.value)
    assert "4 problems" in message
    for part in ("text.words.dim", "training.epochs", "unknown key training.wings", "optimizer.name"):
        assert part in message


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        ("image.pooling.name=gpoo", "image.pooling: unknown pooling 'gpoo'; choose one of: gpo"),
        ("objective.margins=1", "unknown key objective.margins; allowed: margin, schedule"),
        ("objective.margin='wide'", "objective.margin"),
        ("objective.schedule='sometimes'", "objective.schedule"),
        ("text.encoder.dim=512", "image.encoder.dim is 1024 but text.encoder.dim is 512"),
        ("image.encoder.input_dim=5", "unknown key image.encoder.input_dim"),
        ("image.encoder.dim=-1", "image.encoder.dim"),
        ("text.tokenizer.min_count=0", "text.tokenizer.min_count"),
        ("training.seed=99999999999999999999999", "training.seed"),
        ("objective.margin=-0.2", "objective.margin"),
        ("training.epochs", "not of the form section.key=value"),
        ("name.first=x", "name is a value, not a section"),
    ],
)
def test_wrong_values_get_a_sentence(override: str, sentence: str) -> None:
    with pytest.raises(UserError) as caught:
        load_recipe("vsepp", [override])
    assert sentence in str(caught.value)


def test_recipes_from_files(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(recipe_text("vsepp").replace("margin = 0.2", "margin = 0.3"))
    assert load_recipe(str(file)).objective.options["margin"] == 0.3
    with pytest.raises(UserError, match="no recipe file"):
        load_recipe(str(tmp_path / "other.toml"))
    with pytest.raises(UserError, match="unknown recipe 'vse'; choose one of: demo"):
        load_recipe("vse")
    file.write_bytes(b"name = '\xff'")
    with pytest.raises(UserError, match="not UTF-8 at byte 8"):
        load_recipe(str(file))
    with pytest.raises(UserError, match="not valid TOML"):
        parse_recipe("name = ")

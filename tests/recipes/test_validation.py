"""Overrides, files, and recipes with problems."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pydantic import BaseModel

from lingvis.errors import UserError
from lingvis.recipes import schema
from lingvis.recipes.library import recipe_names, recipe_text
from lingvis.recipes.read import parse_recipe, part_override
from lingvis.recipes.schema import Part
from lingvis.training.validate import load_recipe

PSEUDO = "terms.pseudo={name = 'matching', of = 'pseudo', weight = 1, objective = {name = 'contrastive', temperature = 0.1}}"


def test_keys_of_earlier_versions_are_explained() -> None:
    for override, place in (
        ("objective.margin=0.3", "objective is now terms.matching.objective"),
        ("training.languages_apart=true", "training.languages_apart is now terms.matching.languages_apart"),
        ("pseudo.weight=0.2", "pseudo.weight is now terms.pseudo.weight"),
    ):
        with pytest.raises(UserError, match=re.escape(place)):
            load_recipe("vsepp", [override])


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


@pytest.mark.parametrize("name", recipe_names())
def test_a_part_is_written_as_an_override(name: str) -> None:
    recipe = load_recipe(name)
    parts = {**{f"image.{key}": part for key, part in recipe.image}, "similarity": recipe.similarity}
    written = [part_override(place, part) for place, part in parts.items()]
    assert load_recipe(name, written) == recipe
    pooling = Part.model_validate({"name": "kmax", "k": 3})
    assert part_override("image.pooling", pooling) == 'image.pooling={name="kmax", k=3}'
    assert load_recipe("vsepp", [part_override("image.pooling", pooling)]).image.pooling == pooling


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
        (
            "terms.matching.objective.margins=1",
            "unknown key terms.matching.objective.margins; allowed: margin, schedule",
        ),
        ("terms.matching.objective.margin='wide'", "terms.matching.objective.margin"),
        ("terms.matching.objective.schedule='sometimes'", "terms.matching.objective.schedule"),
        (
            "text.encoder.dim=512",
            "image.encoder.dim is 1024 but text.encoder.dim (or text.head.dim) is 512",
        ),
        ("image.encoder.input_dim=5", "unknown key image.encoder.input_dim"),
        ("image.encoder.dim=-1", "image.encoder.dim"),
        ("text.tokenizer.min_count=0", "text.tokenizer.min_count"),
        ("training.seed=99999999999999999999999", "training.seed"),
        ("terms.matching.objective.margin=-0.2", "terms.matching.objective.margin"),
        ("training.epochs", "not of the form section.key=value"),
        ("name.first=x", "name is a value, not a section"),
        ("data.text_only=true", "data.text_only is true, but no sentence without a picture is sampled"),
        ("training.sampling.name=pictures", "unknown sampling 'pictures'; choose one of: captions, images"),
        ("training.sampling.passes=2", "unknown key training.sampling.passes; allowed: bucket, temperature"),
        ("pretraining.name=some", "unknown pre-training 'some'; choose one of: none"),
        ("text.head.name=round", "unknown text head 'round'"),
        ("terms.mine={name = 'pairs'}", "terms.mine.weight is missing"),
        ("terms.mine={name = 'pear', weight = 1}", "unknown term 'pear'; choose one of: "),
        (
            "terms.mine={name = 'pairs', weight = 1, on = 'sentence', languages = 'any'}",
            "terms.mine.objective: term pairs needs an objective and has none",
        ),
        (
            "terms.mine={name = 'pairs', weight = 1, on = 'x', languages = 'any', "
            "objective = {name = 'contrastive', temperature = 0.1}}",
            "terms.mine.on",
        ),
        (
            "terms.mine={name = 'language_adversary', weight = 1, objective = {name = 'ranking'}}",
            "term language_adversary takes no objective; leave it out",
        ),
        (
            "terms.mine={name = 'pairs', weight = -1, on = 'sentence', languages = 'any', objective = {name = 'wings'}}",
            "terms.mine.objective: unknown objective 'wings'",
        ),
    ],
)
def test_wrong_values_get_a_sentence(override: str, sentence: str) -> None:
    with pytest.raises(UserError) as caught:
        load_recipe("vsepp", [override])
    assert sentence in str(caught.value)


def test_sentences_alone_are_both_learnt_from_and_sampled_or_neither() -> None:
    assert load_recipe("lingvis_frozen").data.text_only
    without = ["data.text_only=false", "training.sampling.text_only=0.0"]
    assert load_recipe("lingvis_frozen", without).training.sampling.options["text_only"] == 0
    sampled = "training.sampling.text_only is 1.0, but data.text_only is false; set data.text_only = true"
    with pytest.raises(UserError, match=re.escape(sampled)):
        load_recipe("lingvis_frozen", without[:1])
    for overrides in (without[1:], ["training.sampling.name=captions"]):
        with pytest.raises(
            UserError, match=r"no sentence .* is sampled; set training\.sampling\.name = images"
        ):
            load_recipe("lingvis_frozen", overrides)


@pytest.mark.parametrize(
    ("recipe", "overrides", "sentence"),
    [
        (
            "mule",
            ["pretraining={name='latent', tokens=9, explore=0.2, among=3, epochs=1, lr=1e-3}"],
            "pretraining latent is for text.words hybrid, but text.words.name is universal; "
            "set text.words.name = hybrid, or pretraining.name = none",
        ),
        (
            "vsepp",
            ["pretraining={name='universal', epochs=1, lr=1e-3}"],
            "pretraining universal is for text.words universal, but text.words.name is embedding",
        ),
        (
            "smalr",
            ["pretraining.name=none"],
            "text.words hybrid starts from latent tokens, but pretraining.name is none; "
            "set pretraining.name = latent",
        ),
        (
            "clmr_gru",
            ["data.vectors=captions"],
            "data.vectors is 'captions', but text.words embedding does not start from word vectors; "
            "set data.vectors to an empty string",
        ),
        (
            "mule",
            ["data.vectors="],
            "text.words universal starts from word vectors, but data.vectors names none; "
            "make some with `lingvis vectors train`",
        ),
        ("la", ["data.vectors="], "text.words hybrid starts from word vectors, but data.vectors names none"),
        ("vsepp", ["terms.matching.weight=0"], "no term compares pictures with human captions"),
        (
            "a3vse",
            ["pseudo.name=none", "terms.domains.weight=0"],
            "terms.pseudo learns from pseudo captions, but pseudo.name is none",
        ),
        (
            "vsepp",
            ["pseudo.name=detectors"],
            "pseudo.name is detectors, but no term learns from pseudo captions",
        ),
        (
            "smalr",
            ["pseudo.name=detectors", "terms.matching_masked.weight=0", "terms.masked.weight=1", PSEUDO],
            "pseudo.name is detectors, but term masked_pairs hides words of human captions",
        ),
        (
            "a3vse",
            ["terms.matching.hidden=0.2"],
            "terms.matching hides words in every batch, which pseudo captions cannot join",
        ),
        (
            "lingvis_frozen",
            ["terms.taught={name = 'distillation', weight = 1, temperature = 0.1}"],
            "terms.taught learns from the scores of teachers, but pseudo.name is none",
        ),
        (
            "vsepp",
            ['data.languages=["de", "en", "de"]'],
            "data.languages: a language is repeated; name each once, got ['de', 'en', 'de']",
        ),
        ("vsepp", ["terms=5"], "terms: "),
        ("vsepp", ["pretraining={name=['none']}"], "pretraining.name: "),
    ],
)
def test_parts_that_do_not_fit_each_other_get_a_sentence(
    recipe: str, overrides: list[str], sentence: str
) -> None:
    with pytest.raises(UserError) as caught:
        load_recipe(recipe, overrides)
    assert str(caught.value).startswith(f"recipe {recipe}: {sentence}")


def test_recipes_from_files(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(recipe_text("vsepp").replace("margin = 0.2", "margin = 0.3"))
    assert load_recipe(str(file)).terms["matching"].options["objective"]["margin"] == 0.3
    with pytest.raises(UserError, match="no recipe file"):
        load_recipe(str(tmp_path / "other.toml"))
    with pytest.raises(UserError, match="unknown recipe 'vse'; choose one of: a3vse, bert_gru, "):
        load_recipe("vse")
    file.write_bytes(b"name = '\xff'")
    with pytest.raises(UserError, match="not UTF-8 at byte 8"):
        load_recipe(str(file))
    with pytest.raises(UserError, match="not valid TOML"):
        parse_recipe("name = ")


@pytest.mark.parametrize(
    "section",
    [
        schema.DataSection,
        schema.StartSection,
        schema.ImageSection,
        schema.TextSection,
        schema.OptimizerSection,
        schema.ScheduleSection,
        schema.TrainingSection,
        schema.Recipe,
    ],
)
def test_every_key_is_described(section: type[BaseModel]) -> None:
    for name, field in section.model_fields.items():
        kind = field.annotation
        is_section = isinstance(kind, type) and kind.__name__.endswith("Section")
        text = kind.__doc__ if is_section else field.description
        assert text and text.endswith("."), name


def test_a_recipe_gives_its_model_alone() -> None:
    recipe = load_recipe("vsepp")
    assert set(recipe.model.model_dump()) == {"image", "text", "similarity"}
    assert recipe.model.model_dump() == {
        key: value for key, value in recipe.model_dump().items() if key in ("image", "text", "similarity")
    }

from __future__ import annotations

import re

import pytest

from lingvis.errors import UserError
from lingvis.training.validate import load_recipe


def test_the_three_protocols_differ_in_what_the_poster_says() -> None:
    fs, t1, t2 = (load_recipe(f"translator_{name}") for name in ("fs", "t1", "t2"))
    assert [recipe.text.words.options["map"] for recipe in (fs, t1, t2)] == ["none", "random", "rcsls"]
    assert (fs.start.run, fs.start.parts) == ("", [])
    for recipe in (t1, t2):
        assert recipe.start.parts == ["image", "text.words.special", "text.encoder"]
        assert recipe.optimizer.factors == {"text.words.vectors": 0.0, "image": 0.0}
        same = {"image", "similarity", "terms", "schedule", "training"}
        assert recipe.model_dump(include=same) == fs.model_dump(include=same)
        assert recipe.text.encoder == fs.text.encoder
    assert fs.optimizer.factors == {"text.words.vectors": 0.0}
    objective = fs.terms["matching"].options["objective"]
    assert objective == {"name": "ranking", "margin": 0.2, "schedule": "all"}  # the sum over all negatives
    assert fs.data.captions == 0


@pytest.mark.parametrize(
    ("recipe", "overrides", "sentence"),
    [
        ("translator_fs", ["text.words.map=svd"], "text.words.map"),
        ("translator_fs", ["text.words.matrix=5"], "unknown key text.words.matrix"),
        ("translator_fs", ["text.tokenizer.min_count=4"], "set text.tokenizer.name = language_words with"),
        (
            "translator_t1",
            ["text.words.dictionary=fr-de.txt"],
            "text.words.dictionary is 'fr-de.txt', but text.words.map is random, which needs none; "
            "set text.words.map = procrustes or rcsls",
        ),
        ("translator_fs", ["data.captions=-1"], "data.captions"),
        ("translator_fs", ["start.run=a"], "start.run is 'a', but nothing is taken from it"),
        ("translator_fs", ["start.parts=image"], "start.parts"),
        ("vsepp", ["start.wings=1"], "unknown key start.wings"),
        ("translator_fs", ["data.vectors="], "text.words mapped starts from word vectors, but data.vectors"),
        ("translator_fs", ["training.sampling.least_steps=0"], "training.sampling.least_steps"),
    ],
)
def test_wrong_values_get_a_sentence(recipe: str, overrides: list[str], sentence: str) -> None:
    with pytest.raises(UserError, match=re.escape(sentence)):
        load_recipe(recipe, overrides)


def test_a_map_alone_is_a_use_of_the_source_model() -> None:
    assert load_recipe("translator_t2", ["start.run=a", "start.parts=[]"]).start.parts == []


def test_every_recipe_may_begin_with_another_model() -> None:
    recipe = load_recipe("vsepp", ["start.run=runs/mine", 'start.parts=["image"]'])
    assert (recipe.start.run, recipe.start.parts) == ("runs/mine", ["image"])

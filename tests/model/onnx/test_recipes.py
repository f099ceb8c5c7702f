"""Which shipped recipes can be exported: every part of those that can is in a model that `test_onnx` exports."""

from __future__ import annotations

from lingvis.recipes.library import recipe_names
from lingvis.recipes.schema import Recipe
from lingvis.similarity import SIMILARITIES
from lingvis.training.validate import load_recipe

# Exported in test_onnx; a live model has the parts of LIVE.
EXPORTED = (
    "demo",
    "a3vse",
    "s_liwe",
    "vsepp",
    "mule",
    "vse_infinity_grid",
    "hem",
    "translator_fs",
    "dpc",
    "dan",
)
LIVE = {
    ("image.backbone", "trained"),
    ("image.classes", "named"),
    ("image.encoder", "residual_mlp"),
    ("text.tokenizer", "characters"),
    ("text.words", "ngrams"),
}
# These are computed by the same modules as parts of EXPORTED.
SAME = {("image.encoder", "none")}


def parts(recipe: Recipe) -> set[tuple[str, str]]:
    image, text = recipe.image, recipe.text
    return {
        ("image.backbone", image.backbone.name),
        ("image.encoder", image.encoder.name),
        ("image.pooling", image.pooling.name),
        ("image.classes", image.classes.name),
        ("text.tokenizer", text.tokenizer.name),
        ("text.words", text.words.name),
        ("text.encoder", text.encoder.name),
        ("text.pooling", text.pooling.name),
        ("text.head", text.head.name),
    }


def reason(recipe: Recipe) -> str:
    """Why a recipe cannot be exported; empty if it can."""
    if not SIMILARITIES.get(recipe.similarity.name).indexable:
        return "not indexable"
    if any(part.name.endswith("_per_language") for part in (recipe.text.encoder, recipe.text.head)):
        return "one layer per language"
    return "transformer" if recipe.text.words.name == "transformer" else ""


def test_every_indexable_recipe_is_exported_or_has_a_reason() -> None:
    covered = LIVE | SAME | set().union(*(parts(load_recipe(name, [])) for name in EXPORTED))
    reasons = {}
    for name in recipe_names():
        recipe = load_recipe(name, [])
        reasons[name] = reason(recipe)
        if not reasons[name]:
            assert parts(recipe) <= covered, name
    assert {name: why for name, why in reasons.items() if why} == {
        "bert_gru": "transformer",
        "par_embn": "one layer per language",
        "scan_i2t": "not indexable",
        "scan_t2i": "not indexable",
        "vse_infinity_bert": "transformer",
    }

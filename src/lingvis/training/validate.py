"""Check a recipe before any data is read, and report all problems at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lingvis.model.build import MODEL_PARTS, model_problems
from lingvis.objectives import OBJECTIVES
from lingvis.recipes.library import recipe_text
from lingvis.recipes.options import PROVIDED, accepted, part_problems
from lingvis.recipes.read import lookup, parse_recipe
from lingvis.recipes.rules import RecipePart
from lingvis.recipes.schema import Recipe
from lingvis.registry import Registry
from lingvis.similarity import SIMILARITIES
from lingvis.terms import TERMS, Origin
from lingvis.text.words import WORDS
from lingvis.text.words.mapped import FITTED
from lingvis.training.pretraining import PRETRAINING
from lingvis.training.sampling import SAMPLERS
from lingvis.training.sources import PSEUDO_SOURCES
from lingvis.training.text_teachers import TEXT_TEACHERS

# The parts of training beside the terms of the loss, by their place in a recipe.
TRAINING_PARTS: dict[str, Registry[Any]] = {
    "pseudo": PSEUDO_SOURCES,
    "teacher": TEXT_TEACHERS,
    "pretraining": PRETRAINING,
    "training.sampling": SAMPLERS,
}
# Keys of earlier versions that users' recipes may still have -> the key of today.
MOVED = {
    "objective": "terms.matching.objective",
    "pseudo.weight": "terms.pseudo.weight",
    "pseudo.objective": "terms.pseudo.objective",
    "pseudo.teachers": 'pseudo = { name = "teachers", runs = [...] }',
    "training.languages_apart": "terms.matching.languages_apart",
}


def load_recipe(name: str, overrides: Sequence[str] = ()) -> Recipe:
    """A recipe with overrides, checked down to every part's options."""
    return parse_recipe(
        recipe_text(name), overrides, origin=f"recipe {name}", check=option_problems, rules=rule_problems
    )


def option_problems(values: Mapping[str, Any]) -> list[str]:
    """All problems with the options of the parts in a recipe's values."""
    problems = [
        f"{old} is now {new}; see `lingvis recipes show`"
        for old, new in MOVED.items()
        if lookup(values, old) is not None
    ]
    problems += model_problems(values)
    for place, registry in TRAINING_PARTS.items():
        problems += part_problems(place, values, registry, provided=PROVIDED)
    terms = lookup(values, "terms")
    for name in terms if isinstance(terms, dict) else ():
        problems += _term_problems(f"terms.{name}", values)
    return problems


def rule_problems(recipe: Recipe) -> Iterator[str]:
    """Unmet requirements between parts and between sections of a recipe."""
    values = recipe.model_dump()
    parts = {
        registry.get(lookup(values, place)["name"])
        for place, registry in {**MODEL_PARTS, **TRAINING_PARTS}.items()
    }
    parts |= {TERMS.get(term.name) for term in recipe.terms.values()}
    for part in sorted(parts, key=lambda part: part.__qualname__):
        if issubclass(part, RecipePart):
            yield from part.problems(recipe)
    yield from _section_problems(recipe)


def _term_problems(place: str, values: Mapping[str, Any]) -> list[str]:
    """All problems with a term; it has an objective if and only if its constructor takes one."""
    term = lookup(values, place)
    problems = part_problems(
        place, values, TERMS, provided=(*PROVIDED, "dim"), ignored=("weight", "rises", "objective")
    )
    problems += part_problems(f"{place}.objective", values, OBJECTIVES, provided=PROVIDED)
    if isinstance(term, dict) and term.get("name") in TERMS:
        takes_objective = bool(accepted(TERMS.get(term["name"]), {"objective": None}))
        if takes_objective and "objective" not in term:
            problems.append(f"{place}.objective: term {term['name']} needs an objective and has none")
        if "objective" in term and not takes_objective:
            problems.append(f"{place}.objective: term {term['name']} takes no objective; leave it out")
    return problems


def _section_problems(recipe: Recipe) -> Iterator[str]:
    """Values that are valid alone but do not fit together."""
    image = recipe.image.encoder.options.get("dim")
    text = recipe.text.head.options.get("dim") or recipe.text.encoder.options.get("dim")
    if None not in (image, text) and image != text:
        yield (
            f"image.encoder.dim is {image} but text.encoder.dim (or text.head.dim) is {text}; make them equal"
        )
    kinds = [(TERMS.get(term.name), term.options) for term in recipe.terms.values() if term.weight]
    if recipe.teacher.name == "none" and not any(
        kind.compares_pictures and Origin.HUMAN in kind.learns_from(options) for kind, options in kinds
    ):
        yield (
            "no term compares pictures with human captions; add "
            'terms.matching = { name = "matching", weight = 1.0, objective = ... }'
        )
    rising = [name for name, term in recipe.terms.items() if term.rises and term.weight]
    steady = [term for term in recipe.terms.values() if term.weight and not term.rises]
    if rising and not any(TERMS.get(term.name).watched(term.options) for term in steady):
        yield (
            f"terms.{rising[0]}.rises counts epochs from the end of the first plateau, which is detected by a term matching "
            f"(of human captions) or teacher_matching of constant weight; add one, or set terms.{rising[0]}.rises = []"
        )
    if recipe.data.classes and not any(kind.compares_pictures for kind, _ in kinds):
        yield (
            "data.classes is true, but no term compares pictures with sentences, so that no batch has a picture to show "
            'classes in; add terms.matching = { name = "matching", weight = 1.0, objective = ... }, or set '
            "data.classes = false"
        )
    if recipe.image.classes.name != "none" and not SIMILARITIES.get(recipe.similarity.name).pooled:
        yield (
            f"image.classes is {recipe.image.classes.name}, but similarity {recipe.similarity.name} compares sets of "
            "vectors, which have no classes; set image.classes.name = none, or similarity.name = cosine"
        )
    trained_network = recipe.image.backbone.name == "trained" and any(
        kind.compares_pictures for kind, _ in kinds
    )
    if recipe.training.graphs and trained_network:
        yield (
            "training.graphs is true, but image.backbone is trained, and steps of a trained network are not recorded; set "
            "training.graphs = false"
        )
    sampling = recipe.training.sampling
    if recipe.data.classes and recipe.data.text_only and sampling.name == "meanings":
        yield (
            "data.classes is true, but training.sampling meanings has batches of text-only sentences without a picture "
            "to show classes in; set training.sampling.name = images, or data.text_only = false, or data.classes = false"
        )
    if recipe.data.text_only and not SAMPLERS.get(sampling.name).draws_text_only(sampling.options):
        yield (
            "data.text_only is true, but no sentence without a picture is sampled; set training.sampling.name = images "
            "with text_only above 0, such as 0.5, or data.text_only = false"
        )
    if recipe.start.run and not recipe.start.parts and recipe.text.words.options.get("map") not in FITTED:
        yield (
            f"start.run is {recipe.start.run!r}, but nothing is taken from it; name parts of this model, "
            'such as start.parts=["image"], or leave start.run out'
        )
    yield from _vector_problems(recipe)


def _vector_problems(recipe: Recipe) -> Iterator[str]:
    """data.vectors is set if and only if the word part starts from word vectors."""
    words = recipe.text.words.name
    takes_vectors = bool(accepted(WORDS.get(words), {"vectors": None}))
    if recipe.data.vectors and not takes_vectors:
        yield (
            f"data.vectors is {recipe.data.vectors!r}, but text.words {words} does not start from word vectors; "
            "set data.vectors to an empty string, or text.words.name = universal or pretrained"
        )
    if takes_vectors and not recipe.data.vectors:
        yield (
            f"text.words {words} starts from word vectors, but data.vectors names none; "
            "make some with `lingvis vectors train` and name them there"
        )

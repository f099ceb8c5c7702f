"""What is wrong with a recipe, found before any data is touched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lingvis.model.build import model_problems
from lingvis.objectives import OBJECTIVES
from lingvis.recipes.options import PROVIDED, accepted, part_problems
from lingvis.recipes.read import lookup
from lingvis.registry import Registry
from lingvis.similarity import SIMILARITIES
from lingvis.terms import TERMS
from lingvis.text.words import WORDS, mapped
from lingvis.training.pretraining import PRETRAINING
from lingvis.training.sampling import SAMPLERS

# The word part that each pre-training is for.
TAUGHT = {"latent": "hybrid", "universal": "universal"}


def parts_problems(values: Mapping[str, Any]) -> list[str]:
    """Everything wrong with the parts of a recipe."""
    parts: dict[str, Registry[Any]] = {
        "objective": OBJECTIVES,
        "pretraining": PRETRAINING,
        "training.sampling": SAMPLERS,
    }
    problems = model_problems(values) + _terms_problems(values)
    if lookup(values, "pseudo.weight"):
        parts["pseudo.objective"] = OBJECTIVES
    for where, registry in parts.items():
        problems += part_problems(where, values, registry, provided=PROVIDED)
    return problems or _disagreements(values)


def _disagreements(values: Mapping[str, Any]) -> list[str]:
    """Values that are right by themselves and do not fit each other."""
    problems = []
    image = lookup(values, "image.encoder.dim")
    text = lookup(values, "text.head.dim") or lookup(values, "text.encoder.dim")
    if None not in (image, text) and image != text:
        problems.append(
            f"image.encoder.dim is {image} but text.encoder.dim (or text.head.dim) is {text}; make them equal"
        )
    wanted = lookup(values, "data.text_only") is True
    share = lookup(values, "training.sampling.text_only") or 0
    if wanted and not share:
        problems.append(
            "data.text_only is true, but no sentence without a picture is sampled; set training.sampling.name = images "
            "with text_only above 0, such as 0.5, or data.text_only = false"
        )
    if share and not wanted:
        problems.append(
            f"training.sampling.text_only is {share}, but data.text_only is false; set data.text_only = true, or "
            "training.sampling.text_only = 0"
        )
    fitted = lookup(values, "text.words.map") in mapped.FITTED
    if lookup(values, "start.run") and not lookup(values, "start.parts") and not fitted:
        problems.append(
            f"start.run is {lookup(values, 'start.run')!r}, but nothing is taken from it; name parts of that model, "
            'such as start.parts=["image"], or leave start.run out'
        )
    return problems + _words_problems(values) + _sets_problems(values) + _pseudo_problems(values)


def _pseudo_problems(values: Mapping[str, Any]) -> list[str]:
    """What captions by detectors ask of other sections."""
    problems = []
    if lookup(values, "pseudo.weight") and lookup(values, "pseudo.objective") is None:
        problems.append(
            "pseudo.weight is above 0, but pseudo.objective names none; give one, such as that of a3vse"
        )
    problems += _teachers_problems(values)
    terms = lookup(values, "terms")
    names = [lookup(values, f"terms.{name}.name") for name in terms] if isinstance(terms, dict) else []
    if lookup(values, "pseudo.weight") and "masked_pairs" in names:
        problems.append(
            "pseudo.weight is above 0, but term masked_pairs hides words of people's captions in every batch; "
            "leave out one of them"
        )
    return problems


def _teachers_problems(values: Mapping[str, Any]) -> list[str]:
    """What teachers ask of other sections; a choice without effect would deceive."""
    terms = lookup(values, "terms")
    names = terms if isinstance(terms, dict) else {}
    objectives = ["objective", *(f"terms.{name}.objective" for name in names)]
    problems = [
        f"{where}.name is distilled, but only captions of pseudo.teachers have scores to learn from; choose another"
        for where in objectives
        if lookup(values, f"{where}.name") == "distilled"
    ]
    weight, teachers = lookup(values, "pseudo.weight"), lookup(values, "pseudo.teachers")
    distilled = lookup(values, "pseudo.objective.name") == "distilled"
    if teachers and not weight:
        problems.append("pseudo.teachers are named, but pseudo.weight is 0; set it above 0, such as 0.5")
    elif weight and distilled != bool(teachers):
        problems.append(
            "pseudo.teachers and pseudo.objective.name = distilled belong together; give both or neither"
        )
    elif teachers and lookup(values, "pseudo.detections"):
        problems.append(
            f"pseudo.detections is {lookup(values, 'pseudo.detections')!r}, but pseudo.teachers find sentences in place of "
            "captions by detectors; leave one of them out"
        )
    elif teachers and not lookup(values, "data.text_only"):
        problems.append(
            "pseudo.teachers find sentences without a picture, but data.text_only is false; set it to true, and "
            "training.sampling.text_only above 0, such as 0.5"
        )
    return problems


def _sets_problems(values: Mapping[str, Any]) -> list[str]:
    """What a similarity that compares all vectors leaves no use for; a choice without effect would deceive."""
    name = lookup(values, "similarity.name")
    if not isinstance(name, str) or SIMILARITIES.get(name).pooled:
        return []
    problems = [
        f"{where} is {got}, but similarity {name} compares all vectors and never pools them; set {where} = {plain}"
        for where, plain in (
            ("image.pooling.name", "mean"),
            ("text.pooling.name", "mean"),
            ("text.head.name", "none"),
        )
        if (got := lookup(values, where)) != plain
    ]
    for term in lookup(values, "terms") or {}:
        if lookup(values, f"terms.{term}.on") == "sentence":
            problems.append(
                f"terms.{term} compares sentences by one vector each, but similarity {name} makes none; "
                "leave the term out, or set similarity.name = cosine"
            )
    return problems


def _words_problems(values: Mapping[str, Any]) -> list[str]:
    """What the words start from and what the recipe gives them, where these are not the same."""
    words, before = lookup(values, "text.words.name"), lookup(values, "pretraining.name") or "none"
    vectors = lookup(values, "data.vectors")
    if not isinstance(words, str) or not isinstance(before, str):
        return []  # the schema's to report
    problems = []
    taught = TAUGHT.get(before, words)
    if taught != words:
        problems.append(
            f"pretraining {before} teaches text.words {taught}, but text.words.name is {words}; "
            f"set text.words.name = {taught}, or pretraining.name = none"
        )
    if words == TAUGHT["latent"] and before != "latent":
        problems.append(
            f"text.words {words} starts from latent tokens, but pretraining.name is {before}; "
            "set pretraining.name = latent, or choose another text.words.name"
        )
    takes_vectors = "vectors" in accepted(WORDS.get(words), {"vectors": None})
    if vectors and not takes_vectors:
        problems.append(
            f"data.vectors is {vectors!r}, but text.words {words} does not start from word vectors; "
            "set data.vectors to an empty string, or text.words.name = universal or pretrained"
        )
    if takes_vectors and not vectors:
        problems.append(
            f"text.words {words} starts from word vectors, but data.vectors names none; "
            "make some with `lingvis vectors train` and name them there"
        )
    return problems + (_mapped_problems(values) if words == "mapped" else [])


def _mapped_problems(values: Mapping[str, Any]) -> list[str]:
    """What the words of Translator ask of other parts."""
    problems = []
    least, rare = (lookup(values, f"text.tokenizer.{key}") for key in ("min_count", "rare_below"))
    if least != 1 or rare:
        problems.append(
            "text.words mapped keeps every word that has a vector; set text.tokenizer.name = language_words with "
            "min_count = 1 and without rare_below"
        )
    map, dictionary = lookup(values, "text.words.map"), lookup(values, "text.words.dictionary")
    if dictionary and map not in mapped.FITTED:
        problems.append(
            f"text.words.dictionary is {dictionary!r}, but text.words.map is {map}, which needs none; "
            f"set text.words.map = {mapped.FITTED[0]} or {mapped.FITTED[1]}, or leave the dictionary out"
        )
    return problems


def _terms_problems(values: Mapping[str, Any]) -> list[str]:
    """Everything wrong with the terms; those that compare sentences have an objective of their own."""
    problems = []
    terms = lookup(values, "terms")
    if not isinstance(terms, dict):
        return []  # none, or the schema's to report
    for name, term in terms.items():
        where = f"terms.{name}"
        problems += part_problems(
            where, values, TERMS, provided=(*PROVIDED, "dim"), ignored=("weight", "objective")
        )
        problems += part_problems(f"{where}.objective", values, OBJECTIVES, provided=PROVIDED)
        known = isinstance(term, dict) and term.get("name") in TERMS
        if known and ("objective" in term) != (
            "objective" in accepted(TERMS.get(term["name"]), {"objective": 0})
        ):
            instead = "gives none and needs one" if "objective" not in term else "has none; leave it out"
            problems.append(f"{where}.objective: term {term['name']} {instead}")
    masked = [
        name for name, term in terms.items() if isinstance(term, dict) and term.get("name") == "masked_pairs"
    ]
    if len(masked) > 1:
        problems.append(
            f"terms {' and '.join(masked)} are all masked_pairs; keep one, words are hidden once a step"
        )
    return problems

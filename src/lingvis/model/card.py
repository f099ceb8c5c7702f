"""The model card: a description of a model, its training data and how it was chosen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lingvis.features.description import Features
from lingvis.model.folder import ModelConfig
from lingvis.model.precision import ReducedPrecision
from lingvis.recipes.schema import Recipe


def model_card(config: ModelConfig, recipe: Recipe) -> str:
    """Markdown about a newly trained model; results on a test split are in evaluation reports."""
    features, counts, training, plan = config.features, config.parameters, config.training, recipe.training
    unit = "pictures" if plan.sampling.name == "images" else "captions"
    rows = {
        "languages": ", ".join(config.languages),
        "data": f"{config.dataset.name}, captions sha256 `{config.dataset.sha256[:16]}`",
        "pictures": _pictures(features),
        "parameters": f"{counts['image']:,} image side, {counts['text']:,} text side, {counts['total']:,} in all; "
        f"{describe_sizes(counts)}",
        "chosen": f"epoch {training.best_epoch} of {plan.epochs}, by mR on the validation split: "
        f"{training.validation_mR:.2f}",
        "trained": f"{training.steps} steps of {plan.batch_size} {unit}, seed {plan.seed}, {training.seconds} s on "
        f"{training.device}",
        "made with": f"lingvis {config.lingvis}, torch {training.torch}",
    }
    table = "\n".join(f"| {key} | {value} |" for key, value in rows.items())
    return f"""# {config.name}
{recipe.summary} (recipe `{recipe.name}`, from: {recipe.source}).

| | |
|---|---|
{table}

Use: `lingvis.load("path/to/{config.name}").encode_texts(["..."], lang="{config.languages[0]}")`.

The model knows only what its training captions describe; measure it on a test split with `lingvis evaluate`.
The terms of the training pictures and captions apply to the model: see the source of the dataset.
"""


def _pictures(features: Features) -> str:
    """How the model sees pictures."""
    if features.kind == "pixels" and features.preprocessing is not None:
        side = features.preprocessing.size
        return f"{side} x {side} pixels, through {features.backbone}, trained as part of the model"
    return f"{features.backbone}, {features.kind} features of {features.dim} dimensions, frozen"


def describe_sizes(counts: Mapping[str, int]) -> str:
    """Parameters in training and at test time, counted as in Burns et al. 2020: looked-up words count as none."""
    table = f" and a table of {counts['table']:,} values for the words" if counts["table"] else ""
    return f"{counts['training']:,} parameters trained, {counts['test']:,} at test time{table}"


MEASURED = {
    "val": "pictures of split val",
    "pictures": "a tenth of the training pictures, held out",
    "pairs": "sentences held out with their translations, since there are no pictures",
    "picture folds": "all pictures with a caption in the language, each held out once (cross-validation)",
    "pair folds": "all sentences with a translation, each held out once (cross-validation), since there are no pictures",
}


def compressed_section(*, base: str, weights: ReducedPrecision) -> str:
    """The section of the card about a lower precision."""
    stored = {
        "float16": "float16",
        "int8": "int8 with one float16 scale per row; vectors and short rows are float16",
    }[weights]
    return f"""
## Weights in {weights}
The weights of {base}, stored as {stored}. They become float32 on loading. Scores above are those of {base}.
"""


def exported_section(*, base: str) -> str:
    """The section of the card about an exported model."""
    return f"""
## ONNX
{base}, exported for onnxruntime. Its scores differ from those of {base} by rounding alone.
"""


def added_section(report: Mapping[str, Any]) -> str:
    """The section of the card about an added language."""
    lang = report["lang"]
    routes = "\n".join(f"| {' | '.join(_cell(each) for each in row)} |" for row in route_rows(report))
    old = "\n".join(
        f"| {name} | {each['before']:.1f} | {each['after']:.1f} |" for name, each in report["old"].items()
    )
    sentences = "\n".join(added_sentences(report))
    before = "none" if report["before"] is None else f"{report['before']:.1f}"
    return f"""
## Language {lang}, added to {report["from"]}
{sentences}

| route | mR | spread | epoch | seconds | values |
|---|--:|--:|--:|--:|--:|
{routes}

| language | mR before | mR after |
|---|--:|--:|
| {lang} | {before} | {report["after"]:.1f} |
{old}
"""


def added_sentences(report: Mapping[str, Any]) -> list[str]:
    """A summary of an added language."""
    same = report["pictures_same"] and report["old_sentences_same"]
    unchanged = (
        "embeddings of pictures and of all other languages are bitwise unchanged: existing collections and their captions "
        "stay valid"
        if same
        else "NOT all embeddings of pictures and sentences are unchanged: do not use this model, and report it"
    )
    return [
        f"{report['lang']} was learnt from {report['sentences']:,} sentences ({report['with_picture']:,} with a picture, "
        f"{report['with_translation']:,} with a translation) by route {report['route']}, in {report['seconds']} s; "
        f"{report['values']:,} values were added.",
        f"mR was measured on {MEASURED[report['measured_on']]}, among {report['pool']:,} pictures or translations; for "
        "routes, on one sentence of each; for other languages on the first captions of the first 300 pictures of split val.",
        *_close_routes(report),
        f"{unchanged[0].upper()}{unchanged[1:]}.",
    ]


def _close_routes(report: Mapping[str, Any]) -> list[str]:
    """A sentence about routes that the folds do not distinguish from the best; none without folds."""
    routes = {each["route"]: each for each in report["routes"] if "reason" not in each}
    best = routes[report["route"]]
    close = [
        name
        for name, each in routes.items()
        if each is not best and best["spread"] is not None and best["mR"] - each["mR"] < best["spread"]
    ]
    named = f"Route {best['route']} is the best on average, but not clearly better than {', '.join(close)}: "
    return [f"{named}their distance is below the spread over folds."] if close else []


ROUTE_COLUMNS = ("route", "mR", "spread", "epoch", "seconds", "values")


def route_rows(report: Mapping[str, Any]) -> list[list[Any]]:
    """The ROUTE_COLUMNS of each route, or the reason why it was impossible; no spread without folds."""
    return [
        [each["route"], f"not taken: {each['reason']}", "", "", "", ""]
        if "reason" in each
        else ["" if each[key] is None else each[key] for key in ROUTE_COLUMNS]
        for each in report["routes"]
    ]


def _cell(value: object) -> str:
    return (
        f"{value:.1f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
    )

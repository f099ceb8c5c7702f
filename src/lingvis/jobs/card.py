"""The model card: what a model is, what it learnt from and how it was chosen, in plain words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def model_card(config: Mapping[str, Any]) -> str:
    """Markdown from a model's config.json; `lingvis evaluate` adds no numbers to it, they live in its report."""
    recipe, training, counts = config["recipe"], config["training"], config["parameters"]
    features = config["features"]
    unit = "pictures" if recipe["training"]["sampling"]["name"] == "images" else "captions"
    rows = {
        "languages": ", ".join(config["languages"]),
        "data": f"{config['dataset']['name']}, captions sha256 `{config['dataset']['sha256'][:16]}`",
        "pictures": f"{features['backbone']}, {features['kind']} features of {features['dim']} dimensions, frozen",
        "parameters": f"{counts['image']:,} image side, {counts['text']:,} text side, {counts['total']:,} in all; "
        f"{describe_sizes(counts)}",
        "chosen": f"epoch {training['best_epoch']} of {recipe['training']['epochs']}, by mR on the validation split: "
        f"{training['validation_mR']:.2f}",
        "trained": f"{training['steps']} steps of {recipe['training']['batch_size']} {unit}, seed "
        f"{recipe['training']['seed']}, {training['seconds']} s on {training['device']}",
        "made with": f"lingvis {config['lingvis']}, torch {training['torch']}",
    }
    table = "\n".join(f"| {key} | {value} |" for key, value in rows.items())
    return f"""# {config["name"]}
{recipe["summary"]} (recipe `{recipe["name"]}`, from: {recipe["source"]}).

| | |
|---|---|
{table}

Use: `lingvis.load("path/to/{config["name"]}").encode_texts(["..."], lang="{config["languages"][0]}")`.

The model knows what its captions spoke of and no more; scores on a test split come from `lingvis evaluate`.
The terms of the training pictures and captions apply to the model: see where the dataset came from.
"""


def describe_sizes(counts: Mapping[str, int]) -> str:
    """Parameters in training and at test time as Burns et al. 2020 count: words that are looked up have none."""
    table = f" and a table of {counts['table']:,} values for the words" if counts["table"] else ""
    return f"{counts['training']:,} parameters trained, {counts['test']:,} at test time{table}"

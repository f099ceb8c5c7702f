"""The only place that turns a recipe into objects."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from torch import nn

from lingvis.model.build import make_part
from lingvis.model.dual_encoder import DualEncoder
from lingvis.objectives import OBJECTIVES
from lingvis.recipes.library import recipe_text
from lingvis.recipes.read import parse_recipe
from lingvis.recipes.schema import Part, Recipe
from lingvis.terms import TERMS
from lingvis.training.pretraining import PRETRAINING, Pretraining
from lingvis.training.pseudo import PseudoCaptions
from lingvis.training.sampling import SAMPLERS, CaptionTable, Sampler
from lingvis.training.validate import parts_problems


def load_recipe(name: str, overrides: Sequence[str] = ()) -> Recipe:
    """A recipe with overrides, checked down to every part's options before any data is touched."""
    return parse_recipe(recipe_text(name), overrides, origin=f"recipe {name}", check=parts_problems)


def build_objective(recipe: Recipe) -> nn.Module:
    """The training objective."""
    made: nn.Module = make_part(OBJECTIVES, recipe.objective)
    return made


def build_terms(
    recipe: Recipe, model: DualEncoder, *, languages: int, total_steps: int
) -> dict[str, tuple[float, nn.Module]]:
    """The terms of the loss beside the objective, with their weights."""
    built = {}
    for name, term in recipe.terms.items():
        options = term.options
        inner = options.pop("objective", None)
        made = make_part(
            TERMS,
            Part(name=term.name, **options),
            objective=None if inner is None else make_part(OBJECTIVES, Part(**inner)),
            word_dim=model.text.words.dim,
            dim=model.text.head.dim,
            language_count=languages,
            total_steps=total_steps,
        )
        built[name] = (term.weight, made)
    return built


def build_sampler(recipe: Recipe, captions: CaptionTable) -> Sampler:
    """Which captions meet in a batch."""
    made: Sampler = make_part(
        SAMPLERS, recipe.training.sampling, captions=captions, batch_size=recipe.training.batch_size
    )
    return made


def build_pseudo(
    recipe: Recipe, groups: NDArray[np.int64], texts: Sequence[str], *, first: int
) -> PseudoCaptions | None:
    """The captions of detectors, from number `first` of all sentences on; None where there are none."""
    if first == len(texts):
        return None
    _, wordings = np.unique(np.asarray(texts[first:]), return_inverse=True)
    return PseudoCaptions(
        first, groups[first:], wordings, recipe.pseudo.weight, make_part(OBJECTIVES, recipe.pseudo.objective)
    )


def build_pretraining(recipe: Recipe) -> Pretraining:
    """What the words learn before the model is trained."""
    made: Pretraining = make_part(PRETRAINING, recipe.pretraining)
    return made

"""Choose a route by cross-validation: every sentence is a query once, for words that were learnt without it."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace

from lingvis.arrays import Floats
from lingvis.model.embedder import Embedder
from lingvis.new_language.language_data import LanguageData
from lingvis.new_language.measure import RetrievalMeasure
from lingvis.new_language.routes import Route
from lingvis.new_language.start_factory import LexicalResources
from lingvis.new_language.task import TeachingPlan
from lingvis.new_language.try_routes import (
    RouteOutcome,
    best_outcome,
    learn_by_route,
    plan_of,
    try_routes,
)
from lingvis.recipes.schema import ModelRecipe


def cross_validate(
    embedder: Embedder,
    recipe: ModelRecipe,
    data: LanguageData,
    image_emb: Floats,
    measures: Sequence[RetrievalMeasure],
    *,
    resources: LexicalResources,
    plan: TeachingPlan,
    routes: Sequence[Route],
) -> list[RouteOutcome]:
    """The mean outcome of every route over data.folds; the best one has the language, learnt from all sentences.

    measures: one per fold. Route and epoch are those with the highest mean.
    """
    by_fold = []
    for number, (fold, measure) in enumerate(zip(data.folds, measures, strict=True), start=1):
        outcomes = try_routes(
            embedder,
            recipe,
            fold,
            image_emb,
            measure,
            resources=resources,
            plan=plan,
            routes=routes,
            label=f"add-language, fold {number} of {len(data.folds)}",
        )
        by_fold.append([replace(outcome, language=None) for outcome in outcomes])  # 16 MB each
    epochs = [plan_of(route, plan).epochs for route in routes]
    means = [
        mean_outcome(folds, most) for folds, most in zip(zip(*by_fold, strict=True), epochs, strict=True)
    ]
    best = best_outcome(means)
    language = learn_by_route(
        embedder,
        recipe,
        data,
        image_emb,
        resources=resources,
        plan=plan,
        route=next(route for route in routes if route.name == best.route),
        epochs=best.epoch,
    )
    return [replace(each, language=language) if each is best else each for each in means]


def mean_outcome(folds: Sequence[RouteOutcome], epochs: int) -> RouteOutcome:
    """The means over folds after each epoch; a fold that stopped early keeps its last score."""
    impossible = next((fold for fold in folds if fold.reason), None)
    if impossible is not None:
        return impossible
    curves = [[*fold.scores, *[fold.scores[-1]] * (epochs + 1 - len(fold.scores))] for fold in folds]
    mean = RouteOutcome(
        folds[0].route,
        [statistics.mean(scores) for scores in zip(*curves, strict=True)],
        seconds=sum(fold.seconds for fold in folds),
        values=folds[0].values,
    )
    return replace(mean, spread=statistics.stdev(curve[mean.epoch] for curve in curves))

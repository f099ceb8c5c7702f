"""Learn a language by every possible route and compare the results."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from lingvis.arrays import Floats
from lingvis.errors import UserError
from lingvis.model.added_language import AddedLanguage, Branch
from lingvis.model.embedder import Embedder
from lingvis.model.folder import AddedConfig
from lingvis.new_language.language_data import LanguageData
from lingvis.new_language.measure import RetrievalMeasure
from lingvis.new_language.routes import Route
from lingvis.new_language.start_factory import LexicalResources, StartFactory
from lingvis.new_language.starts import WordStart
from lingvis.new_language.targets import TargetedSentences
from lingvis.new_language.task import LengthSampler, TeachingPlan, TeachingTask, teach, teach_epochs
from lingvis.progress import ProgressBar
from lingvis.recipes.schema import ModelRecipe
from lingvis.text.augment import ChangeWords

# Epochs over four times as many sentences: mR 41.1 for Czech on validation; twelve epochs take longer and reach 41.3.
GLOSSED_EPOCHS = 6


@dataclass(frozen=True, slots=True)
class RouteOutcome:
    """The scores of a route, or the reason why it was impossible.

    scores: mR after each epoch, that of the start first; of several folds, the means. epoch: the best one; score: its
    mR; spread: standard deviation of its mR over folds, None without folds. values: number of weights. language: as
    learnt, None if only numbers of folds are known.
    """

    route: str
    scores: Sequence[float] = ()
    spread: float | None = None
    seconds: float = 0.0
    values: int = 0
    reason: str = ""
    language: AddedLanguage | None = None

    @property
    def epoch(self) -> int:
        """The epoch with the highest mR, the first of equal ones."""
        return max(range(len(self.scores)), key=self.scores.__getitem__, default=0)

    @property
    def score(self) -> float:
        """The mR of the best epoch."""
        return max(self.scores, default=0.0)

    def as_json(self) -> dict[str, Any]:
        """The values for the report."""
        if self.reason:
            return {"route": self.route, "reason": self.reason}
        return {
            "route": self.route,
            "mR": self.score,
            "spread": self.spread,
            "epoch": self.epoch,
            "seconds": round(self.seconds, 1),
            "values": self.values,
        }


def try_routes(
    embedder: Embedder,
    recipe: ModelRecipe,
    data: LanguageData,
    image_emb: Floats,
    measure: RetrievalMeasure,
    *,
    resources: LexicalResources,
    plan: TeachingPlan,
    routes: Sequence[Route],
    label: str = "add-language",
) -> list[RouteOutcome]:
    """The outcome of every route; image_emb: of the pictures of data.learn [images, dim]; label: of the progress bar."""
    starts = StartFactory(embedder, recipe, data, resources, seed=plan.seed)
    trials = _RouteTrials(embedder, data, starts, image_emb)
    plans = [plan_of(route, plan) for route in routes]
    outcomes = []
    with ProgressBar(label, sum(each.epochs for each in plans)) as bar:
        for route, route_plan in zip(routes, plans, strict=True):
            before = bar.done
            outcomes.append(
                trials.run(route, route_plan, measure, advance=partial(bar.advance, note=route.name))
            )
            bar.advance(before + route_plan.epochs - bar.done, route.name)  # epochs that were not needed
    return outcomes


def learn_by_route(
    embedder: Embedder,
    recipe: ModelRecipe,
    data: LanguageData,
    image_emb: Floats,
    *,
    resources: LexicalResources,
    plan: TeachingPlan,
    route: Route,
    epochs: int,
) -> AddedLanguage:
    """The language after a number of epochs of one route, without choosing."""
    starts = StartFactory(embedder, recipe, data, resources, seed=plan.seed)
    return _RouteTrials(embedder, data, starts, image_emb).learn(route, plan_of(route, plan), epochs)


def plan_of(route: Route, plan: TeachingPlan) -> TeachingPlan:
    """The plan of a route: glosses need fewer epochs."""
    return replace(plan, epochs=min(plan.epochs, GLOSSED_EPOCHS)) if route.glosses else plan


def best_outcome(outcomes: Sequence[RouteOutcome]) -> RouteOutcome:
    """The outcome with the highest mR; in case of a tie, the first."""
    learnt = [outcome for outcome in outcomes if not outcome.reason]
    if not learnt:
        reasons = "; ".join(f"{outcome.route}: {outcome.reason}" for outcome in outcomes)
        raise UserError(f"no route to the language is possible ({reasons})")
    return max(learnt, key=lambda outcome: outcome.score)


class _RouteTrials:
    """Learns one language by one route after another; the embedder does not change."""

    def __init__(
        self,
        embedder: Embedder,
        data: LanguageData,
        starts: StartFactory,
        image_emb: Floats,
    ) -> None:
        self._embedder = embedder
        self._data = data
        self._starts = starts
        self._image_emb = image_emb

    def run(
        self, route: Route, plan: TeachingPlan, measure: RetrievalMeasure, *, advance: Callable[[int], None]
    ) -> RouteOutcome:
        """Learn the language by a route and keep the best epoch; `advance` gets the number of finished epochs."""
        began = time.monotonic()
        reason = self._obstacle(route)
        if reason:
            return RouteOutcome(route.name, reason=reason)
        try:
            start = route.start(self._starts)
        except UserError as error:
            return RouteOutcome(route.name, reason=str(error))
        language = self._language(route, start, plan)
        learner = with_language(self._embedder, language)
        task, sampler = self._task(route, language, plan)
        scores = teach(
            task,
            sampler,
            self._embedder.model,
            measure=lambda: measure.score(learner),
            plan=plan,
            advance=advance,
        )
        return RouteOutcome(
            route.name,
            scores,
            seconds=time.monotonic() - began,
            values=language.values,
            language=language,
        )

    def learn(self, route: Route, plan: TeachingPlan, epochs: int) -> AddedLanguage:
        """The language after a number of epochs."""
        language = self._language(route, route.start(self._starts), plan)
        task, sampler = self._task(route, language, plan)
        teach_epochs(task, sampler, self._embedder.model, epochs=epochs, plan=plan)
        return language

    def _obstacle(self, route: Route) -> str:
        reason = route.obstacle(self._embedder, self._data)
        if not reason and route.glosses and len(self._starts.glossed.texts) == len(self._data.learn.texts):
            return "no sentence can be translated word by word"
        return reason

    def _language(self, route: Route, start: WordStart, plan: TeachingPlan) -> AddedLanguage:
        """The language before training, with the layers of the pivot language."""
        embedder = self._embedder
        numbered = embedder.tokenizer.vocabulary.languages or embedder.trained
        start.words.drop = plan.drop
        branch = Branch(
            words=start.words,
            text=embedder.model.text,
            place=list(numbered).index(self._starts.pivot),
            dropout=plan.dropout,
        ).to(embedder.device)
        config = AddedConfig(
            lang=self._data.lang,
            tokenizer=start.tokenizer_part,
            words=start.words_part,
            like=self._starts.pivot,
            route=route.name,
            data={},
            numbers={},
        )
        return AddedLanguage(config, start.tokenizer, branch)

    def _task(
        self, route: Route, language: AddedLanguage, plan: TeachingPlan
    ) -> tuple[TeachingTask, LengthSampler]:
        """The training of a language towards the targets of a route."""
        embedder = self._embedder
        sentences = self._glossed_sentences if route.glosses else self._sentences
        vocabulary = language.tokenizer.vocabulary
        bank = language.bank(sentences.part.texts, embedder.device)
        task = TeachingTask(
            branch=language.branch,
            augment=ChangeWords(vocabulary=vocabulary, p=0.2, masked=0.5, replaced=0.1).to(embedder.device),
            bank=bank,
            targets=sentences.chosen(pictures=route.pictures, sentences=route.sentences),
            model=embedder.model,
            temperature=plan.temperature,
        )
        return task, LengthSampler(bank.rows.lengths, size=plan.batch, steps=plan.steps)

    @cached_property
    def _sentences(self) -> TargetedSentences:
        return TargetedSentences.find(self._embedder, self._data.learn, self._image_emb)

    @cached_property
    def _glossed_sentences(self) -> TargetedSentences:
        return TargetedSentences.find(self._embedder, self._starts.glossed, self._image_emb)


def with_language(embedder: Embedder, language: AddedLanguage) -> Embedder:
    """An embedder with the same model and one more language."""
    return Embedder(
        name=embedder.name,
        model=embedder.model,
        tokenizer=embedder.tokenizer,
        features=embedder.features,
        languages=embedder.trained,
        device=embedder.device,
        added={**embedder.added, language.config.lang: language},
    )

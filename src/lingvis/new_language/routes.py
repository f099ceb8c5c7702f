"""The routes to a new language: what its words start from and what they are drawn to; each is tried, the best is kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from lingvis.errors import UserError
from lingvis.model.added_language import AddedConfig, AddedLanguage, Branch
from lingvis.model.embedder import Embedder
from lingvis.new_language.material import Material
from lingvis.new_language.measure import Ruler
from lingvis.new_language.starts import Start, spells
from lingvis.new_language.targets import Lessons
from lingvis.new_language.teaching import Plan, teach
from lingvis.text.augment import ChangeWords


@dataclass(frozen=True, slots=True)
class Route:
    """A way to a language: what its words start from, and whether pictures and known sentences draw them.

    start: "copied" is the model's own word part, or a fresh one where it does not spell; "placed" is "mapped" where word
    vectors are given, else a fresh one. glosses: whether known sentences put into the language word by word are learnt, too.
    """

    name: str
    start: str
    pictures: bool
    sentences: bool
    summary: str
    glosses: bool = False


ROUTES = (
    Route("characters", "copied", True, False, "the model's own letters, drawn to pictures"),
    Route("mapped", "mapped", True, True, "word vectors mapped into the model's, drawn to all there is"),
    Route(
        "distilled", "copied", False, True, "the model's own letters, drawn to what it makes of translations"
    ),
    Route("both", "fresh", True, True, "letters of its own, drawn to pictures and to translations"),
    Route(
        "glossed",
        "placed",
        True,
        True,
        "as both or mapped, with sentences of other pictures put into the language word by word",
        glosses=True,
    ),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a route: the language as it learnt it, or why it could not be taken."""

    route: str
    language: AddedLanguage | None = None
    score: float = 0.0
    epoch: int = 0
    seconds: float = 0.0
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        """For the report."""
        if self.language is None:
            return {"route": self.route, "reason": self.reason}
        return {
            "route": self.route,
            "mR": self.score,
            "epoch": self.epoch,
            "seconds": round(self.seconds, 1),
            "values": self.language.values,
        }


def obstacle(route: Route, embedder: Embedder, material: Material) -> str:
    """Why a route cannot be taken; empty when it can."""
    if route.name == "characters" and not spells(embedder):
        return "the model does not spell its words"
    if route.glosses:
        return "" if material.undescribed else "no picture is described in known languages alone"
    if route.name == "mapped":
        return (
            ""
            if material.learn.paired or material.learn.pictured
            else "no sentence says what the others mean"
        )
    if route.pictures and not material.learn.pictured:
        return f"no picture has a sentence in {material.lang}"
    if route.sentences and not material.learn.paired:
        return f"no sentence in {material.lang} has one in a language of the model beside it"
    return ""


def take(
    route: Route,
    embedder: Embedder,
    lang: str,
    start: Callable[[str], Start],
    *,
    lessons: Lessons,
    ruler: Ruler,
    like: str,
    plan: Plan,
    advance: Callable[[int], None],
) -> Outcome:
    """Teach the language by one route; the embedder reads it in this way until another route is taken."""
    began = time.monotonic()
    try:
        begun = start(route.start)
    except UserError as error:
        advance(plan.epochs)
        return Outcome(route.name, reason=str(error))
    numbered = embedder.tokenizer.vocabulary.languages or embedder.trained
    branch = Branch(
        words=begun.words,
        text=embedder.model.text,
        place=list(numbered).index(like),
        dropout=plan.dropout,
    ).to(embedder.device)
    config = AddedConfig(
        lang=lang,
        tokenizer=begun.tokenizer_part,
        words=begun.words_part,
        like=like,
        route=route.name,
        data={},
        numbers={},
    )
    embedder.added[lang] = language = AddedLanguage(config, begun.tokenizer, branch)
    targets = [
        each
        for each in (
            lessons.pictures if route.pictures else None,
            lessons.sentences if route.sentences else None,
        )
        if each
    ]
    taught = teach(
        branch,
        ChangeWords(vocabulary=begun.tokenizer.vocabulary, p=0.2, masked=0.5, replaced=0.1).to(
            embedder.device
        ),
        language.bank(lessons.part.texts, embedder.device),
        targets,
        embedder.model,
        measure=lambda: ruler(embedder),
        plan=plan,
        advance=advance,
    )
    branch.eval()
    return Outcome(route.name, language, taught.score, taught.epoch, time.monotonic() - began)


def best(outcomes: Sequence[Outcome]) -> Outcome:
    """The one of highest mR, the first of equals."""
    taken = [each for each in outcomes if each.language is not None]
    if not taken:
        reasons = "; ".join(f"{each.route}: {each.reason}" for each in outcomes)
        raise UserError(f"no route to the language could be taken ({reasons})")
    return max(taken, key=lambda each: each.score)

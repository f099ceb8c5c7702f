"""The claims of the papers and our own goals, decided by the records."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

from studies.languages.rows import EXPLORING
from studies.languages.translated import sentence_scores
from studies.tables.markdown import millions, spread, table
from studies.tables.results.ablations import LIWE
from studies.tables.results.language_scores import ELSEWHERE, LANGUAGES, STUDY, TESTED, scores
from studies.tables.results.languages import MISSING, MODELS, QUERY_METHODS, ROWS, TRANSLATED_MODELS
from studies.tables.results.records import Results

ONE_SEED = 1.0  # points; less than this between runs of one seed says nothing
TWO = ("en", "de")  # whose scores show what further languages cost
GOAL = 3.0  # points that lingvis_frozen should be ahead
ENGLISH_ONLY = ("embn-en", *ELSEWHERE, *LIWE.values())
WITHOUT_A = ("s_liwe-1", "s_liwe-2")  # rows of one and two languages
CONFIRMED, REFUTED, UNDECIDED = "confirmed", "refuted", "undecided"


class Side(NamedTuple):
    """One side of a comparison: mR, one number per seed, None if it was not measured."""

    label: str
    values: Sequence[float] | None


class Claim(NamedTuple):
    """A claim, its numbers and the verdict."""

    text: str
    numbers: str
    verdict: str


def claims(results: Results) -> str:
    """All claims with their numbers and verdicts."""
    rows = [*liwe(results), *smalr(results), *_ours(results)]
    return table(["claim", "measured", "verdict"], rows, left=3)


def claims_before(results: Results) -> str:
    """Verdicts on earlier runs, kept as they were, with what was wrong with the runs."""
    record = results.get(STUDY, "claims-before")
    rows = [[line[key] for key in ("claim", "measured", "verdict", "wrong")] for line in record["claims"]]
    return table(["claim", "measured then", "verdict then", "what was wrong"], rows, left=4)


def liwe(results: Results) -> list[Claim]:
    """The claim of LIWE that SMALR's tables test: what further languages cost."""
    return [
        compare(
            "LIWE loses when languages are added: English, 1 to 10 languages",
            Side("with 1", _average(results, "s_liwe-1", languages=("en",))),
            Side("with 10", _average(results, "s_liwe-10", languages=("en",))),
        ),
        compare(
            "the same: English and German, 2 to 10 languages",
            Side("with 2", _average(results, "s_liwe-2", languages=TWO)),
            Side("with 10", _average(results, "s_liwe-10", languages=TWO)),
        ),
        compare(
            "the same with as many steps per language: English and German, 2 to 10 languages",
            Side("with 2", _average(results, "s_liwe-2", languages=TWO)),
            Side("with 10", _average(results, "s_liwe-10-equal", languages=TWO)),
        ),
        compare(
            "the same without ug, bo and mn: English and German, 2 to 7 languages",
            Side("with 2", _average(results, "s_liwe-2", languages=TWO)),
            Side("with 7", _average(results, "s_liwe-7-equal", languages=TWO)),
        ),
        compare(
            "the same with es and uk, translations of English: English and German, 2 to 4 languages",
            Side("with 2", _average(results, "s_liwe-2", languages=TWO)),
            Side("with 4", _average(results, "s_liwe-2-es-uk", languages=TWO)),
        ),
    ]


def smalr(results: Results) -> list[Claim]:
    """The claims of SMALR."""
    added = _smalr_languages(results)
    return [*added, *_vocabularies(results), *_consistency(results), *_machine_translations(results)]


def _smalr_languages(results: Results) -> list[Claim]:
    return [
        compare(
            "SMALR does not lose: English and German, 2 to 10 languages",
            Side("with 10", _average(results, "smalr", languages=TWO)),
            Side("with 2", _average(results, "smalr-2-languages", languages=TWO)),
        ),
        compare(
            "the same without ug, bo and mn: English and German, 2 to 7 languages",
            Side("with 7", _average(results, "smalr-7-languages", languages=TWO)),
            Side("with 2", _average(results, "smalr-2-languages", languages=TWO)),
        ),
        compare(
            "the same with es and uk, translations of English: English and German, 2 to 4 languages",
            Side("with 4", _average(results, "smalr-2-es-uk", languages=TWO)),
            Side("with 2", _average(results, "smalr-2-languages", languages=TWO)),
        ),
    ]


def _vocabularies(results: Results) -> list[Claim]:
    sides = {name: Side(label, _average(results, name)) for label, (name, *_) in ROWS.items()}
    return [
        compare("SMALR at least equals MULE", sides["smalr"], sides["mule"]),
        compare("the same, both with aligned word vectors", sides["smalr"], sides["mule-aligned"]),
        compare(
            "the same, both with aligned word vectors and a fixed rise",
            sides["smalr-fixed-rise"],
            sides["mule-fixed-rise"],
        ),
        _a_fifth(results),
        compare("HEM is better than LA", sides["hem"], sides["la"]),
        *(
            compare(
                f"Exploration helps {name.upper()}",
                sides[name],
                Side("without", _average(results, f"{name}-no-exploration")),
            )
            for name in EXPLORING
        ),
    ]


def _a_fifth(results: Results) -> Claim:
    """Without the layers that only training needs, such as those of masked cross-language modelling."""
    text = "SMALR has a fifth of MULE's parameters, without those that only training needs"
    small, large = scores(results, "smalr"), scores(results, "mule")
    if small is None or large is None:
        return Claim(text, "", MISSING)
    smalr, mule = small.sizes["total"], large.sizes["total"]
    numbers = f"{millions(smalr)} M, MULE {millions(mule)} M: {smalr / mule:.2f} of it"
    return Claim(text, numbers, CONFIRMED if round(smalr / mule, 1) <= 0.2 else REFUTED)


def _consistency(results: Results) -> list[Claim]:
    record = results.find(STUDY, "consistency") or {}
    rows = []
    for model, name in MODELS.items():
        reports = record.get("models", {}).get(model, {})
        averages = {key: [reports[key]["A"]] if key in reports else None for key in QUERY_METHODS}
        mean = Side("CLC-A", averages["mean"])
        rows += [
            compare(f"CLC-A is better than none, {name}", mean, Side("none", averages["single"])),
            compare(f"CLC-C at least equals CLC-A, {name}", Side("CLC-C", averages["learned"]), mean),
        ]
    return rows


def _machine_translations(results: Results) -> list[Claim]:
    """CLC with a machine, in English and Portuguese; and models in the same order on machine sentences."""
    record = results.find(STUDY, "consistency-machine") or {}
    models = record.get("pairs", {}).get("en-pt", {}).get("models", {})
    rows = []
    for model, name in TRANSLATED_MODELS.items():
        reports = models.get(model)
        mean = None if reports is None else [reports["machine"]["mean"]["A"]]
        single = None if reports is None else [reports["single"]["A"]]
        text = f"CLC-A by machine translation is better than none, en and pt, {name}"
        rows.append(compare(text, Side("CLC-A", mean), Side("none", single)))
    return [*rows, _same_order(results)]


def _same_order(results: Results) -> Claim:
    text = "Machine sentences put models into the same order as human ones: Portuguese"
    record = results.find(STUDY, "sentences")
    if record is None:
        return Claim(text, "", MISSING)
    kinds = sentence_scores(record)["pt"]
    human, machine = kinds["human"], kinds["machine"]
    swapped = [
        (one, other)
        for one, other in combinations(human, 2)
        if (human[one] - human[other]) * (machine[one] - machine[other]) < 0
    ]
    clear = [
        pair
        for pair in swapped
        if all(abs(each[pair[0]] - each[pair[1]]) > ONE_SEED for each in (human, machine))
    ]
    named = ", ".join(f"`{one}` and `{other}`" for one, other in clear or swapped)
    numbers = f"{len(human)} models, {len(swapped)} pairs swapped{': ' + named if named else ''}"
    return Claim(text, numbers, REFUTED if clear else UNDECIDED if swapped else CONFIRMED)


def _ours(results: Results) -> list[Claim]:
    return [_ahead(results), _english(results), _each_language(results)]


def _ahead(results: Results) -> Claim:
    others = [
        Side(label, _average(results, *names))
        for label, names in ROWS.items()
        if names[0] not in ("lingvis_frozen", "lingvis", *WITHOUT_A)
    ]
    ours = Side("`lingvis_frozen`", _average(results, "lingvis_frozen"))
    best, measured = _best(others)
    claim = compare(
        f"`lingvis_frozen` has an A at least {GOAL:.0f} points above every row of a paper", ours, best
    )
    if ours.values is None or best.values is None:
        return claim
    # A margin of this size is more than chance, so it is taken as measured.
    ahead = statistics.mean(ours.values) - statistics.mean(best.values)
    return claim._replace(verdict=_so_far(CONFIRMED if ahead >= GOAL else REFUTED, measured, len(others)))


def _english(results: Results) -> Claim:
    sides = [Side(f"`{name}`", _average(results, name, languages=("en",))) for name in ENGLISH_ONLY]
    ours = Side("`lingvis_frozen`", _average(results, "lingvis_frozen", languages=("en",)))
    best, measured = _best(sides)
    claim = compare(
        "`lingvis_frozen` in English is no worse than the best model of English alone", ours, best
    )
    return claim._replace(verdict=_so_far(claim.verdict, measured, len(sides)))


def _best(sides: Sequence[Side]) -> tuple[Side, int]:
    """The side with the highest mean, and the number of sides that were measured."""
    best = max(sides, key=lambda side: statistics.mean(side.values or [0.0]))
    return best, sum(side.values is not None for side in sides)


def _each_language(results: Results) -> Claim:
    text = "`lingvis_frozen` is better in every language than VSE-infinity of that language"
    ours, rival = (
        scores(results, "lingvis_frozen"),
        scores(results, *(f"vse_infinity-{lang}" for lang in LANGUAGES)),
    )
    if ours is None or rival is None:
        return Claim(text, "", MISSING)
    pairs = {lang: (ours.best(lang), rival.best(lang)) for lang in LANGUAGES}
    measured = {lang: (left, right) for lang, (left, right) in pairs.items() if left and right}
    verdicts = {decide(left, right) for left, right in measured.values()}
    order = (REFUTED, UNDECIDED, CONFIRMED)  # the worst language decides
    ahead = {lang: statistics.mean(left) - statistics.mean(right) for lang, (left, right) in measured.items()}
    numbers = ", ".join(f"{lang} {points:+.1f}" for lang, points in ahead.items())
    numbers += f" (seeds: {ours.seeds} and {rival.seeds})"
    verdict = next((each for each in order if each in verdicts), MISSING)
    return Claim(text, numbers, _so_far(verdict, len(measured), len(LANGUAGES)))


def compare(text: str, more: Side, less: Side) -> Claim:
    """A claim that the first side is the higher one."""
    if more.values is None or less.values is None:
        return Claim(text, "", MISSING)
    difference = statistics.mean(more.values) - statistics.mean(less.values)
    seeds = f"seeds: {len(more.values)} and {len(less.values)}"
    sides = f"{more.label} {spread(more.values)}, {less.label} {spread(less.values)}"
    numbers = f"{sides}: {difference:+.1f} ({seeds})"
    return Claim(text, numbers, decide(more.values, less.values))


def decide(more: Sequence[float], less: Sequence[float]) -> str:
    """Whether the first numbers are higher than the second, given the spread of their seeds."""
    difference = statistics.mean(more) - statistics.mean(less)
    several = min(len(more), len(less)) > 1
    errors = [statistics.variance(each) / len(each) for each in (more, less)] if several else []
    needed = 2 * math.sqrt(sum(errors)) if several else ONE_SEED
    if abs(difference) <= needed:
        return UNDECIDED
    return CONFIRMED if difference > 0 else REFUTED


def _average(results: Results, *names: str, languages: Sequence[str] = TESTED) -> list[float] | None:
    row = scores(results, *names)
    return None if row is None else row.average(languages)


def _so_far(verdict: str, measured: int, total: int) -> str:
    """The verdict over several rows, with their number while some are missing and none refutes it."""
    settled = verdict in (REFUTED, MISSING) or measured == total
    return verdict if settled else f"{verdict} so far, {measured} of {total} measured"

"""The claims of the papers and our own goals, decided by the records."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import NamedTuple

from studies.tables.languages import MISSING, MODELS, READINGS, ROWS
from studies.tables.markdown import millions, spread, table
from studies.tables.questions import LIWE
from studies.tables.records import ELSEWHERE, LANGUAGES, TESTED, Records

ONE_SEED = 1.0  # points; less than this between runs of one seed says nothing
GOAL = 3.0  # points that lingvis shall be ahead
ENGLISH_ONLY = ("embn-en", *ELSEWHERE, *LIWE.values())
WITHOUT_A = ("s_liwe-1", "s_liwe-2")  # rows of one and two languages
CONFIRMED, REFUTED, UNDECIDED = "confirmed", "refuted", "undecided"


class Side(NamedTuple):
    """One side of a comparison: mR, one number a seed, None while it is not measured."""

    label: str
    values: Sequence[float] | None


class Claim(NamedTuple):
    text: str
    numbers: str
    verdict: str


def claims(records: Records) -> str:
    """Every claim with its numbers and what they say."""
    found = [*_languages_added(records), *_vocabularies(records), *_consistency(records), *_ours(records)]
    return table(["claim", "measured", "verdict"], found, left=3)


def _languages_added(records: Records) -> list[Claim]:
    two = ("en", "de")
    return [
        compare(
            "LIWE loses when languages are added: English, 1 to 10 languages",
            Side("with 1", _average(records, "s_liwe-1", languages=("en",))),
            Side("with 10", _average(records, "s_liwe-10", languages=("en",))),
        ),
        compare(
            "the same: English and German, 2 to 10 languages",
            Side("with 2", _average(records, "s_liwe-2", languages=two)),
            Side("with 10", _average(records, "s_liwe-10", languages=two)),
        ),
        compare(
            "SMALR does not lose: English and German, 2 to 10 languages",
            Side("with 10", _average(records, "smalr", languages=two)),
            Side("with 2", _average(records, "smalr-2-languages", languages=two)),
        ),
    ]


def _vocabularies(records: Records) -> list[Claim]:
    sides = {name: Side(label, _average(records, name)) for label, (name, *_) in ROWS.items()}
    without = Side("without", _average(records, "la-no-exploration"))
    return [
        compare("SMALR at least equals MULE", sides["smalr"], sides["mule"]),
        _a_fifth(records),
        compare("HEM is better than LA", sides["hem"], sides["la"]),
        compare("Exploration helps LA", sides["la"], without),
    ]


def _a_fifth(records: Records) -> Claim:
    text = "SMALR has a fifth of MULE's trained parameters"
    small, large = records.row("smalr"), records.row("mule")
    if small is None or large is None:
        return Claim(text, "", MISSING)
    own, rival = small.sizes["training"], large.sizes["training"]
    numbers = f"{millions(own)} M, MULE {millions(rival)} M: {own / rival:.2f} of it"
    return Claim(text, numbers, CONFIRMED if round(own / rival, 1) <= 0.2 else REFUTED)


def _consistency(records: Records) -> list[Claim]:
    record = records.find("consistency") or {}
    found = []
    for model, name in MODELS.items():
        reports = record.get(model, {})
        scores = {key: [reports[key]["A"]] if key in reports else None for key in READINGS}
        mean = Side("CLC-A", scores["mean"])
        found += [
            compare(f"CLC-A is better than none, {name}", mean, Side("none", scores["single"])),
            compare(f"CLC-C at least equals CLC-A, {name}", Side("CLC-C", scores["learned"]), mean),
        ]
    return found


def _ours(records: Records) -> list[Claim]:
    return [_ahead(records), _english(records), _each_language(records)]


def _ahead(records: Records) -> Claim:
    others = [
        Side(label, _average(records, *names))
        for label, names in ROWS.items()
        if names[0] not in ("lingvis", *WITHOUT_A)
    ]
    own = Side("`lingvis`", _average(records, "lingvis"))
    best, measured = _best(others)
    claim = compare(f"`lingvis` has an A at least {GOAL:.0f} points above every other row", own, best)
    if own.values is None or best.values is None:
        return claim
    # A margin of this size is more than chance, so it is taken as measured.
    ahead = statistics.mean(own.values) - statistics.mean(best.values)
    return claim._replace(verdict=_so_far(CONFIRMED if ahead >= GOAL else REFUTED, measured, len(others)))


def _english(records: Records) -> Claim:
    sides = [Side(f"`{name}`", _average(records, name, languages=("en",))) for name in ENGLISH_ONLY]
    own = Side("`lingvis`", _average(records, "lingvis", languages=("en",)))
    best, measured = _best(sides)
    claim = compare("`lingvis` in English is no worse than the best model of English alone", own, best)
    return claim._replace(verdict=_so_far(claim.verdict, measured, len(sides)))


def _best(sides: Sequence[Side]) -> tuple[Side, int]:
    """The side with the highest mean, and how many are measured."""
    best = max(sides, key=lambda side: statistics.mean(side.values or [0.0]))
    return best, sum(side.values is not None for side in sides)


def _each_language(records: Records) -> Claim:
    text = "`lingvis` is better in every language than VSE-infinity of that language"
    own, rival = records.row("lingvis"), records.row(*(f"vse_infinity-{lang}" for lang in LANGUAGES))
    if own is None or rival is None:
        return Claim(text, "", MISSING)
    pairs = {lang: (own.best(lang), rival.best(lang)) for lang in LANGUAGES}
    found = {lang: (left, right) for lang, (left, right) in pairs.items() if left and right}
    verdicts = {decide(left, right) for left, right in found.values()}
    order = (REFUTED, UNDECIDED, CONFIRMED)  # the worst language decides
    ahead = {lang: statistics.mean(left) - statistics.mean(right) for lang, (left, right) in found.items()}
    numbers = ", ".join(f"{lang} {points:+.1f}" for lang, points in ahead.items())
    numbers += f" (seeds: {own.seeds} and {rival.seeds})"
    verdict = next((each for each in order if each in verdicts), MISSING)
    return Claim(text, numbers, _so_far(verdict, len(found), len(LANGUAGES)))


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
    """Whether the first numbers are higher than the second, as far as their seeds can tell."""
    difference = statistics.mean(more) - statistics.mean(less)
    several = min(len(more), len(less)) > 1
    errors = [statistics.variance(each) / len(each) for each in (more, less)] if several else []
    needed = 2 * math.sqrt(sum(errors)) if several else ONE_SEED
    if abs(difference) <= needed:
        return UNDECIDED
    return CONFIRMED if difference > 0 else REFUTED


def _average(records: Records, *names: str, languages: Sequence[str] = TESTED) -> list[float] | None:
    row = records.row(*names)
    return None if row is None else row.average(languages)


def _so_far(verdict: str, measured: int, wanted: int) -> str:
    """A verdict over several rows that are not all there says so, unless one is enough to refute."""
    settled = verdict in (REFUTED, MISSING) or measured == wanted
    return verdict if settled else f"{verdict} so far, {measured} of {wanted} measured"

"""Tables of the study `relevance`."""

from __future__ import annotations

from typing import Any

from studies.tables.markdown import table

LARGEST = 1000


def language_table(record: dict[str, Any]) -> str:
    """Share of words and phrases whose language is detected, per language."""
    words, phrases = record["languages"]["words"], record["languages"]["phrases"]
    methods = list(next(iter(words.values())))
    rows = [
        [
            lang,
            *(_percent(words[lang][method]) for method in methods),
            *(_percent(phrases[lang][m]) for m in methods),
        ]
        for lang in words
    ]
    means = [
        _percent(sum(kind[lang][method] for lang in kind) / len(kind))
        for kind in (words, phrases)
        for method in methods
    ]
    head = [
        "language",
        *(f"words: {method}" for method in methods),
        *(f"phrases: {method}" for method in methods),
    ]
    return table(head, [*rows, ["**mean**", *means]])


def reported_sentences(record: dict[str, Any]) -> str:
    """Share of sentences that are reported as a language that the model lacks, per language."""
    shares = record["languages"]["reported"]
    known = record["languages"]["words"]
    rows = [[lang, "yes" if lang in known else "no", f"{share:.1%}"] for lang, share in shares.items()]
    return table(["language", "of the model", "reported as unknown"], rows, left=2)


def confidence_table(record: dict[str, Any]) -> str:
    """Of queries marked strong or likely, how many have the right picture first; and how many without one are marked."""
    rows = []
    for row in record["confidence"]:
        if row["lang"] != "all" and row["size"] != LARGEST:
            continue
        answerable, first, absent = row["answerable"], row["right_first"], row["absent"]
        undecided = row["undecided"]
        if not sum(answerable.values()):
            continue
        rows.append(
            [
                f"{row['size']:,}",
                row["lang"],
                row["kind"],
                _of(answerable["strong"], sum(answerable.values())),
                _of(first["strong"], answerable["strong"]),
                _of(first["strong"], answerable["strong"] - undecided["strong"]),
                _of(first["likely"], answerable["likely"]),
                _of(first["weak"], answerable["weak"]),
                _of(absent["strong"], sum(absent.values())),
                _of(absent["likely"], sum(absent.values())),
            ]
        )
    head = [
        "pictures",
        "language",
        "queries",
        "marked strong",
        "right first: strong",
        "of the decided",
        "right first: likely",
        "right first: weak",
        "no right picture: strong",
        "no right picture: likely",
    ]
    return table(head, rows, left=3)


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def _of(part: int, whole: int) -> str:
    return f"{part / whole:.0%} of {whole:,}" if whole else "–"

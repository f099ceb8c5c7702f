"""Tables of the dictionaries that translate rare words."""

from __future__ import annotations

from studies.tables.markdown import table
from studies.tables.results.records import Results

MISSING = "Not measured."


def dictionary_rules(results: Results) -> str:
    """How often each rule chooses a word of the English sentence."""
    record = results.find("dictionaries", "coverage")
    if record is None:
        return MISSING
    rows = [
        [
            lang,
            *(
                f"{100 * rule['in_english_sentence'] / rule['words']:.0f} %"
                for rule in each["rules"].values()
            ),
        ]
        for lang, each in record["languages"].items()
        if each["rules"]["first"]["words"]
    ]
    return table(
        ["", "first", "first that occurs in English captions", "most frequent in English captions"], rows
    )


def dictionary_coverage(results: Results) -> str:
    """The share of the words of the training captions that have a translation."""
    record = results.find("dictionaries", "coverage")
    if record is None:
        return MISSING
    rows = [
        [lang, f"{100 * each['different_words']:.0f} %", f"{100 * each['all_words']:.0f} %"]
        for lang, each in record["languages"].items()
    ]
    return table(["", "different words", "all words"], rows)

"""The shipped data of word boundaries are what ICU has."""

from __future__ import annotations

import json

from lingvis.text.segmentation import dictionary, rules
from studies.segmentation.icu_data import IcuData
from studies.segmentation.run import make_dictionary, make_rules


def test_the_shipped_files_can_be_made_again() -> None:
    icu = IcuData()
    assert json.loads(rules.FILE.read_text(encoding="utf-8")) == make_rules(icu)
    assert dictionary.FILE.read_bytes() == make_dictionary(icu)
    fields = [dictionary.line(chr(first)).split("\t") for first in dictionary.stored().firsts]
    assert sum(len(costs) for line in fields for costs in line[2::2]) == 315_964


def test_costs_of_words() -> None:
    costs, longest = dictionary.entries("々")
    assert costs == {"": dictionary.UNKNOWN, "宮": 152, "家": 137} and longest == {"": 1, "宮": 2, "家": 2}
    assert dictionary.entries("あ")[0][""] == 59

"""The shipped data of word boundaries are what ICU has."""

from __future__ import annotations

import gzip
import json

from lingvis.text.segmentation import dictionary, rules
from studies.languages.segmentation import IcuData, make_dictionary, make_rules


def test_the_shipped_files_can_be_made_again() -> None:
    icu = IcuData()
    assert json.loads(rules.FILE.read_text(encoding="utf-8")) == make_rules(icu)
    made = make_dictionary(icu)
    assert gzip.decompress(dictionary.FILE.read_bytes()).decode(dictionary.ENCODING) == made
    assert sum(len(costs) for line in made.split("\n") for costs in line.split("\t")[2::2]) == 315_964


def test_costs_of_words() -> None:
    assert dict(dictionary.entries("々"))[2] == {"宮": 152, "家": 137}
    assert dictionary.entries("々")[0] == (1, {"": dictionary.UNKNOWN})
    assert dict(dictionary.entries("あ"))[1] == {"": 59}

"""The names of the 1,000 ImageNet classes and of general concepts above them, in several languages."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files

__all__ = ["Concept", "read_concepts"]


@dataclass(frozen=True, slots=True)
class Concept:
    """A class of the classifier, or a general concept that covers several.

    id: its WordNet id, such as n01843383. names: by language, the most common name first.
    classes: the numbers of the classifier's outputs that it covers, in ascending order; one for a class.
    """

    id: str
    names: dict[str, list[str]]
    classes: list[int]


def read_concepts() -> list[Concept]:
    """The 1,000 classes in the order of the classifier's outputs, then the general concepts."""
    table = files(__name__).joinpath("imagenet.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in table.splitlines()]
    covered: dict[str, list[int]] = {row["id"]: [] for row in rows}
    for row in rows:
        if row["class"] is not None:
            for concept in (row["id"], *row["general"]):
                covered[concept].append(row["class"])
    return [Concept(row["id"], row["names"], covered[row["id"]]) for row in rows]

"""The table of class names: its order, known facts, and the form of every name."""

from __future__ import annotations

import re

from lingvis.data.class_names import read_concepts

CONCEPTS = read_concepts()
CLASSES, GENERAL = CONCEPTS[:1000], CONCEPTS[1000:]


def covered(name: str) -> list[int]:
    """The classes of the general concept with this first English name."""
    [concept] = [concept for concept in GENERAL if concept.names["en"][0] == name]
    return concept.classes


def test_the_classes_come_first_in_the_order_of_the_outputs() -> None:
    assert [concept.classes for concept in CLASSES] == [[number] for number in range(1000)]
    assert [concept.id for concept in CLASSES] == sorted(concept.id for concept in CLASSES)
    assert (CLASSES[0].id, CLASSES[999].id) == ("n01440764", "n15075141")
    assert len({concept.id for concept in CONCEPTS}) == len(CONCEPTS)


def test_known_classes() -> None:
    names = {number: CLASSES[number].names["en"] for number in (0, 96, 207, 437, 963, 999)}
    assert names == {
        0: ["tench"],
        96: ["toucan"],
        207: ["golden retriever"],
        437: ["lighthouse", "beacon"],
        963: ["pizza"],
        999: ["toilet paper", "toilet tissue"],
    }
    assert CLASSES[134].names["en"][0] == "crane bird" and CLASSES[517].names["en"][0] == "crane"


def test_general_concepts_cover_their_classes() -> None:
    assert covered("dog") == list(range(151, 269))
    assert covered("cat") == [281, 282, 283, 284, 285]
    assert covered("bridge") == [821, 839, 888]
    assert covered("guitar") == [402, 546]
    assert 96 in covered("bird") and 96 in covered("animal") and 96 not in covered("fish")
    assert covered("animal") == list(range(398))
    assert 963 in covered("food") and 958 not in covered("food"), "hay is no food in a caption"


def test_every_general_concept_is_useful() -> None:
    assert 150 <= len(GENERAL) <= 250
    for concept in GENERAL:
        assert len(concept.classes) >= 2, concept
        assert concept.classes == sorted(set(concept.classes)), concept


def test_names_are_plain_words() -> None:
    for concept in CONCEPTS:
        assert concept.names["en"], concept
        for names in concept.names.values():
            assert 1 <= len(names) <= 3, concept
            assert len(set(names)) == len(names), concept
            for name in names:
                assert name == " ".join(name.split()), concept
                assert not re.search(r"[()\[\]_,;|/\d]", name), concept

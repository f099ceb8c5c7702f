"""The table of class names: its order, known facts, and the form of every name."""

from __future__ import annotations

import json
import re
from pathlib import Path

from lingvis.data.class_names import read_concepts

ROOT = Path(__file__).parents[2]
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


def test_all_concepts_are_named_in_seven_languages() -> None:
    for concept in CONCEPTS:
        assert list(concept.names)[:7] == ["en", "de", "fr", "cs", "pt", "zh", "ar"], concept
    assert CLASSES[96].names["de"] == ["Tukan"] and CLASSES[437].names["fr"] == ["phare"]
    assert CLASSES[963].names["zh"] == ["比萨饼", "披萨"] and CLASSES[497].names["cs"] == ["kostel"]
    [dog] = [concept for concept in GENERAL if concept.names["en"] == ["dog"]]
    assert dog.names["ar"] == ["كلب"] and dog.names["ug"] == ["ئىت"] and dog.names["bo"] == ["ཁྱི"]


SCRIPTS = {"zh": r"[一-鿿]", "ar": r"[ء-ي]", "ug": r"[ء-ي]", "bo": r"[ཀ-ྼ]", "mn": r"[ᠠ-ᡂ]"}


def test_names_are_in_the_script_of_their_language() -> None:
    for concept in CONCEPTS:
        for language, names in concept.names.items():
            script = SCRIPTS.get(language, r"[A-Za-z]")
            assert all(re.search(script, name) for name in names), concept
        assert not re.search(r"[ً-ْ]", " ".join(concept.names["ar"])), f"vowel marks: {concept}"


def test_the_docs_show_the_recorded_agreement() -> None:
    record = json.loads((ROOT / "results" / "class-names" / "agreement.json").read_text(encoding="utf-8"))
    page = (ROOT / "docs" / "reference" / "formats.md").read_text(encoding="utf-8")
    assert record["general_concepts"] == len(GENERAL)
    for language, counts in record["languages"].items():
        for kind, concepts in (("classes", CLASSES), ("general", GENERAL)):
            if "named" in counts[kind]:
                assert counts[kind]["named"] == sum(language in concept.names for concept in concepts)
            else:
                row = next(line for line in page.splitlines() if line.startswith(f"| {language} | "))
                assert f"| {counts[kind]['agree']} of {counts[kind]['found']} |" in row


def test_names_are_plain_words() -> None:
    for concept in CONCEPTS:
        assert concept.names["en"], concept
        for names in concept.names.values():
            assert 1 <= len(names) <= 3, concept
            assert len(set(names)) == len(names), concept
            for name in names:
                assert name == " ".join(name.split()), concept
                assert not re.search(r"[()\[\]_,;|/\d]", name), concept

"""Sentences put together word by word from a dictionary, for pictures without one in the language."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from lingvis.data.dataset import Dataset, write_rows
from lingvis.embedder import Embedder
from lingvis.jobs.add_language import add_language
from lingvis.new_language.glosses import with_glosses
from lingvis.new_language.lexicon import Lexicon, find_lexicon
from lingvis.new_language.material import Part

from .conftest import COLOURS, THINGS, make_dataset


def part() -> Part:
    """Three pictures, the first described in German, too."""
    return Part(
        images=["a", "b", "c"],
        known=[
            [("en", "a red dog"), ("fr", "un chien rouge")],
            [("en", "a red cat by the house")],
            [("fr", "un arbre")],
        ],
        texts=["ein roter hund"],
        groups=[0],
    )


@pytest.mark.parametrize("turned", [False, True])
def test_a_dictionary_may_have_either_direction(tmp_path: Path, turned: bool) -> None:
    file = tmp_path / "words.txt"
    pairs = [("hund", "dog"), ("katze", "cat"), ("roter", "red"), ("roter", "ruddy"), ("tür", "front door")]
    lines = [f"{two}\t{one}" if turned else f"{one}\t{two}" for one, two in pairs]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = find_lexicon(part(), "de", "en", file)
    assert dict(found.given) == {"hund": ("dog",), "katze": ("cat",), "roter": ("red", "ruddy")}
    assert found.counts == Counter({"ein": 1, "roter": 1, "hund": 1})


def test_sentences_come_before_the_dictionary() -> None:
    lexicon = Lexicon(
        induced={"hunde": ("dog",), "hund": ("dog",), "rot": ("red",)},
        given={"köter": ("dog",), "katze": ("cat",), "kater": ("cat",), "rot": ("ruddy",)},
        counts=Counter({"hund": 3, "hunde": 1, "köter": 9, "kater": 1}),
    )
    assert lexicon.spoken() == {"dog": "hund", "red": "rot", "cat": "kater", "ruddy": "rot"}
    assert lexicon.translations["rot"] == ("red",) and lexicon.translations["köter"] == ("dog",)


def test_a_picture_without_a_sentence_gets_one_word_by_word(spelled_run: Path) -> None:
    embedder = Embedder.load(spelled_run, device="cpu")
    spoken = {"rot": ("red",), "katze": ("cat",), "haus": ("house",), "baum": ("tree",)}
    lexicon = Lexicon(induced={}, given=spoken, counts=Counter())
    found = with_glosses(part(), embedder, lexicon, "en", seed=0)
    assert found.texts == [
        "ein roter hund",
        "rot katze haus",
    ]  # no English of c; "a", "by" and "the" are not known
    assert found.groups == [0, 1]
    too_few = Lexicon(induced={}, given={"rot": ("red",), "katze": ("cat",)}, counts=Counter())
    assert with_glosses(part(), embedder, too_few, "en", seed=0).texts == ["ein roter hund"]


def test_a_word_like_a_known_one_gets_its_translation(
    spelled_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = Embedder.load(spelled_run, device="cpu")
    plural = Part(images=["a"], known=[[("en", "red houses houses")]], texts=[], groups=[])
    lexicon = Lexicon(induced={}, given={"haus": ("house",), "rot": ("red",)}, counts=Counter())
    known = Part(images=["a", "b"], known=[*plural.known, [("en", "red house house")]], texts=[], groups=[])
    monkeypatch.setattr(
        "lingvis.new_language.glosses.LIKE", 0.3
    )  # the model is small, and three words are few
    found = with_glosses(known, embedder, lexicon, "en", seed=0)
    assert sorted(found.texts) == ["rot haus haus", "rot haus haus"]
    monkeypatch.setattr("lingvis.new_language.glosses.LIKE", 1.1)
    assert with_glosses(known, embedder, lexicon, "en", seed=0).texts == ["rot haus haus"]


def test_glosses_teach_words_that_no_sentence_has(spelled_run: Path, tmp_path: Path) -> None:
    data, file = make_dataset(tmp_path / "data"), tmp_path / "el-en.txt"
    file.write_text("".join(f"{each[2]}\t{each[0]}\n" for each in (*COLOURS, *THINGS)), encoding="utf-8")
    rows = [
        row
        if row.split == "val" or not row.image.startswith(("red", "green", "blue"))
        else row.model_copy(update={"captions": {"en": row.captions["en"]}})
        for row in Dataset.open(data).rows
    ]
    write_rows(data / "captions.jsonl", rows)
    found = {
        route: add_language(
            spelled_run, "el", data, tmp_path / route, route=route, dictionary=file, device="cpu"
        )
        for route in ("both", "glossed")
    }
    assert found["glossed"]["route"] == "glossed" and found["glossed"]["sentences"] == 24
    assert found["glossed"]["after"] > found["both"]["after"] + 10

"""Glosses: sentences translated word by word, for pictures without a sentence in the language."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from lingvis.data.dataset import Dataset, write_rows
from lingvis.errors import UserError
from lingvis.model.embedder import Embedder
from lingvis.new_language.gather import gather
from lingvis.new_language.language_data import SentenceGroups
from lingvis.new_language.lexical.glosses import with_glosses
from lingvis.new_language.lexical.lexicon import BilingualLexicon, find_lexicon, turned
from lingvis.new_language.run import add_language
from lingvis.new_language.try_routes import RouteOutcome

from .conftest import COLOURS, THINGS, make_dataset, make_pairs


def part() -> SentenceGroups:
    """Three pictures, the first described in German, too."""
    return SentenceGroups(
        images=["a", "b", "c"],
        known=[
            [("en", "a red dog"), ("fr", "un chien rouge")],
            [("en", "a red cat by the house")],
            [("fr", "un arbre")],
        ],
        texts=["ein roter hund"],
        groups=[0],
    )


def lexicon_of(words: dict[str, tuple[str, ...]]) -> BilingualLexicon:
    """A dictionary, and no sentences to learn words from."""
    return BilingualLexicon(induced={}, dictionary=words, reverse=turned(words), counts=Counter())


@pytest.mark.parametrize("reverse", [False, True])
def test_a_dictionary_may_have_either_direction(reverse: bool) -> None:
    words = {"hund": ("dog",), "katze": ("cat",), "roter": ("red", "ruddy"), "tür": ("front door",)}
    found = find_lexicon(part(), "de", "en", turned(words) if reverse else words)
    assert dict(found.dictionary) == {"hund": ("dog",), "katze": ("cat",), "roter": ("red", "ruddy")}
    assert found.counts == Counter({"ein": 1, "roter": 1, "hund": 1})


def test_of_translations_that_no_sentence_uses_the_first_is_taken() -> None:
    words = {"cur": ("köter",), "dog": ("hund", "köter"), "red": ("roter",)}
    assert find_lexicon(part(), "de", "en", words).into_new_language() == {
        "cur": "köter",
        "dog": "hund",
        "red": "roter",
    }
    none_used = find_lexicon(part(), "de", "en", {"cur": ("töle",), "pooch": ("wauwau", "töle"), **words})
    assert none_used.into_new_language()["pooch"] == "wauwau"


def test_sentences_come_before_the_dictionary() -> None:
    words = {"köter": ("dog",), "katze": ("cat",), "kater": ("cat",), "rot": ("ruddy",)}
    lexicon = BilingualLexicon(
        induced={"hunde": ("dog",), "hund": ("dog",), "rot": ("red",)},
        dictionary=words,
        reverse=turned(words),
        counts=Counter({"hund": 3, "hunde": 1, "köter": 9, "kater": 1}),
    )
    assert lexicon.into_new_language() == {"dog": "hund", "red": "rot", "cat": "kater", "ruddy": "rot"}
    assert lexicon.translations["rot"] == ("red",) and lexicon.translations["köter"] == ("dog",)


def test_a_picture_without_a_sentence_gets_one_word_by_word(spelled_run: Path) -> None:
    embedder = Embedder.load(spelled_run, device="cpu")
    lexicon = lexicon_of({"rot": ("red",), "katze": ("cat",), "haus": ("house",), "baum": ("tree",)})
    found = with_glosses(part(), embedder, lexicon, "en", seed=0)
    assert found.texts == [
        "ein roter hund",
        "rot katze haus",
    ]  # no English of c; "a", "by" and "the" are not known
    assert found.groups == [0, 1]
    too_few = lexicon_of({"rot": ("red",), "katze": ("cat",)})
    assert with_glosses(part(), embedder, too_few, "en", seed=0).texts == ["ein roter hund"]


def test_a_word_like_a_known_one_gets_its_translation(
    spelled_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = Embedder.load(spelled_run, device="cpu")
    plural = SentenceGroups(images=["a"], known=[[("en", "red houses houses")]], texts=[], groups=[])
    lexicon = lexicon_of({"haus": ("house",), "rot": ("red",)})
    known = SentenceGroups(
        images=["a", "b"], known=[*plural.known, [("en", "red house house")]], texts=[], groups=[]
    )
    monkeypatch.setattr(
        "lingvis.new_language.lexical.glosses.LIKE", 0.3
    )  # the model is small, and three words are few
    found = with_glosses(known, embedder, lexicon, "en", seed=0)
    assert sorted(found.texts) == ["rot haus haus", "rot haus haus"]
    monkeypatch.setattr("lingvis.new_language.lexical.glosses.LIKE", 1.1)
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
    assert found["glossed"].route == "glossed" and found["glossed"].sentences == 24
    assert found["glossed"].after > found["both"].after


def test_similar_words_are_not_used_with_a_model_that_does_not_spell(word_run: Path) -> None:
    embedder = Embedder.load(word_run, device="cpu")
    rare = SentenceGroups(images=["a"], known=[[("en", "red zebras zebra red red")]], texts=[], groups=[])
    found = with_glosses(rare, embedder, lexicon_of({"rot": ("red",), "zebra": ("zebra",)}), "en", seed=0)
    assert found.texts == [
        "rot zebra rot rot"
    ]  # "zebras" is as unknown as "zebra", and no more like it than any word


def test_pictures_that_are_chosen_by_get_no_gloss(tmp_path: Path) -> None:
    data = make_dataset(tmp_path / "data", lambda lang, split: lang == "en" or split == "train")
    material = gather(Dataset.open(data), "el", ["en"])
    assert material.by == "picture folds" and not material.choose.texts
    for fold in material.folds:
        held_out = [fold.learn.images.index(image) for image in fold.choose.images]
        assert held_out and not any(fold.learn.known[group] for group in held_out)
        assert fold.undescribed == 0 and not set(fold.learn.texts) & set(fold.choose.texts)


def test_pictures_without_any_caption_in_the_language(spelled_run: Path, tmp_path: Path) -> None:
    data = make_dataset(tmp_path / "data", lambda lang, split: lang == "en")
    (make_pairs(tmp_path / "pairs") / "text-only.jsonl").rename(data / "text-only.jsonl")
    result = add_language(spelled_run, "el", data, tmp_path / "out", device="cpu")
    found = {outcome.route: outcome for outcome in result.routes}
    assert found["both"].reason and found["glossed"].score > 0
    assert result.measured_on == "pair folds" and result.pictures_same


def test_where_no_word_can_be_said_there_is_no_route(spelled_run: Path, tmp_path: Path) -> None:
    data = make_dataset(tmp_path / "data")
    rows = [
        row
        if row.split == "val" or row.image.startswith(("grey", "pink", "brown", "blue"))
        else row.model_copy(update={"captions": {"en": ("whatever it may be",)}})
        for row in Dataset.open(data).rows
    ]
    write_rows(data / "captions.jsonl", rows)
    result = add_language(spelled_run, "el", data, tmp_path / "out", device="cpu")
    found = {outcome.route: outcome for outcome in result.routes}
    assert found["glossed"] == RouteOutcome("glossed", reason="no sentence can be translated word by word")


def test_a_missing_dictionary_is_reported_at_once(
    spelled_run: Path, dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "lingvis.new_language.try_routes.teach", lambda *args, **kwargs: pytest.fail("trained")
    )
    with pytest.raises(UserError, match=r"none\.txt"):
        add_language(
            spelled_run, "el", dataset, tmp_path / "out", dictionary=tmp_path / "none.txt", device="cpu"
        )

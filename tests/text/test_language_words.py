from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from lingvis.errors import UserError
from lingvis.recipes.options import part_problems
from lingvis.text.tokenizers.base import END, START, TOKENIZERS, UNKNOWN
from lingvis.text.tokenizers.language_words import LanguageWordTokenizer

TEXTS = ["b a bus", "der Bus", "a bus b a", "der Hund der Hund der Pudel die Töle", "cat a dog"]
LANGS = ["en", "de", "en", "de", "en"]


def fitted(**options: Any) -> LanguageWordTokenizer:
    tokenizer = LanguageWordTokenizer(**{"min_count": 1, **options})
    tokenizer.fit(TEXTS, LANGS)
    return tokenizer


def ids(tokenizer: LanguageWordTokenizer, text: str, lang: str) -> list[int]:
    found = [int(each) for each in tokenizer([text], [lang])[0]]
    assert (found[0], found[-1]) == (START, END)
    return found[1:-1]


def test_every_language_has_a_block_by_frequency() -> None:
    tokenizer = fitted()
    vocabulary = tokenizer.vocabulary
    assert vocabulary.languages == ("en", "de")
    assert vocabulary.blocks == ((5, 10), (10, 16))
    assert vocabulary.size == 16
    english, german = ("a", "b", "bus", "cat", "dog"), ("der", "hund", "bus", "die", "pudel", "töle")
    assert vocabulary.own_words == english + german
    assert ids(tokenizer, "bus a b", "en") == [7, 5, 6]
    assert ids(tokenizer, "BUS hund", "de") == [12, 11]


def test_unknown_words_are_left_out_where_none_was_seen_in_training() -> None:
    tokenizer = fitted()
    assert ids(tokenizer, "zebra bus a zoo", "en") == [7, 5]
    assert ids(tokenizer, "BUS a hund", "de") == [12, 11]  # "a" is an English word
    assert ids(tokenizer, "zebra zoo", "en") == [UNKNOWN, UNKNOWN]
    assert ids(tokenizer, "...", "en") == []
    assert ids(fitted(min_count=2), "zebra bus a zoo", "en") == [UNKNOWN, 7, 5, UNKNOWN]


def test_words_under_the_threshold_are_unknown() -> None:
    tokenizer = fitted(min_count=2)
    assert tokenizer.vocabulary.own_words == ("a", "b", "bus", "der", "hund")
    assert ids(tokenizer, "der bus", "de") == [8, UNKNOWN]


def test_a_language_without_words_is_named() -> None:
    with pytest.raises(UserError, match=r"4 times in the captions in en; lower text\.tokenizer\.min_count"):
        LanguageWordTokenizer(min_count=4).fit(["der der der der", "a"], ["de", "en"])
    with pytest.raises(UserError, match="0 training captions"):
        LanguageWordTokenizer(min_count=1).fit([], [])


def test_a_language_that_was_not_learnt_is_refused() -> None:
    with pytest.raises(UserError, match=r"sentence in fr, but this model has words for de, en"):
        fitted()(["a", "un bus"], ["en", "fr"])


@pytest.fixture
def dictionaries(tmp_path: Path) -> Path:
    folder = tmp_path / "dictionaries"
    folder.mkdir()
    (folder / "de-en.txt").write_text(
        "hund cat\npudel poodle\npudel dog\ntöle mongrel\nkatze cat\ndie a\nder b\n", encoding="utf-8"
    )
    return folder


def test_rare_words_become_english_ones(dictionaries: Path, tmp_path: Path) -> None:
    tokenizer = fitted(rare_below=2, dictionaries=str(dictionaries))
    vocabulary = tokenizer.vocabulary
    assert vocabulary.lender == 0
    # English keeps its rare words, German its frequent ones; Töle's translation is not in the captions.
    assert vocabulary.own_words == ("a", "b", "bus", "cat", "dog", "der", "hund")
    assert ids(tokenizer, "der hund die pudel töle", "de") == [10, 11, 5, 9, UNKNOWN]
    # Bus has no entry, and a word that is spelled alike is no translation; Katze was not in the captions.
    assert ids(tokenizer, "bus katze", "de") == [UNKNOWN, UNKNOWN]
    tokenizer.save(tmp_path)
    shutil.rmtree(dictionaries)
    again = LanguageWordTokenizer(min_count=1, rare_below=2, dictionaries=str(dictionaries))
    again.load(tmp_path)
    assert again.vocabulary == vocabulary
    assert ids(again, "der hund die pudel töle", "de") == [10, 11, 5, 9, UNKNOWN]


def test_a_language_may_live_on_borrowed_words(dictionaries: Path) -> None:
    tokenizer = fitted(rare_below=5, dictionaries=str(dictionaries))
    assert tokenizer.vocabulary.blocks == ((5, 10), (10, 10))
    assert ids(tokenizer, "hund pudel", "de") == [8, 9]


def test_mapping_needs_dictionaries_and_english(dictionaries: Path) -> None:
    for options in ({"rare_below": 3}, {"dictionaries": "somewhere"}):
        with pytest.raises(UserError, match="set both to map rare words to English, or neither"):
            fitted(**options)
    tokenizer = LanguageWordTokenizer(min_count=1, rare_below=3, dictionaries=str(dictionaries))
    with pytest.raises(UserError, match=r"captions are in de, fr; add en"):
        tokenizer.fit(["der", "un"], ["de", "fr"])


def test_a_saved_vocabulary_is_the_same(tmp_path: Path) -> None:
    tokenizer = fitted(min_count=2)
    tokenizer.save(tmp_path)
    again = LanguageWordTokenizer(min_count=2)
    again.load(tmp_path)
    assert again.vocabulary == tokenizer.vocabulary
    assert ids(again, "b der", "en") == [6, UNKNOWN]


@pytest.mark.parametrize(
    ("stored", "problem"),
    [
        ({"languages": {"en": {"words": ["a", "a"], "borrowed": {}}}}, "words of en must be distinct"),
        ({"languages": {"de": {"words": ["a"], "borrowed": {"b": "c"}}}}, "borrows words that en does not"),
        ({"languages": {"en": {"words": ["a", 3], "borrowed": {}}}}, "valid string"),
        ({"languages": {"en": {"words": ["a"]}}}, "borrowed"),
        ({"languages": {}, "words": ["a"]}, "Extra inputs"),
        ([], "object"),
    ],
)
def test_a_damaged_vocabulary_is_refused(tmp_path: Path, stored: object, problem: str) -> None:
    (tmp_path / LanguageWordTokenizer.FILE).write_text(json.dumps(stored), encoding="utf-8")
    with pytest.raises(ValueError, match=problem):
        LanguageWordTokenizer(min_count=1).load(tmp_path)


def test_recipe_options_have_bounds() -> None:
    def problems(**options: object) -> list[str]:
        values = {"text": {"tokenizer": {"name": "language_words", **options}}}
        return part_problems("text.tokenizer", values, TOKENIZERS)

    assert problems(min_count=1) == []
    assert "rare_below" in problems(min_count=1, rare_below=-1)[0]
    assert "min_count" in problems(min_count=0)[0]

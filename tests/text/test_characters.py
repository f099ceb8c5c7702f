from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from lingvis.errors import UserError
from lingvis.text import segment
from lingvis.text.tokenizers.base import END, MASK, PAD, SPECIAL_TOKENS, START, UNKNOWN, Vocabulary
from lingvis.text.tokenizers.characters import Alphabet, CharacterTokenizer, WordIds

CAPTIONS = [
    ("en", "A black dog and a child's toy"),
    ("de", "Ein Mädchen klettert über die Straße"),
    ("cs", "Černý a flekatý pes bojují"),
    ("uk", "Дівчинка забирається в будинок"),
    ("zh", "两只狗在路上打架。"),
    ("ja", "犬がボールで遊ぶ。"),
    ("ko", "개가 공을 쫓는다"),
    ("ar", "كلب أسود"),
    ("ug", "ئۇزۇن كۆڭلەك كىيگەن كىچىك قىز"),
    ("bo", "སྨད་གཡོགས་གྱོན་པའི་བུ་མོ།"),
    ("mn", "ᠬᠣᠶᠠᠷ ᠨᠣᠬᠠᠢ ᠵᠠᠮ ᠳᠡᠭᠡᠷ᠎ᠡ"),
]
LANGS = [lang for lang, _ in CAPTIONS]
TEXTS = [text for _, text in CAPTIONS]


def fitted(**options: int) -> CharacterTokenizer:
    tokenizer = CharacterTokenizer(**options)
    tokenizer.fit(TEXTS, LANGS)
    return tokenizer


def spell_slowly(word: str, alphabet: list[str], length: int) -> list[int]:
    letters = [alphabet.index(char) + 5 if char in alphabet else UNKNOWN for char in word][:length]
    return letters + [0] * (length - len(letters))


@pytest.mark.parametrize("lang", LANGS)
def test_every_script_is_spelled_letter_by_letter(lang: str) -> None:
    tokenizer = fitted(word_length=6)
    ids = tokenizer([dict(CAPTIONS)[lang]], [lang])[0]
    words = segment.words(dict(CAPTIONS)[lang], lang)
    assert len(words) > 1
    expected = [spell_slowly(word, tokenizer.alphabet.characters, 6) for word in words]
    spelled = tokenizer.spelling(ids).tolist()
    assert spelled[1:-1] == expected
    assert UNKNOWN not in {letter for row in spelled for letter in row}


def test_special_tokens_are_spelled_by_the_letter_of_their_own_number() -> None:
    tokenizer = fitted(word_length=3)
    ids = np.array([PAD, UNKNOWN, START, END, MASK])
    assert tokenizer.spelling(ids).tolist() == [[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0], [4, 0, 0]]
    assert tokenizer(["..."], ["en"])[0].tolist() == [START, END]
    assert tokenizer.spelling(np.empty(0, np.int64)).shape == (0, 3)


def test_a_word_that_looks_like_a_special_token_is_a_word() -> None:
    ids = WordIds()
    assert ids.number(["<pad>", "<mask>", "<pad>"]) == [5, 6, 5]


def test_unknown_letters_are_left_out_where_none_was_seen_in_training() -> None:
    tokenizer = CharacterTokenizer(word_length=3)
    tokenizer.fit(["aab ab c"], ["en"])
    ids = tokenizer(["xaxbxcx", "xyz", "abxc"], ["en"] * 3)
    letters = [tokenizer.spelling(each[1:-1]).tolist() for each in ids]
    # Left out before the word is cut to its length; a word of unknown letters alone keeps them.
    assert letters == [[[5, 6, 7]], [[UNKNOWN] * 3], [[5, 6, 7]]]


def test_letters_are_ordered_by_frequency_and_rare_ones_are_unknown() -> None:
    tokenizer = CharacterTokenizer(word_length=4, min_count=2)
    tokenizer.fit(["ab Ab ab", "ccccd 狗", "bc d"], ["en", "zh", "en"])
    # c: 4 + 1, b: 3 + 1, a: 3; d once, since another one lies behind the end of a word; the dog once
    assert tokenizer.alphabet.characters == ["c", "b", "a"]
    assert tokenizer.vocabulary == Vocabulary(
        0, PAD, MASK, (0, 1, 2, 3, 4), letters=8, word_length=4, marks=8
    )
    ids = tokenizer(["ab狗d"], ["en"])[0]
    letters = [letter for row in tokenizer.spelling(ids[1:-1]) for letter in row if letter]
    assert letters == [7, 6, UNKNOWN, UNKNOWN]


def test_no_letters_are_refused() -> None:
    with pytest.raises(UserError, match=r"lower text\.tokenizer\.min_count"):
        CharacterTokenizer(min_count=9).fit(["ab", "."], ["en", "en"])


def test_words_keep_their_ids_and_rare_ones_theirs_for_a_call() -> None:
    tokenizer = fitted(word_length=4)
    tokenizer._ids = WordIds(lasting=2)
    first = tokenizer(["dog toy cat dog cat"], ["en"])[0].tolist()
    assert first == [START, 5, 6, 7, 5, 7, END]
    second = tokenizer(["cart toy", "dog cart door"], ["en", "en"])
    assert [row.tolist() for row in second] == [[START, 7, 6, END], [START, 5, 7, 8, END]]
    alphabet = tokenizer.alphabet.characters
    expected = [spell_slowly(word, alphabet, 4) for word in ("dog", "toy", "cart", "door")]
    assert tokenizer.spelling(np.array([5, 6, 7, 8])).tolist() == expected
    tokenizer(["dog"], ["en"])
    assert len(tokenizer._ids._words) == len(tokenizer._ids._ids) + len(SPECIAL_TOKENS) == 7


def test_only_the_characters_are_saved(tmp_path: Path) -> None:
    tokenizer = fitted()
    ids = tokenizer(TEXTS, LANGS)[3]
    tokenizer.save(tmp_path)
    assert list(tmp_path.iterdir()) == [tmp_path / "characters.json"]
    again = CharacterTokenizer()
    again.load(tmp_path)
    assert again.vocabulary == tokenizer.vocabulary
    fresh = again([TEXTS[3]], [LANGS[3]])[0]
    assert again.spelling(fresh).tolist() == tokenizer.spelling(ids).tolist()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ('{"characters": ["a", "bc"]}', "one character"),
        ('{"characters": ["a", 5]}', "one character"),
        ('{"characters": "abc"}', "must be a list"),
        ('{"characters": ["a", "b", "a"]}', "distinct"),
        ('{"words": []}', "characters"),
        ('{"characters": ["a"', "delimiter"),
    ],
)
def test_damaged_files_are_refused(tmp_path: Path, content: str, problem: str) -> None:
    (tmp_path / "characters.json").write_text(content, encoding="utf-8")
    with pytest.raises((ValueError, KeyError), match=problem):
        CharacterTokenizer().load(tmp_path)


def test_characters_beyond_the_first_plane_and_lone_surrogates_are_one_letter() -> None:
    alphabet = Alphabet(["𠮷", "a", "\U0010ffff"])
    spelled = alphabet.spell(["a𠮷", "\ud800\U0010ffff", "", "\U0010fffe"], 3)
    assert spelled.tolist() == [[6, 5, 0], [UNKNOWN, 7, 0], [0, 0, 0], [UNKNOWN, 0, 0]]


def test_saved_characters_are_readable(tmp_path: Path) -> None:
    tokenizer = fitted()
    tokenizer.save(tmp_path)
    text = (tmp_path / "characters.json").read_text(encoding="utf-8")
    assert "狗" in text
    assert json.loads(text)["characters"][0] == tokenizer.alphabet.characters[0]

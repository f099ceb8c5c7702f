"""Batches of a bank against naive loops: padding, the languages of the rows, the spelling of the words."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np
import pytest
import torch

from lingvis.text import bank as bank_module
from lingvis.text.bank import TokenBank
from lingvis.text.tokenizers.base import END, PAD, START, Tokenizer
from lingvis.text.tokenizers.characters import CharacterTokenizer
from lingvis.text.tokenizers.language_words import LanguageWordTokenizer
from lingvis.text.tokenizers.words import WordTokenizer

TEXTS = ["a", "a b a", "", "ein b", "b b", "ein Hund", "un chien", "a dog"]
LANGS = ["en", "en", "en", "de", "en", "de", "fr", "en"]


def bank_of(tokenizer: Tokenizer, languages: Sequence[str], texts: Sequence[str] = TEXTS) -> TokenBank:
    tokenizer.fit(TEXTS, LANGS)
    return TokenBank(
        tokenizer=tokenizer,
        texts=texts,
        langs=LANGS[: len(texts)],
        languages=languages,
        device=torch.device("cpu"),
    )


def test_bank_pads_like_a_naive_loop() -> None:
    tokenizer = WordTokenizer(min_count=1)
    bank = bank_of(tokenizer, ["en", "de", "fr"])
    assert len(bank) == len(TEXTS)
    rows = np.array([4, 1, 2])
    batch = bank.batch(rows)
    for position, row in enumerate(rows):
        ids = tokenizer([TEXTS[row]], ["en"])[0].tolist()
        assert batch.ids[position].tolist() == ids + [PAD] * (5 - len(ids))
        assert batch.mask[position].tolist() == [True] * len(ids) + [False] * (5 - len(ids))
    assert batch.words is None
    assert len(bank.words(rows)) == 0
    wider = bank.gather(torch.from_numpy(rows), 8, runs=((0, 3),), words=torch.empty(0, dtype=torch.int64))
    assert wider.ids.shape == (3, 8)
    assert torch.equal(wider.ids[:, :5], batch.ids)
    assert not wider.mask[:, 5:].any()


@pytest.mark.parametrize(
    "rows", [[0, 1, 3, 5, 6], [3, 0, 5, 1], [6], [7, 4, 2], [5, 6, 3], list(range(8))], ids=str
)
def test_runs_are_the_languages_of_the_rows_on_end(rows: list[int]) -> None:
    languages = ["fr", "en", "de"]
    bank = bank_of(WordTokenizer(min_count=1), languages)
    numbers = [languages.index(LANGS[row]) for row in rows]
    expected = tuple((number, len(list(found))) for number, found in groupby(numbers))
    assert bank.runs(np.array(rows)) == expected
    assert bank.batch(np.array(rows)).runs == expected
    assert bank.langs.tolist() == [languages.index(lang) for lang in LANGS]


def test_the_vocabularys_order_of_languages_wins_and_unknown_ones_come_behind() -> None:
    tokenizer = LanguageWordTokenizer(min_count=1)
    bank = bank_of(tokenizer, ["fr", "de", "en"])
    assert tokenizer.vocabulary.languages == ("en", "de", "fr")
    assert bank.langs.tolist() == [("en", "de", "fr").index(lang) for lang in LANGS]
    shared = bank_of(WordTokenizer(min_count=1), ["de", "en"])
    assert shared.langs.tolist() == [{"de": 0, "en": 1, "fr": 2}[lang] for lang in LANGS]


@pytest.mark.parametrize("multiple", [1, 4, 64])
@pytest.mark.parametrize("rows", [[1], [0, 3, 5], [2], list(range(8))], ids=str)
def test_words_are_spelled_once_each_and_filled_up(rows: list[int], multiple: int) -> None:
    tokenizer = CharacterTokenizer(word_length=3)
    bank = bank_of(tokenizer, ["en", "de", "fr"])
    numbers = bank.words(np.array(rows), multiple=multiple)
    assert len(numbers) % multiple == 0
    batch = bank.gather(
        torch.from_numpy(np.array(rows)),
        bank.rows.longest(np.array(rows)),
        runs=bank.runs(np.array(rows)),
        words=torch.from_numpy(numbers),
    )
    assert batch.words is not None
    ids = batch.words.ids.tolist()
    seen = {int(token) for row in batch.ids.tolist() for token in row} | set(tokenizer.vocabulary.special)
    distinct = sorted(seen)
    assert ids[: len(distinct)] == distinct
    assert ids[len(distinct) :] == [distinct[-1]] * (len(ids) - len(distinct))
    assert len(ids) - len(distinct) < multiple
    letters = tokenizer.alphabet
    for token, spelling in zip(ids, batch.words.letters.tolist(), strict=True):
        if token in tokenizer.vocabulary.special:
            assert spelling == [token, 0, 0]
        else:
            (word,) = tokenizer._ids.words(np.array([token]))
            expected = [letters.characters.index(c) + 5 for c in word[:3]]
            assert spelling == expected + [0] * (3 - len(expected))


def test_a_batch_of_spelled_words_can_be_read_back() -> None:
    """Places of ids among the words of the batch lead to their letters: what composing parts rely on."""
    tokenizer = CharacterTokenizer(word_length=4)
    bank = bank_of(tokenizer, ["en", "de", "fr"])
    batch = bank.batch(np.array([5, 7]))
    assert batch.words is not None
    letters = batch.words.letters[torch.searchsorted(batch.words.ids, batch.ids)]
    characters = tokenizer.alphabet.characters
    spelled = [
        ["".join(characters[letter - 5] for letter in token if letter >= 5) for token in row]
        for row in letters.tolist()
    ]
    assert spelled == [["", "ein", "hund", ""], ["", "a", "dog", ""]]
    assert batch.ids[:, 0].tolist() == [START, START]
    assert batch.ids[:, -1].tolist() == [END, END]


def test_stages_bound_the_lengths_of_a_large_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bank_module, "STAGE_ENDS", (3, 5))
    texts = [" ".join("a" * length) for length in [1] * 20 + [2] * 7 + [3] * 4 + [9]]
    tokenizer = WordTokenizer(min_count=1)
    tokenizer.fit(texts, ["en"] * 32)
    bank = TokenBank(
        tokenizer=tokenizer, texts=texts, langs=["en"] * 32, languages=["en"], device=torch.device("cpu")
    )
    rows = np.random.default_rng(0).permutation(32)
    assert bank.stages(rows, 12) == ()  # a small batch
    monkeypatch.setattr(bank_module, "LARGE", 16)
    # With the tokens at both ends 12 sentences are longer than 3, and one is longer than 5; up to a multiple of 4.
    assert bank.stages(rows, 12) == ((3, 32), (5, 12), (12, 4))
    assert bank.stages(rows[bank.rows.lengths[rows] <= 5], 5) == ((3, 31), (5, 12))
    assert bank.stages(np.flatnonzero(bank.rows.lengths == 3), 4) == ((3, 20), (4, 1))

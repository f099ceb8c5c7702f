from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from lingvis.errors import UserError
from lingvis.text.augment import ChangeWords
from lingvis.text.bank import TokenBank
from lingvis.text.segment import words
from lingvis.text.tokenizers.base import END, MASK, PAD, START, UNKNOWN
from lingvis.text.tokenizers.characters import CharacterTokenizer
from lingvis.text.tokenizers.words import WordTokenizer
from lingvis.text.words.embedding import WordEmbedding
from lingvis.text.words.pretrained import PretrainedEmbedding
from lingvis.types import TextBatch


@pytest.mark.parametrize(
    ("lang", "text", "expected"),
    [
        ("en", "A man's red-hat isn't 3.5 m.", ["a", "man's", "red", "hat", "isn't", "3.5", "m"]),
        ("de", "Ein Mädchen, klettert!", ["ein", "mädchen", "klettert"]),
        ("zh", "两只狗在路上打架。", ["两", "只", "狗", "在", "路上", "打架"]),
        ("ja", "犬がボールで遊ぶ。", ["犬", "が", "ボール", "で", "遊ぶ"]),
        ("ar", "كلب أسود،", ["كلب", "أسود"]),
        ("bo", "བུ་མོ།", ["བུ", "མོ"]),
        ("mn", "ᠬᠣᠶᠠᠷ ᠨᠣᠬᠠᠢ ᠃", ["ᠬᠣᠶᠠᠷ", "ᠨᠣᠬᠠᠢ"]),
        ("en", "ＦＵＬＬ ｗｉｄｔｈ", ["full", "width"]),
        ("en", " ... ", []),
    ],
)
def test_words_of_every_script(lang: str, text: str, expected: list[str]) -> None:
    assert words(text, lang) == expected


def fitted() -> WordTokenizer:
    tokenizer = WordTokenizer(min_count=2)
    tokenizer.fit(["b a", "a B c", "a"], ["en", "en", "de"])
    return tokenizer


def test_vocabulary_is_ordered_by_frequency_and_drops_rare_words(tmp_path: Path) -> None:
    tokenizer = fitted()
    assert tokenizer.words == ["a", "b"]
    ids = tokenizer(["a zebra B"], ["en"])[0]
    assert ids.tolist() == [START, 5, UNKNOWN, 6, END]
    tokenizer.save(tmp_path)
    again = WordTokenizer(min_count=2)
    again.load(tmp_path)
    assert again.vocabulary == tokenizer.vocabulary
    assert again(["b"], ["en"])[0].tolist() == [START, 6, END]


def test_unknown_words_are_left_out_where_none_was_seen_in_training() -> None:
    tokenizer = WordTokenizer(min_count=1)
    tokenizer.fit(["b a", "a"], ["en", "de"])
    texts = ["zebra a zoo b", "zebra zoo", "..."]
    expected = [[START, 5, 6, END], [START, UNKNOWN, UNKNOWN, END], [START, END]]
    assert [ids.tolist() for ids in tokenizer(texts, ["en"] * 3)] == expected


def test_a_vocabulary_of_nothing_is_refused() -> None:
    with pytest.raises(UserError, match=r"lower text\.tokenizer\.min_count"):
        WordTokenizer(min_count=5).fit(["a b"], ["en"])


def test_padding_has_a_zero_vector() -> None:
    part = WordEmbedding(vocabulary=fitted().vocabulary, dim=3)
    assert part.table.weight[PAD].tolist() == [0, 0, 0]
    assert float(part.table.weight[1:].detach().abs().max()) <= 0.1


def many(count: int = 4000) -> tuple[TextBatch, WordTokenizer]:
    tokenizer = WordTokenizer(min_count=1)
    tokenizer.fit([" ".join(f"w{n}" for n in range(50))], ["en"])
    ids = torch.tensor([[START, *range(5, 13), END, PAD]]).repeat(count, 1)
    return TextBatch(ids, ids != PAD), tokenizer


def test_changed_words_follow_the_asked_shares() -> None:
    torch.manual_seed(0)
    batch, tokenizer = many()
    changed = ChangeWords(vocabulary=tokenizer.vocabulary, p=0.2, masked=0.5, replaced=0.1)(batch)
    count = batch.ids.shape[0] * 8
    assert float((changed.ids == MASK).sum()) / count == pytest.approx(0.1, abs=0.005)
    deleted = (batch.mask.sum() - changed.mask.sum()) / count
    assert float(deleted) == pytest.approx(0.08, abs=0.005)
    originals = ((changed.ids >= 5) & (changed.ids < 13)).sum() / count
    assert float(originals) == pytest.approx(0.8 + 0.02 * 8 / 50, abs=0.01)


def test_changed_sentences_stay_in_order_between_their_ends() -> None:
    torch.manual_seed(1)
    batch, tokenizer = many(300)
    changed = ChangeWords(vocabulary=tokenizer.vocabulary, p=1.0, masked=0.0, replaced=0.0)(batch)
    assert changed.mask.sum(dim=1).tolist() == [2] * 300  # start and end are never touched
    partly = ChangeWords(vocabulary=tokenizer.vocabulary, p=0.5, masked=0.0, replaced=0.0)(batch)
    for ids, mask in zip(partly.ids, partly.mask, strict=True):
        valid = ids[mask].tolist()
        assert valid[0] == START
        assert valid[-1] == END
        assert valid[1:-1] == sorted(valid[1:-1])
        assert mask.tolist() == sorted(mask.tolist(), reverse=True)


def test_a_sentence_never_becomes_empty() -> None:
    torch.manual_seed(0)
    _, tokenizer = many(1)
    bare = TextBatch(torch.tensor([[7, 8]]), torch.ones(1, 2, dtype=torch.bool))
    changed = ChangeWords(vocabulary=tokenizer.vocabulary, p=1.0, masked=0.0, replaced=0.0)(bare)
    assert int(changed.mask.sum()) > 0


def spelled(count: int) -> tuple[TextBatch, CharacterTokenizer]:
    """The same sentence of eight words again and again; its words are filled up as in training."""
    tokenizer = CharacterTokenizer(word_length=4)
    sentence = " ".join(f"w{n}" for n in range(8))
    tokenizer.fit([sentence], ["en"])
    bank = TokenBank(
        tokenizer=tokenizer,
        texts=[sentence] * count,
        langs=["en"] * count,
        languages=["en"],
        device=torch.device("cpu"),
    )
    rows = np.arange(count)
    words_of_batch = torch.from_numpy(bank.words(rows, multiple=64))
    return bank.gather(torch.from_numpy(rows), 10, runs=bank.runs(rows), words=words_of_batch), tokenizer


def test_spelled_words_are_replaced_by_any_word_of_the_batch_alike() -> None:
    torch.manual_seed(0)
    batch, tokenizer = spelled(1000)
    assert batch.words is not None and len(batch.words.ids) == 64
    part = ChangeWords(vocabulary=tokenizer.vocabulary, p=1.0, masked=0.2, replaced=0.8)
    changed = part(batch)
    assert changed.words is batch.words
    assert changed.runs == batch.runs == ((0, 1000),)
    inner = changed.ids[:, 1:-1]
    assert float((inner == MASK).float().mean()) == pytest.approx(0.2, abs=0.02)
    replaced = inner[inner != MASK]
    own = sorted(set(batch.ids[0, 1:-1].tolist()))
    shares = [float((replaced == word).float().mean()) for word in own]
    assert sum(shares) == pytest.approx(1.0)  # nothing but words of the batch, which can all be spelled
    np.testing.assert_allclose(shares, 1 / 8, atol=0.02)
    assert (changed.ids[:, 0] == START).all() and (changed.ids[:, -1] == END).all()


@pytest.mark.parametrize("multiple", [1, 64])
def test_a_spelled_batch_without_a_word_stays_as_it_is(multiple: int) -> None:
    tokenizer = CharacterTokenizer(word_length=4)
    tokenizer.fit(["w"], ["en"])
    bank = TokenBank(
        tokenizer=tokenizer,
        texts=["...", "!"],
        langs=["en"] * 2,
        languages=["en"],
        device=torch.device("cpu"),
    )
    rows = np.arange(2)
    found = torch.from_numpy(bank.words(rows, multiple=multiple))
    batch = bank.gather(torch.from_numpy(rows), 2, runs=bank.runs(rows), words=found)
    changed = ChangeWords(vocabulary=tokenizer.vocabulary, p=1.0, masked=0.0, replaced=1.0)(batch)
    assert changed.ids.tolist() == [[START, END]] * 2
    assert changed.mask.all()


def test_words_rest_in_evaluation() -> None:
    batch, tokenizer = many(3)
    part = ChangeWords(vocabulary=tokenizer.vocabulary, p=1.0, masked=1.0, replaced=0.0).eval()
    assert part(batch) is batch


def test_pretrained_words_start_from_their_vectors_and_others_at_random() -> None:
    vocabulary = fitted().vocabulary
    vectors = np.random.default_rng(0).normal(0, 3, (vocabulary.size, 4)).astype(np.float32)
    vectors[: len(vocabulary.special) + 1] = 0  # special ones and the first word have none
    torch.manual_seed(0)
    found = PretrainedEmbedding(vocabulary=vocabulary, dim=4, vectors=vectors).table.weight.detach()
    torch.manual_seed(0)
    plain = WordEmbedding(vocabulary=vocabulary, dim=4).table.weight.detach()
    first = len(vocabulary.special) + 1
    torch.testing.assert_close(found[:first], plain[:first], rtol=0, atol=0)
    known = torch.from_numpy(vectors[first:])
    scale = found[first, 0] / known[0, 0]
    torch.testing.assert_close(found[first:], known * scale)
    assert float(found[first:].std()) == pytest.approx(0.1 / 3**0.5, rel=1e-5)  # as wide as U(-0.1, 0.1)
    assert torch.equal(PretrainedEmbedding(vocabulary=vocabulary, dim=4).table.weight[0], torch.zeros(4))
    with pytest.raises(UserError, match=r"text\.words\.dim is 5, but the stored word vectors have 4 values"):
        PretrainedEmbedding(vocabulary=vocabulary, dim=5, vectors=vectors)

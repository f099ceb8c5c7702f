from __future__ import annotations

from pathlib import Path

import pytest
import torch

from lingvis.text.augment import ChangeWords
from lingvis.text.tokenizers.transformer import TransformerTokenizer
from lingvis.text.words.transformer import TransformerWords
from lingvis.types import TextBatch


@pytest.fixture
def tokenizer(tiny_bert: Path) -> TransformerTokenizer:
    tokenizer = TransformerTokenizer(model=str(tiny_bert))
    tokenizer.fit([], [])
    return tokenizer


@pytest.fixture
def part(tiny_bert: Path, tokenizer: TransformerTokenizer) -> TransformerWords:
    return TransformerWords(vocabulary=tokenizer.vocabulary, model=str(tiny_bert))


def batch() -> TextBatch:
    ids = torch.tensor([[2, 7, 12, 3], [2, 8, 3, 0]])
    return TextBatch(ids, ids != 0, runs=((1, 1), (0, 1)))


def test_languages_travel_along(part: TransformerWords) -> None:
    tokens = part.eval()(batch())
    assert tokens.values.shape == (2, 4, 16)
    assert tokens.runs == ((1, 1), (0, 1))


def test_a_frozen_transformer_has_no_dropout_in_training(part: TransformerWords) -> None:
    part.requires_grad_(False)
    resting = part.eval()(batch()).values
    part.train()
    assert part.training
    assert torch.equal(part(batch()).values, resting)


def test_one_trained_weight_is_enough_for_dropout(part: TransformerWords) -> None:
    part.requires_grad_(False)
    next(part.parameters()).requires_grad_(True)
    part.train()
    assert not torch.equal(part(batch()).values, part(batch()).values)


SENTENCE = "the dogs is reds."


def pieces(tokenizer: TransformerTokenizer, count: int) -> tuple[TextBatch, list[list[int]]]:
    """The same sentence many times, one token longer than it is, and the places of each word's pieces."""
    ids = torch.tensor([*tokenizer([SENTENCE], ["en"])[0].tolist(), tokenizer.vocabulary.pad])
    rows = ids.repeat(count, 1)
    mask = torch.ones_like(rows, dtype=torch.bool)
    mask[:, -1] = False
    return TextBatch(rows, mask), [[1], [2, 3], [4], [5, 6], [7]]


def test_the_vocabulary_knows_the_pieces_that_continue_a_word(
    tokenizer: TransformerTokenizer, tmp_path: Path
) -> None:
    batch, words = pieces(tokenizer, 1)
    assert len(tokenizer.vocabulary.continuing) == 1  # ##s
    inside = [place for word in words for place in word[1:]]
    assert [int(batch.ids[0, place]) for place in inside] == [tokenizer.vocabulary.continuing[0]] * 2
    tokenizer.save(tmp_path)
    loaded = TransformerTokenizer(model="gone")
    loaded.load(tmp_path)
    assert loaded.vocabulary == tokenizer.vocabulary


def test_all_pieces_of_a_word_are_masked_replaced_or_deleted_together(
    tokenizer: TransformerTokenizer,
) -> None:
    torch.manual_seed(0)
    batch, words = pieces(tokenizer, 3000)
    vocabulary = tokenizer.vocabulary
    masked = ChangeWords(vocabulary=vocabulary, p=0.3, masked=1.0, replaced=0.0)(batch).ids == vocabulary.mask
    hidden = torch.stack([masked[:, word].all(dim=1) for word in words], dim=1)
    assert torch.equal(masked.any(dim=1), hidden.any(dim=1))
    assert int(masked.sum()) == sum(len(word) * int(hidden[:, at].sum()) for at, word in enumerate(words))
    shares = hidden.float().mean(dim=0)
    torch.testing.assert_close(shares, torch.full((5,), 0.3), atol=0.03, rtol=0)
    both = (hidden[:, 1] & hidden[:, 3]).float().mean()
    assert float(both) == pytest.approx(0.09, abs=0.02)  # words are drawn independently of each other
    left = ChangeWords(vocabulary=vocabulary, p=0.5, masked=0.0, replaced=0.0)(batch)
    continues = torch.isin(left.ids, torch.tensor(vocabulary.continuing))
    # A piece that continues comes after the beginning of its own word: no half of a word stays.
    before = left.ids.roll(1, dims=1)[continues]
    assert set(before.tolist()) == {int(batch.ids[0, 2]), int(batch.ids[0, 5])}
    assert int(continues.sum()) == int(torch.isin(left.ids, batch.ids[0, [2, 5]]).sum())
    changed = ChangeWords(vocabulary=vocabulary, p=0.5, masked=0.0, replaced=1.0)(batch).ids != batch.ids
    # Both pieces of a word are replaced, each by any of the vocabulary, so rarely by itself.
    apart = (changed[:, 2] != changed[:, 3]).float().mean()
    assert 0 < float(apart) < 0.05


def test_a_vocabulary_without_marked_pieces_has_words_only(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    transformers = pytest.importorskip("transformers")
    vocabulary = {"<pad>": 0, "<mask>": 1, "a": 2, "##": 3, "\u2581a": 4}
    model = tokenizers.models.BPE(vocabulary, [], unk_token="<pad>")
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizers.Tokenizer(model), pad_token="<pad>", mask_token="<mask>"
    ).save_pretrained(str(tmp_path))
    tokenizer = TransformerTokenizer(model=str(tmp_path))
    tokenizer.fit([], [])
    assert tokenizer.vocabulary.size == 5
    assert tokenizer.vocabulary.continuing == ()

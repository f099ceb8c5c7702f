from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from lingvis.errors import UserError
from lingvis.recipes.options import part_problems
from lingvis.text.tokenizers.base import Vocabulary
from lingvis.text.words import latent
from lingvis.text.words.base import WORDS
from lingvis.text.words.hybrid import HybridWords
from lingvis.text.words.latent import Assignment, LatentAttention
from lingvis.types import TextBatch

from .word_pretraining import pretrain_on

VOCABULARY = Vocabulary(
    size=15,
    pad=0,
    mask=4,
    special=(0, 1, 2, 3, 4),
    languages=("en", "de"),
    blocks=((5, 9), (9, 15)),
    lender=0,
)
TOKEN_OF = torch.tensor([9, 9, 9, 9, 9, 1, 0, 3, 7, 2, 2, 7, 3, 6, 3])
IDS = torch.tensor([[2, 5, 8, 7, 3], [2, 9, 13, 14, 3], [2, 10, 6, 4, 0]])
BATCH = TextBatch(IDS, IDS != 0, ((0, 1), (1, 2)))


def floats(*shape: int) -> NDArray[np.float32]:
    return np.random.default_rng(len(shape)).normal(size=shape).astype(np.float32)


def make(**options: Any) -> HybridWords:
    torch.manual_seed(0)
    given = {
        "vocabulary": VOCABULARY,
        "vectors": floats(15, 4),
        "assignment": Assignment(TOKEN_OF, torch.from_numpy(floats(10, 3))),
        "own": 2,
        "vector_dim": 4,
        "dim": 3,
    }
    return HybridWords(**{**given, **options})


def naive(part: HybridWords, own: int) -> Tensor:
    """One id after the other, from the layers and from the tokens before they were renumbered."""
    rows = []
    tokens = torch.from_numpy(floats(10, 3))
    for number in IDS.flatten().tolist():
        lang = 0 if number < 9 else 1
        place = number - VOCABULARY.blocks[lang][0]
        if number < 5:
            rows.append(part.space.shared[number])
        elif place < own:
            assert part.space.project is not None
            layer = part.space.project.layers[lang]
            assert isinstance(layer, nn.Linear)
            rows.append(layer(torch.from_numpy(floats(15, 4)[number])))
        else:
            rows.append(tokens[int(TOKEN_OF[number])])
    return torch.stack(rows).view(*IDS.shape, -1)


@pytest.mark.parametrize(("own", "used"), [(2, 3), (0, 6), (5, 1), (99, 0)])
def test_words_equal_a_naive_loop(own: int, used: int) -> None:
    part = make(own=own)
    assert part.latent == used
    torch.testing.assert_close(part(BATCH).values, naive(part, own))
    part.eval()
    with torch.inference_mode():
        torch.testing.assert_close(part(BATCH).values, naive(part, own))


def test_words_of_a_latent_token_are_trained_together() -> None:
    part = make()
    values = part(BATCH).values
    assert torch.equal(values[0, 3], values[1, 3])  # 7 and 14 have token 3
    values[0, 3].sum().backward()
    assert part.space.shared.grad is not None
    touched = part.space.shared.grad.abs().sum(dim=1).gt(0)
    assert touched.sum() == 1
    with torch.no_grad():
        part.space.shared.sub_(part.space.shared.grad)
    after = part(BATCH).values
    assert torch.equal(after[0, 3], after[1, 3])
    assert not torch.equal(after[1, 3], values[1, 3])
    assert "row_of" not in dict(part.named_parameters())


def test_counts_of_values() -> None:
    def trained(part: HybridWords) -> int:
        return sum(each.numel() for each in part.parameters())

    layers = 2 * (4 * 3 + 3)
    assert trained(make()) == 4 * 4 + layers + (5 + 3) * 3
    assert make().space.table_values == (5 + 3 + 4) * 3
    assert trained(make(own=0)) == (5 + 6) * 3  # no layers, no own vectors
    assert make(own=0).space.table_values == (5 + 6) * 3


@pytest.mark.parametrize("own", [0, 2, 99])
def test_a_saved_model_is_the_same(tmp_path: Path, own: int) -> None:
    part = make(own=own)
    part.save(tmp_path)
    again = make(own=own, vectors=None, assignment=None, folder=tmp_path)
    again.load_state_dict(part.state_dict(), strict=True)
    torch.testing.assert_close(again(BATCH).values, part(BATCH).values)


@pytest.mark.parametrize("stored", [None, "{", "[]", "{}", '{"latent": -1}', '{"latent": true}'])
def test_a_damaged_folder_is_told(tmp_path: Path, stored: str | None) -> None:
    if stored is not None:
        (tmp_path / HybridWords.FILE).write_text(stored, encoding="utf-8")
    with pytest.raises(UserError, match=r"latent\.json is damaged .*; restore the file or train again"):
        make(assignment=None, folder=tmp_path)


def test_what_does_not_fit_is_said() -> None:
    with pytest.raises(UserError, match=r"dim is 2, but the latent tokens have 3 dimensions"):
        make(dim=2)
    with pytest.raises(UserError, match=r"set pretraining\.name = latent"):
        make(assignment=None)
    with pytest.raises(UserError, match=r"vector_dim is 5 for 15 words"):
        make(vector_dim=5)
    values = {"words": {"name": "hybrid", "own": -1}, "right": {"name": "hybrid", "own": 0, "dim": 3}}
    provided = ("vocabulary", "vectors", "assignment", "folder")
    assert "own" in part_problems("words", values, WORDS, provided=provided)[0]
    assert part_problems("right", values, WORDS, provided=provided) == []


def attention(**options: Any) -> LatentAttention:
    torch.manual_seed(0)
    given = {
        "vocabulary": VOCABULARY,
        "vectors": floats(15, 4),
        "latent": 7,
        "dim": 3,
        "explore": 0.0,
        "among": 3,
    }
    return LatentAttention(**{**given, **options})


def scores(part: LatentAttention, word: int) -> Tensor:
    vector = torch.from_numpy(floats(15, 4))[word]
    return torch.stack([row @ vector / row.norm() / vector.norm() for row in part.rows])


def test_each_word_has_the_best_token(monkeypatch: pytest.MonkeyPatch) -> None:
    part = attention()
    found = part.assignment()
    assert found.token_of.tolist() == [int(scores(part, word).argmax()) for word in range(15)]
    assert torch.equal(found.vectors, part.tokens.detach())
    wanted = part.tokens[found.token_of[IDS]]
    for _ in range(2):
        tokens = part(BATCH)
        torch.testing.assert_close(tokens.values, wanted)
        assert torch.equal(tokens.mask, BATCH.mask & (IDS >= 5))  # special tokens are no words
        torch.testing.assert_close(part.eval()(BATCH).values, wanted)
        monkeypatch.setattr(latent, "MOST_SCORES", 8)  # one word at a time
        assert torch.equal(part.assignment().token_of, found.token_of)
        part.train()


def test_tokens_start_as_the_mean_of_their_words() -> None:
    part = attention(dim=6, latent=12)
    part.start_tokens()
    token_of = part.assignment().token_of
    vectors = torch.nn.functional.normalize(torch.from_numpy(floats(15, 4)), dim=1)
    starts = []
    for token in range(12):
        words = [vectors[word] for word in range(5, 15) if token_of[word] == token]
        starts.append(torch.stack(words).sum(dim=0) if words else part.rows[token].detach())
    wanted = torch.stack([start / start.norm() for start in starts])
    # A rotation keeps all cosines; the length gives components the usual size.
    torch.testing.assert_close(part.tokens.detach().norm(dim=1), torch.full((12,), 0.1 * 6**0.5))
    unit = torch.nn.functional.normalize(part.tokens.detach(), dim=1)
    torch.testing.assert_close(unit @ unit.T, wanted @ wanted.T)
    assert len(set(token_of[5:].tolist())) < 10  # some token has several words


def test_exploring_takes_any_of_the_best_as_often() -> None:
    part = attention(explore=0.6)
    best = scores(part, 7).topk(3).indices.tolist()
    word = TextBatch(torch.tensor([[7, 7]]), torch.ones(1, 2, dtype=torch.bool), ((0, 1),))
    counts = dict.fromkeys(best, 0)
    for _ in range(1200):
        values = part(word).values[0]
        assert torch.equal(values[0], values[1])
        counts[int((part.tokens - values[0]).abs().sum(dim=1).argmin())] += 1
    for token, share in zip(best, (0.6, 0.2, 0.2), strict=True):
        assert counts[token] / 1200 == pytest.approx(share, abs=0.05)
    assert torch.equal(part.eval()(word).values[0, 0], part.tokens[best[0]])


def test_the_choice_learns_straight_through() -> None:
    part = attention()
    target = torch.randn(*IDS.shape, 3)
    (part(BATCH).values * target).sum().backward()
    rows, tokens = (each.detach().clone().requires_grad_() for each in (part.rows, part.tokens))
    loss = torch.zeros(())
    for ids, row in zip(IDS, target, strict=True):
        for word, wanted in zip(ids.tolist(), row, strict=True):
            vector = torch.from_numpy(floats(15, 4))[word]
            all_scores = torch.stack([row @ vector / row.norm() / vector.norm() for row in rows])
            best = all_scores.topk(3).indices
            mixture = (all_scores[best] / 0.1).softmax(0) @ tokens[best].detach()
            loss = loss + tokens[best[0]] @ wanted + mixture @ wanted
    loss.backward()  # type: ignore[no-untyped-call]
    for got, reference in ((part.rows, rows), (part.tokens, tokens)):
        assert got.grad is not None and reference.grad is not None
        torch.testing.assert_close(got.grad, reference.grad)


def test_words_without_a_vector_do_not_all_fall_together() -> None:
    vectors = floats(15, 4)
    vectors[9:] = 0
    assert len(set(attention(vectors=vectors, latent=50).assignment().token_of[9:].tolist())) > 1


def test_exploring_more_tokens_than_there_are_is_refused() -> None:
    with pytest.raises(UserError, match="among = 8 of latent = 7"):
        attention(among=8)


def test_pretraining_gives_translations_near_tokens() -> None:
    """Four words and their translations: afterwards the tokens of a pair are the nearest of all."""
    vocabulary = Vocabulary(
        size=13, pad=0, mask=4, special=(0, 1, 2, 3, 4), languages=("en", "de"), blocks=((5, 9), (9, 13))
    )
    ids = torch.tensor([[2, word, 3] for word in range(5, 13)])
    batch = TextBatch(ids, torch.ones_like(ids, dtype=torch.bool), ((0, 4), (1, 4)))
    groups = torch.arange(4).repeat(2)

    def objective(scores: Tensor, positives: Tensor) -> Tensor:
        return -torch.where(positives, scores.mul(10).log_softmax(dim=1), 0.0).sum() / len(scores)

    def train() -> tuple[LatentAttention, list[float]]:
        part = attention(vocabulary=vocabulary, vectors=floats(13, 16), latent=100, dim=8, explore=0.2)
        return part, pretrain_on(part, [(batch, groups)] * 100, objective=objective, lr=0.02)

    part, losses = train()
    assert np.mean(losses[-10:]) < 0.5 * losses[0]
    found = part.assignment()
    vectors = nn.functional.normalize(found.vectors[found.token_of[5:]], dim=1)
    assert (vectors[:4] @ vectors[4:].T).argmax(dim=1).tolist() == [0, 1, 2, 3]
    assert train()[1] == losses
    hybrid = make(vocabulary=vocabulary, vectors=None, assignment=found, own=0, dim=8).eval()
    with torch.no_grad():
        torch.testing.assert_close(hybrid(batch).values[:, 1], found.vectors[found.token_of[5:]])

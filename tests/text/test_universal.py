from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lingvis.errors import UserError
from lingvis.layers.per_language import PerLanguageLinear
from lingvis.recipes.options import part_problems
from lingvis.text.encoders import GRU, TEXT_ENCODERS, PerLanguageGRU
from lingvis.text.heads import PerLanguageHead
from lingvis.text.tokenizers.base import Vocabulary
from lingvis.text.tokenizers.language_words import LanguageWordTokenizer
from lingvis.text.tokenizers.words import WordTokenizer
from lingvis.text.words.base import WORDS
from lingvis.text.words.universal import UniversalWords
from lingvis.types import LanguageRows, TextBatch, Tokens

from .word_pretraining import pretrain_on

VOCABULARY = Vocabulary(
    size=12,
    pad=0,
    mask=4,
    special=(0, 1, 2, 3, 4),
    languages=("en", "de"),
    blocks=((5, 8), (8, 12)),
    lender=0,
)
# A German, two English, another German sentence; word 6 is English in a German sentence.
IDS = torch.tensor([[2, 9, 6, 3, 0], [2, 5, 7, 3, 0], [2, 6, 1, 5, 3], [2, 11, 4, 3, 0]])
BATCH = TextBatch(IDS, IDS != 0, ((1, 1), (0, 2), (1, 1)))


def make(**options: Any) -> UniversalWords:
    torch.manual_seed(0)
    vectors = np.random.default_rng(0).normal(size=(12, 4)).astype(np.float32)
    vectors[:5] = 0
    return UniversalWords(
        **{"vocabulary": VOCABULARY, "vectors": vectors, "vector_dim": 4, "dim": 3, **options}
    )


def naive(part: UniversalWords, ids: Tensor) -> Tensor:
    """One token after the other; the language is that of the word, not of the sentence."""
    rows = []
    for number in ids.flatten().tolist():
        if number < 5:
            rows.append(part.space.shared[number])
            continue
        assert part.space.project is not None
        layer = part.space.project.layers[0 if number < 8 else 1]
        assert isinstance(layer, nn.Linear)
        rows.append(layer.weight @ part.space.vectors[number - 5] + layer.bias)
    return torch.stack(rows).view(*ids.shape, -1)


TABLE = LanguageRows.of(torch.tensor([1, 0, 0, 1]), (2, 4))


@pytest.mark.parametrize("languages", [None, TABLE], ids=["runs", "table"])
def test_words_and_gradients_equal_a_naive_loop(languages: LanguageRows | None) -> None:
    part = make()
    target = torch.randn(*IDS.shape, 3)
    # With a table the runs do not matter.
    tokens = part(replace(BATCH, languages=languages, runs=BATCH.runs if languages is None else ()))
    assert tokens.mask is BATCH.mask
    torch.testing.assert_close(tokens.values, naive(part, IDS))
    got = torch.autograd.grad((tokens.values * target).sum(), list(part.parameters()))
    wanted = torch.autograd.grad((naive(part, IDS) * target).sum(), list(part.parameters()))
    for one, other in zip(got, wanted, strict=True):
        torch.testing.assert_close(one, other)


def test_evaluation_looks_words_up_and_multiplies_nothing() -> None:
    part = make().eval()
    assert part.space.project is not None
    calls: list[int] = []
    for layer in part.space.project.layers:
        layer.register_forward_hook(lambda *_: calls.append(1))
    with torch.inference_mode():
        first = part(BATCH).values
    assert len(calls) == 2
    with torch.no_grad():
        second = part(BATCH).values
    assert len(calls) == 2
    torch.testing.assert_close(first, naive(part, IDS))
    assert torch.equal(first, second)
    part(BATCH).values.sum().backward()  # with gradients nothing is looked up
    assert part.space.vectors.grad is not None


def test_the_table_follows_the_weights() -> None:
    part = make().eval()
    with torch.no_grad():
        before = part(BATCH).values
        part.space.vectors.mul_(2)  # as an optimiser does, without a change of mode
        torch.testing.assert_close(part(BATCH).values, naive(part, IDS))
        assert not torch.equal(part(BATCH).values, before)
        other = make()
        other.space.shared.data.add_(1)
        part.load_state_dict(other.state_dict())
        torch.testing.assert_close(part(BATCH).values, naive(other, IDS))
        assert part.space.project is not None
        part.space.project.layers[1].weight.data.zero_()  # type: ignore[operator]
        torch.testing.assert_close(part.train().eval()(BATCH).values, naive(part, IDS))
        part.double()
        assert part(BATCH).values.dtype == torch.float64


def test_vectors_start_as_given_and_missing_ones_are_drawn() -> None:
    vectors = np.random.default_rng(0).normal(size=(4005, 4)).astype(np.float32) * 7
    vectors[:2005] = 0
    vocabulary = Vocabulary(
        size=4005, pad=0, mask=4, special=(0, 1, 2, 3, 4), languages=("en",), blocks=((5, 4005),)
    )
    part = make(vocabulary=vocabulary, vectors=vectors, dim=64)
    assert torch.equal(part.space.vectors[2000:].detach(), torch.from_numpy(vectors[2005:]))
    assert float(part.space.vectors[:2000].detach().std()) == pytest.approx(
        float(vectors[2005:].std()), rel=0.05
    )
    table = part.space.table()
    assert float(table[:5].std()) == pytest.approx(float(table[5:].std()), rel=0.15)  # special tokens
    assert vectors[:2005].max() == 0


def test_a_fixed_table_is_not_trained() -> None:
    part = make(tune=False)
    part(BATCH).values.sum().backward()
    assert part.space.vectors.grad is None
    assert make().space.table_values == 12 * 3


def test_what_does_not_fit_is_said() -> None:
    with pytest.raises(UserError, match=r"vector_dim is 3 for 12 words, but the vectors are 12 x 4"):
        make(vector_dim=3)
    words = WordTokenizer(min_count=1)
    words.fit(["a"], ["en"])
    with pytest.raises(UserError, match=r"text\.tokenizer\.name = language_words"):
        make(vocabulary=words.vocabulary)


def test_a_saved_model_needs_no_vectors() -> None:
    part, again = make(), make(vectors=None)
    again.load_state_dict(part.state_dict(), strict=True)
    torch.testing.assert_close(again(BATCH).values, part(BATCH).values)


def test_rows_go_through_the_layer_of_their_language() -> None:
    torch.manual_seed(0)
    part = PerLanguageLinear(languages=3, input_dim=4, dim=2)
    values = torch.randn(6, 5, 4)
    runs = ((2, 1), (0, 2), (2, 2), (0, 1))
    langs = [2, 0, 0, 2, 2, 0]
    wanted = torch.stack([part.layers[lang](row) for lang, row in zip(langs, values, strict=True)])
    torch.testing.assert_close(part(values, runs), wanted)
    with pytest.raises(UserError, match=r"no layer for \(it has 3\)"):
        part(values, ((3, 6),))
    with pytest.raises(ValueError, match="language of 2 rows, but there are 6 rows"):
        part(values, ((0, 2),))


def test_lines_go_through_the_layer_of_their_language() -> None:
    torch.manual_seed(0)
    part = PerLanguageLinear(languages=3, input_dim=4, dim=2)
    values = torch.randn(2, 6, 5, 4)
    wanted = torch.stack([part.layers[2](values[0]), part.layers[0](values[1])])
    torch.testing.assert_close(part.lines(values, torch.tensor([2, 0])), wanted)


def test_a_table_of_languages_has_every_row_once_in_the_line_of_its_language() -> None:
    langs = torch.tensor([4, 1, 4, 4, 0, 1])
    table = LanguageRows.of(langs, (3, 5))
    assert table.langs.tolist() == [0, 1, 4]
    lines = [rows[valid].tolist() for rows, valid in zip(table.rows, table.valid, strict=True)]
    assert lines == [[4], [1, 5], [0, 2, 3]]
    assert table.rows.flatten()[table.places].tolist() == [0, 1, 2, 3, 4, 5]
    assert table.valid.flatten()[table.places].all()


def test_each_language_has_its_own_gru() -> None:
    torch.manual_seed(0)
    part = PerLanguageGRU(language_count=2, input_dim=4, dim=3, bidirectional=True)
    mask = torch.tensor([[1, 1, 1], [1, 0, 0], [1, 1, 0], [1, 1, 1]], dtype=torch.bool)
    tokens = Tokens(torch.randn(4, 3, 4), mask, ((1, 1), (0, 2), (1, 1)))
    found = part(tokens)
    assert found.runs == tokens.runs
    for row, lang in enumerate((1, 0, 0, 1)):
        branch = part.layers[lang]
        assert isinstance(branch, GRU)
        alone = branch(Tokens(tokens.values[row : row + 1], mask[row : row + 1]))
        torch.testing.assert_close(found.values[row], alone.values[0])


def test_each_language_has_its_own_head() -> None:
    torch.manual_seed(0)
    head = PerLanguageHead(language_count=2, input_dim=4, dim=3)
    pooled = torch.randn(4, 4)
    found = head(pooled, ((1, 1), (0, 2), (1, 1)))
    for row, lang in enumerate((1, 0, 0, 1)):
        layer = head.linear.layers[lang]
        assert isinstance(layer, nn.Linear)
        torch.testing.assert_close(found[row], layer.weight @ pooled[row] + layer.bias)
    assert (head(pooled, ((0, 4),))[0] - found[0]).abs().max() > 1e-3
    assert head.dim == 3


def test_recipe_options_are_those_of_the_parts() -> None:
    provided = ("input_dim", "vocabulary", "vectors", "language_count", "assignment", "folder")
    values = {
        "words": {"name": "universal", "vector_dim": 300, "dim": 512, "tune": False},
        "encoder": {"name": "gru_per_language", "dim": 4, "bidirectional": True},
        "wrong": {"name": "universal", "vector_dim": 0, "dim": 512},
    }
    assert part_problems("words", values, WORDS, provided=provided) == []
    assert part_problems("encoder", values, TEXT_ENCODERS, provided=provided) == []
    assert "vector_dim" in part_problems("wrong", values, WORDS, provided=provided)[0]


def hinge(scores: Tensor, positives: Tensor) -> Tensor:
    """Sum over anchor, positive, negative of [0.2 + s(negative) - s(positive)]+, without -inf - inf."""
    negatives = scores.masked_fill(positives, -torch.inf)
    violated = (0.2 + negatives.unsqueeze(1) - scores.unsqueeze(2)).clamp(min=0)
    return torch.where(positives.unsqueeze(2), violated, 0.0).sum()


def test_pretraining_scores_averages_of_words() -> None:
    part = make()
    emb = F.normalize(
        torch.stack([row[mask].mean(0) for row, mask in zip(naive(part, IDS), BATCH.mask, strict=True)]),
        dim=1,
    )
    seen: list[tuple[Tensor, Tensor]] = []

    def look(scores: Tensor, positives: Tensor) -> Tensor:
        seen.append((scores.detach(), positives))
        return scores[positives].sum()

    groups = torch.tensor([3, 3, 8, 8])
    losses = pretrain_on(part, [(BATCH, groups)], objective=look, lr=0.1)
    scores, positives = seen[0]
    for i in range(4):
        for j in range(4):
            assert bool(positives[i, j]) == (i != j and groups[i] == groups[j])
            wanted = -torch.inf if i == j else float((emb[i] @ emb[j]).detach())
            assert float(scores[i, j]) == pytest.approx(wanted, abs=1e-6)
    assert losses == [pytest.approx(float(scores[positives].sum()))]


def test_pretraining_draws_translations_together_and_leaves_the_table() -> None:
    pairs = [("dog", "hund"), ("cat", "katze"), ("house", "haus"), ("tree", "baum")]
    tokenizer = LanguageWordTokenizer(min_count=1)
    tokenizer.fit([word for pair in pairs for word in pair], ["en", "de"] * 4)
    ids = torch.arange(5, 13).unsqueeze(1)  # English words, then German ones, both in alphabetical order
    groups = torch.tensor([0, 1, 2, 3, 3, 2, 1, 0])  # cat dog house tree, baum haus hund katze
    assert tokenizer.vocabulary.own_words == ("cat", "dog", "house", "tree", "baum", "haus", "hund", "katze")
    batch = TextBatch(ids, torch.ones_like(ids, dtype=torch.bool), ((0, 4), (1, 4)))
    vectors = np.random.default_rng(1).normal(size=(13, 8)).astype(np.float32)

    def train() -> tuple[UniversalWords, list[float]]:
        part = make(vocabulary=tokenizer.vocabulary, vectors=vectors, vector_dim=8, dim=6)
        return part, pretrain_on(
            part, [(batch, groups)] * 60, objective=hinge, lr=0.02, frozen=["space.vectors"]
        )

    part, losses = train()
    assert losses[-1] < 0.1 * losses[0]
    assert torch.equal(part.space.vectors.detach(), torch.from_numpy(vectors[5:]))
    assert all(parameter.grad is None for parameter in part.parameters())
    emb = F.normalize(part.eval()(batch).values[:, 0], dim=1)
    assert (emb[:4] @ emb[4:].T).argmax(dim=1).tolist() == [3, 2, 1, 0]
    assert train()[1] == losses

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import nn

from lingvis.errors import UserError
from lingvis.recipes.options import part_problems
from lingvis.recipes.schema import Part
from lingvis.text.bank import TokenBank
from lingvis.text.tokenizers.base import MASK, PAD, Vocabulary
from lingvis.text.tokenizers.characters import CharacterTokenizer
from lingvis.text.tokenizers.words import WordTokenizer
from lingvis.text.words.base import WORDS
from lingvis.text.words.char_gru import CharacterGRU
from lingvis.text.words.liwe import CharacterMLP
from lingvis.text.words.ngrams import BASE, PRIME, HashedNgrams
from lingvis.text.words.spelled import SpelledWordPart
from lingvis.types import SpelledWords, TextBatch

LETTERS = Vocabulary(0, PAD, MASK, (0, 1, 2, 3, 4), letters=12, word_length=5, marks=12)
MAKERS: dict[str, Callable[[], SpelledWordPart]] = {
    "liwe": lambda: CharacterMLP(vocabulary=LETTERS, letter_dim=3, layers=[7, 6], dim=4),
    "char_gru": lambda: CharacterGRU(vocabulary=LETTERS, letter_dim=3, dim=4),
    "ngrams": lambda: HashedNgrams(vocabulary=LETTERS, dim=4, buckets=50, shortest=1, longest=3),
}
each_part = pytest.mark.parametrize("name", sorted(MAKERS))


def some_words(filling: int = 2) -> SpelledWords:
    """Special tokens, words of all lengths with gaps between their ids, and the last one repeated."""
    torch.manual_seed(3)
    ids = torch.tensor([0, 1, 2, 3, 4, 6, 9, 10, 17, 30])
    letters = torch.randint(5, 12, (len(ids), 5))
    letters[torch.arange(5) >= torch.tensor([0, 1, 1, 1, 1, 1, 2, 3, 4, 5])[:, None]] = 0
    letters[:5, 0] = torch.arange(5)
    rows = torch.cat([torch.arange(len(ids)), torch.full((filling,), len(ids) - 1)])
    return SpelledWords(ids[rows], letters[rows])


def some_batch() -> TextBatch:
    ids = torch.tensor([[2, 9, 6, 30, 3], [2, 17, 3, 0, 0], [2, 4, 10, 9, 3]])
    return TextBatch(ids, ids != PAD, words=some_words())


def count_composed(part: SpelledWordPart) -> list[int]:
    """How many words each call of compose gets, from now on."""
    sizes: list[int] = []
    compose = part.compose

    def counted(words: SpelledWords) -> torch.Tensor:
        sizes.append(len(words.ids))
        return compose(words)

    part.compose = counted  # type: ignore[method-assign]
    return sizes


@each_part
def test_tokens_get_the_vectors_of_their_words(name: str) -> None:
    part, batch = MAKERS[name](), some_batch()
    part.eval()
    assert batch.words is not None
    vectors = part.compose(batch.words).detach()
    tokens = part(batch)
    assert tokens.mask is batch.mask
    for row, ids in enumerate(batch.ids.tolist()):
        for column, number in enumerate(ids):
            expected = vectors[batch.words.ids.tolist().index(number)]
            assert torch.equal(tokens.values[row, column], expected)
    assert len({tuple(vector) for vector in vectors[:10].tolist()}) == 10  # ten words, ten vectors


@each_part
def test_gradients_reach_the_weights(name: str) -> None:
    part, batch = MAKERS[name]().double().eval(), some_batch()  # running statistics stand still
    weights = dict(part.named_parameters())
    torch.manual_seed(0)
    direction = torch.randn(3, 5, 4, dtype=torch.float64)

    def value(**changed: torch.Tensor) -> torch.Tensor:
        values: torch.Tensor = torch.func.functional_call(part, {**weights, **changed}, batch).values
        return (values * direction * batch.mask[..., None]).sum()

    gradients = torch.autograd.grad(value(), list(weights.values()))
    for (key, weight), gradient in zip(weights.items(), gradients, strict=True):
        step = torch.randn_like(weight)
        if key == "letters.weight":
            step[0] = 0  # the vector behind the end of a word stays zero
        ahead, back = (value(**{key: weight.detach() + sign * 1e-6 * step}) for sign in (1, -1))
        slope = float((ahead - back).detach() / 2e-6)
        assert slope == pytest.approx(float((gradient * step).sum()), rel=1e-4, abs=1e-6), key
        assert float(gradient.abs().sum()) > 0, key


@each_part
def test_filling_up_changes_nothing_in_training(name: str) -> None:
    part = MAKERS[name]().train()
    filled = copy.deepcopy(part)
    torch.testing.assert_close(filled.compose(some_words(6))[:10], part.compose(some_words(0)))
    for (key, one), (_, other) in zip(part.named_buffers(), filled.named_buffers(), strict=True):
        torch.testing.assert_close(one, other, msg=key)


@each_part
def test_a_kept_word_is_not_composed_again(name: str) -> None:
    part, batch = MAKERS[name]().eval(), some_batch()
    expected = part(batch).values.detach()  # with gradients nothing is kept
    letters = torch.cat([some_words().letters[5:6], torch.tensor([[8, 9, 5, 5, 0]])])
    words = SpelledWords(torch.tensor([6, 2000]), letters)
    later = TextBatch(torch.tensor([[2000, 6]]), torch.ones(1, 2, dtype=torch.bool), words=words)
    sizes = count_composed(part)
    with torch.no_grad():
        torch.testing.assert_close(part(batch).values, expected)
        assert sizes == [12]
        assert torch.equal(part(batch).values, part(batch).values)
    with (
        torch.inference_mode()
    ):  # what was kept outside inference mode serves inside, and the other way round
        torch.testing.assert_close(part(batch).values, expected)
        found = part(later).values.clone()
    assert sizes == [12, 1]
    with torch.no_grad():
        assert torch.equal(part(later).values, found)
        torch.testing.assert_close(part(batch).values, expected)
    assert sizes == [12, 1]
    torch.testing.assert_close(part(later).values.detach(), found)
    assert sizes == [12, 1, 2]
    assert not any("kept" in key for key in part.state_dict())


@each_part
def test_what_is_kept_never_outlives_the_weights(name: str) -> None:
    part, other, batch = MAKERS[name]().eval(), MAKERS[name]().eval(), some_batch()

    def scale() -> None:
        next(part.parameters()).mul_(1.5)

    def average() -> None:
        torch._foreach_lerp_(list(part.parameters()), list(other.parameters()), 0.5)

    def swap() -> None:
        state = list(part.state_dict().values())
        torch._foreach_copy_(state, [value * 1.2 for value in state])

    def optimise() -> None:
        part.requires_grad_(True)
        for each in part.parameters():
            each.grad = torch.ones_like(each)
        torch.optim.Adam(part.parameters(), lr=0.1).step()

    def load() -> None:
        other.load_state_dict({key: value * 1.01 for key, value in part.state_dict().items()})
        nn.ModuleDict({"words": part}).load_state_dict(
            {f"words.{k}": v for k, v in other.state_dict().items()}
        )

    def assign() -> None:
        part.load_state_dict(
            {
                key: (value * 0.9 if value.is_floating_point() else value)
                for key, value in part.state_dict().items()
            },
            assign=True,
        )

    def train() -> None:
        part.train()
        part(batch)
        next(part.parameters()).data.add_(0.3)  # leaves no trace on the parameter
        part.eval()

    def widen() -> None:
        part.double()

    with torch.no_grad():
        for change in (scale, average, swap, optimise, load, assign, train, widen):
            before = part(batch).values.clone()
            change()
            after = part(batch).values
            with torch.enable_grad():
                expected = part(batch).values.detach()
            torch.testing.assert_close(after, expected, msg=change.__name__)
            assert after.dtype != before.dtype or not torch.allclose(after, before), change.__name__


def test_another_tokenizers_ids_do_not_find_old_vectors() -> None:
    part = MAKERS["ngrams"]().eval()
    one = SpelledWords(torch.tensor([5]), torch.tensor([[6, 7, 0, 0, 0]]))
    two = SpelledWords(torch.tensor([5]), torch.tensor([[6, 8, 0, 0, 0]]))
    ids = torch.tensor([[5]])
    with torch.no_grad():
        first = part(TextBatch(ids, ids > 0, words=one)).values
        second = part(TextBatch(ids, ids > 0, words=two)).values
        assert not torch.equal(first, second)
        torch.testing.assert_close(second[0], part.compose(two))


def test_what_inference_mode_kept_can_be_added_to_outside_it() -> None:
    part, batch = MAKERS["char_gru"]().eval(), some_batch()
    words = SpelledWords(torch.tensor([40, 50]), torch.tensor([[5, 6, 0, 0, 0], [6, 5, 0, 0, 0]]))
    with torch.inference_mode():
        part(batch)
    with torch.no_grad():
        added = part(TextBatch(words.ids[None], words.ids[None] > 0, words=words)).values[0]
        torch.testing.assert_close(added, part.compose(words))


def test_words_without_a_lasting_id_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lingvis.text.words.spelled.LASTING_IDS", 10)
    part, batch = MAKERS["char_gru"]().eval(), some_batch()
    sizes = count_composed(part)
    with torch.no_grad():
        torch.testing.assert_close(part(batch).values, part(batch).values)
    assert sizes == [12, 6]  # 10, 17 and 30 three times; and 9, whose place stands for all of them


def test_a_bank_spells_what_its_tokenizer_reads() -> None:
    tokenizer, texts = (
        CharacterTokenizer(word_length=8),
        ["犬がボールで遊ぶ。", "Ein Mädchen klettert", "кіт"],
    )
    tokenizer.fit(texts, ["ja", "de", "uk"])
    bank = TokenBank(
        tokenizer=tokenizer,
        texts=texts,
        langs=["ja", "de", "uk"],
        languages=["de", "ja", "uk"],
        device=torch.device("cpu"),
    )
    part = CharacterGRU(vocabulary=tokenizer.vocabulary, letter_dim=3, dim=4).eval()
    both = part(bank.batch(np.array([0, 1])))
    words = ["ein", "mädchen", "klettert"]
    for column, word in enumerate(words, start=1):
        letters = torch.from_numpy(tokenizer.alphabet.spell([word], 8))
        torch.testing.assert_close(
            both.values[1, column], part.compose(SpelledWords(torch.tensor([9]), letters))[0]
        )
    assert both.mask.sum(dim=1).tolist() == [7, 5]


@each_part
def test_saved_weights_load_strictly(name: str) -> None:
    part, batch = MAKERS[name](), some_batch()
    part.train()(batch)  # running statistics of its own
    again, twin = MAKERS[name]().eval(), copy.deepcopy(part).eval()
    again.load_state_dict(part.state_dict(), strict=True)
    expected = part.eval()(batch).values
    assert torch.equal(again(batch).values, expected)
    assert torch.equal(twin(batch).values, expected)
    with torch.no_grad():
        next(twin.parameters()).add_(1.0)
    assert torch.equal(part(batch).values, expected)


@each_part
def test_a_tokenizer_that_does_not_spell_is_refused(name: str) -> None:
    words = WordTokenizer(min_count=1)
    words.fit(["a"], ["en"])
    options = {"dim": 4, "buckets": 8} if name == "ngrams" else {"dim": 4}
    with pytest.raises(UserError, match="use the tokenizer characters"):
        WORDS.get(name)(vocabulary=words.vocabulary, **options)
    with pytest.raises(ValueError, match="no spelled words"):
        MAKERS[name]()(TextBatch(torch.ones(1, 1, dtype=torch.int64), torch.ones(1, 1, dtype=torch.bool)))


def problems(**options: object) -> list[str]:
    values = {"text": {"words": Part(name="liwe", **options).model_dump()}}
    return part_problems("text.words", values, WORDS, provided=("vocabulary",))


def test_options_of_a_recipe_are_checked() -> None:
    assert problems(letter_dim=120, layers=[384, 448], dim=300) == []
    assert problems(layers=[]) == []
    assert "greater than 0" in problems(layers=[384, 0])[0]
    assert "unknown key" in problems(depth=3)[0]


def test_liwe_follows_its_equations() -> None:
    part = CharacterMLP(vocabulary=LETTERS, letter_dim=3, layers=[7, 6], dim=4).train()
    words, weights = some_words(), dict(part.named_parameters())
    table = weights["letters.weight"]
    rows = [[table[c] if c else torch.zeros(3) for c in row] for row in words.letters.tolist()]
    values = torch.stack([torch.cat(row) for row in rows])[:10]  # without the filling
    for place in range(3):
        gain, direction = (
            weights[f"layers.{place}.linear.parametrizations.weight.original{n}"] for n in (0, 1)
        )
        values = values @ (gain * direction / direction.norm(dim=1, keepdim=True)).T
        counted = values[2:]  # neither padding nor unknown
        values = (values - counted.mean(0)) / (counted.var(0, unbiased=False) + 1e-5).sqrt()
        values = values * weights[f"layers.{place}.norm.weight"] + weights[f"layers.{place}.norm.bias"]
        values = torch.where(values > 0, values, 0.1 * values)
    found = part.compose(words)[:10]
    torch.testing.assert_close(found, values, rtol=1e-4, atol=1e-5)
    wanted = torch.autograd.grad(values.square().sum(), list(weights.values()))
    got = torch.autograd.grad(found.square().sum(), list(weights.values()))
    for key, one, other in zip(weights, got, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-3, msg=key)


@pytest.mark.parametrize(
    ("layers", "millions", "reduction"),
    [
        ((128, 256), 0.2, 46),
        ((128, 384), 0.2, 36),
        ((256, 256), 0.3, 29),
        ((128, 512), 0.3, 29),
        ((384, 384), 0.5, 18),
        ((512, 512), 0.7, 12),
        ((1024, 512), 1.3, 7),
    ],
)
def test_sizes_of_table_1(layers: tuple[int, int], millions: float, reduction: int) -> None:
    """LIWE supplementary, Table 1: parameters, and how often they go into the 9.0 M (rounded) of a word table."""
    paper = Vocabulary(0, PAD, MASK, (0, 1, 2, 3, 4), letters=101, word_length=26, marks=101)
    count = sum(each.numel() for each in CharacterMLP(vocabulary=paper, layers=layers).parameters())
    assert round(count / 1e6, 1) == millions
    assert abs(9.0e6 / count - reduction) < 1


def test_size_of_the_gru_in_table_1() -> None:
    paper = Vocabulary(0, PAD, MASK, (0, 1, 2, 3, 4), letters=101, word_length=26, marks=101)
    count = sum(each.numel() for each in CharacterGRU(vocabulary=paper).parameters())
    assert round(count / 1e6, 1) == 0.3
    assert round(9.0e6 / count) == 30


def test_a_word_is_the_state_behind_its_last_letter() -> None:
    part = CharacterGRU(vocabulary=LETTERS, letter_dim=3, dim=4).eval()
    words = some_words()
    found = part.compose(words)
    for row, letters in enumerate(words.letters.tolist()):
        known = [letter for letter in letters if letter]
        expected = torch.zeros(4)
        if known:
            expected = part.gru.ahead(part.letters(torch.tensor([known])))[0][0, -1]
        torch.testing.assert_close(found[row], expected)


@pytest.mark.parametrize(
    ("shortest", "longest", "buckets"), [(1, 3, 50), (2, 5, 1000), (3, 3, 7), (7, 7, 100)]
)
def test_ngrams_are_those_of_a_naive_loop(shortest: int, longest: int, buckets: int) -> None:
    part = HashedNgrams(vocabulary=LETTERS, dim=4, buckets=buckets, shortest=shortest, longest=longest)
    words = some_words()
    found = part.compose(words)
    for row, letters in enumerate(words.letters.tolist()):
        known = [letter for letter in letters if letter]
        if not known:
            assert found[row].tolist() == [0] * 4
            continue
        marked = [LETTERS.letters, *known, LETTERS.letters + 1]
        grams = [(1, marked)]
        for size in range(shortest, longest + 1):
            grams += [(0, marked[at : at + size]) for at in range(len(marked) - size + 1)]
        rows = [
            sum(letter * BASE ** (at + first) for at, letter in enumerate(gram)) % PRIME % buckets
            for first, gram in grams
        ]
        expected = part.table.weight[rows].sum(0) / len(rows) ** 0.5
        torch.testing.assert_close(found[row], expected)


def test_the_spread_of_a_word_does_not_depend_on_its_length() -> None:
    torch.manual_seed(0)
    part = HashedNgrams(vocabulary=LETTERS, dim=400, buckets=100_000)
    spreads = part.compose(some_words(0)).detach().std(dim=1)[1:]
    assert all(float(spread) == pytest.approx(0.2 / 12**0.5, rel=0.2) for spread in spreads)


def test_ngrams_of_many_words_spread_over_the_buckets() -> None:
    """Hashes collide about as often as random ones: 20,000 pairs of letters into 10,000 buckets."""
    plain = Vocabulary(0, PAD, MASK, (0, 1, 2, 3, 4), letters=205, word_length=2, marks=205)
    part = HashedNgrams(vocabulary=plain, dim=1, buckets=10_000, shortest=2, longest=2)
    pairs = torch.cartesian_prod(torch.arange(5, 205), torch.arange(5, 105))
    inside = torch.ones(len(pairs), 1, dtype=torch.bool)
    used = set(part._hash(pairs.unsqueeze(1), part.powers[:2], inside).flatten().tolist())
    assert len(used) > 0.97 * 10_000 * (1 - np.exp(-2))


@pytest.mark.parametrize(("shortest", "longest"), [(4, 3), (2, 8)])
def test_impossible_ngrams_are_refused(shortest: int, longest: int) -> None:
    with pytest.raises(UserError, match="shortest <= longest <= 7"):
        HashedNgrams(vocabulary=LETTERS, dim=4, buckets=50, shortest=shortest, longest=longest)

"""Pre-training of words: the pairs in its batches, its notes, a latent vocabulary that does not collapse."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import nn

from lingvis.errors import UserError
from lingvis.objectives.top_triplet import TopTriplet
from lingvis.text.bank import TokenBank
from lingvis.text.tokenizers.base import Vocabulary
from lingvis.text.tokenizers.language_words import LanguageWordTokenizer
from lingvis.text.words.latent import Assignment, LatentAttention
from lingvis.text.words.universal import UniversalWords
from lingvis.training.loop.watch import Loss
from lingvis.training.pretraining import (
    LatentPretraining,
    PretrainingData,
    UniversalPretraining,
    WordPretraining,
)
from lingvis.training.shared_tokens import shared_tokens
from lingvis.training.word_recall import HeldOutSentences
from lingvis.types import Clock, TextBatch, Tokens

from ..training.tables import make_table
from .word_pretraining import pretrain_on


def captions(out: Path, langs: Sequence[str], *, each: int, pictures: int = 64) -> PretrainingData:
    """Every picture has `each` captions per language: two words, one of which names the picture."""
    texts, groups = [], []
    for picture in range(pictures):
        for lang in langs:
            for number in range(each):
                texts.append(f"{lang}word{picture} {'abc'[number]}")
                groups.append(picture)
    spoken = [lang for _ in range(pictures) for lang in langs for _ in range(each)]
    tokenizer = LanguageWordTokenizer(min_count=1)
    tokenizer.fit(texts, spoken)
    device = torch.device("cpu")
    bank = TokenBank(tokenizer=tokenizer, texts=texts, langs=spoken, languages=langs, device=device)
    vectors = np.random.default_rng(0).normal(size=(tokenizer.vocabulary.size, 6)).astype(np.float32)
    table = make_table(np.array(groups), bank.langs, bank.rows.lengths, pictures)
    return PretrainingData(
        bank=bank,
        held_out=lambda: HeldOutSentences(bank, np.array(groups)),
        vocabulary=tokenizer.vocabulary,
        table=table,
        vectors=vectors,
        dim=5,
        seed=0,
        device=device,
        log=out / "pretraining.jsonl",
    )


def universal(of: PretrainingData) -> UniversalWords:
    torch.manual_seed(0)
    return UniversalWords(vocabulary=of.vocabulary, vectors=of.vectors, vector_dim=6, dim=5)


def latent(*, among: int = 3) -> LatentPretraining:
    return LatentPretraining(tokens=9, explore=0.2, among=among, epochs=2, lr=1e-3)


def test_batches_have_pairs_of_one_language_and_across(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    seen: list[tuple[TextBatch, torch.Tensor]] = []
    loss = WordPretraining.loss

    def look(task: WordPretraining, rows: NDArray[np.int64], clock: Clock) -> Loss:
        seen.append(task._read(rows))
        return loss(task, rows, clock)

    monkeypatch.setattr(WordPretraining, "loss", look)
    given = captions(tmp_path, ["en", "de", "fr"], each=3)
    UniversalPretraining(epochs=2, lr=0.1).warm_up(universal(given), given)
    assert len(seen) == 8  # two epochs of two passes, since there are three languages
    pairs = Counter(frozenset(lang for lang, _ in batch.runs) for batch, _ in seen)
    assert len(pairs) > 1 and all(len(pair) == 2 for pair in pairs)  # all pictures of a batch in the same two
    for batch, groups in seen:
        spoken = [lang for lang, count in batch.runs for _ in range(count)]
        counts = Counter(zip(groups.tolist(), spoken, strict=True))
        assert set(counts.values()) == {2}
        assert set(Counter(group for group, _ in counts).values()) == {2}
        assert len({group for group, _ in counts}) == 32


@pytest.mark.parametrize(("languages", "steps"), [(1, 2), (2, 2), (5, 6), (10, 10)])
def test_an_epoch_grows_with_the_languages(
    languages: int, steps: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    seen: list[int] = []
    loss = WordPretraining.loss

    def count(task: WordPretraining, rows: NDArray[np.int64], clock: Clock) -> Loss:
        seen.append(clock.step)
        return loss(task, rows, clock)

    monkeypatch.setattr(WordPretraining, "loss", count)
    given = captions(
        tmp_path, ["en", "de", "fr", "cs", "pt", "zh", "ar", "ug", "bo", "mn"][:languages], each=2
    )
    UniversalPretraining(epochs=1, lr=0.1).warm_up(universal(given), given)
    assert len(seen) == steps  # two batches of 32 of the 64 pictures, for every two languages


def test_one_language_is_enough_when_pictures_have_two_captions(tmp_path: Path) -> None:
    given = captions(tmp_path, ["en"], each=2)
    words = universal(given)
    UniversalPretraining(epochs=1, lr=0.1).warm_up(words, given)
    learnt, start = words.state_dict(), universal(given).state_dict()
    layer = "space.project.layers.0.weight"
    assert not torch.equal(learnt[layer], start[layer])
    assert torch.equal(learnt["space.vectors"], start["space.vectors"])


def test_without_a_pair_there_is_nothing_to_learn(tmp_path: Path) -> None:
    given = captions(tmp_path, ["en"], each=1)
    with pytest.raises(UserError, match=r"every picture has only one; give more captions, or more languages"):
        UniversalPretraining(epochs=1, lr=0.1).warm_up(universal(given), given)
    with pytest.raises(UserError, match="every picture has only one"):
        latent().assign(given)


class Shuffled(nn.Module):
    """A word part whose vectors of sentence n are a given row: words are numbered by their picture."""

    def __init__(self, emb: torch.Tensor) -> None:
        super().__init__()
        self.emb = emb

    def forward(self, batch: TextBatch) -> Tokens:
        # The third token is the second word, "a"; the first word names the picture and language.
        return Tokens(self.emb[batch.ids[:, 1:2]], torch.ones(len(batch.ids), 1, dtype=torch.bool))


def test_recall_across_languages_equals_a_naive_loop(tmp_path: Path) -> None:
    given = captions(tmp_path, ["en", "de", "fr"], each=2, pictures=30)
    emb = torch.randn(given.vocabulary.size, 3, generator=torch.Generator().manual_seed(1))
    emb = torch.nn.functional.normalize(emb, dim=1)
    held_out = given.held_out()
    hits = []
    ids = [given.bank.batch(np.array([row])).ids[0, 1] for row in range(len(held_out.groups))]
    for one in range(3):
        for other in range(3):
            for picture in range(30) if one != other else ():
                query = emb[ids[picture * 6 + one * 2]]
                scores = [float(query @ emb[ids[each * 6 + other * 2]]) for each in range(30)]
                hits.append(sum(score > scores[picture] for score in scores) < 10)
    assert 0.2 < np.mean(hits) < 0.6
    assert held_out.recall(Shuffled(emb)) == pytest.approx(100 * np.mean(hits))
    assert captions(tmp_path, ["en"], each=2).held_out().recall(Shuffled(emb)) is None


def test_the_best_epoch_is_kept_and_every_epoch_is_logged(tmp_path: Path) -> None:
    given = captions(tmp_path, ["en", "de"], each=2)
    words = universal(given)
    UniversalPretraining(epochs=4, lr=0.05).warm_up(words, given)
    start, *log = [json.loads(line) for line in given.log.read_text().splitlines()]
    assert start == {"epoch": 0, "R@10": pytest.approx(given.held_out().recall(universal(given)))}
    assert [line["epoch"] for line in log] == [1, 2, 3, 4]
    assert all(line["blind"] == pytest.approx(0.1) and line["loss"] > 0 for line in log)
    assert given.held_out().recall(words) == pytest.approx(max(line["R@10"] for line in log))


def test_a_start_that_is_better_than_every_epoch_is_kept(tmp_path: Path) -> None:
    given = captions(tmp_path, ["en", "de"], each=2)
    words = universal(given)
    # Translations have one vector and one layer: nothing can be better.
    english, german = words.space.vectors.data.chunk(2)
    german.copy_(english)
    layers = words.space.project.layers  # type: ignore[union-attr]
    layers[1].load_state_dict(layers[0].state_dict())
    wanted = {name: value.clone() for name, value in words.state_dict().items()}
    assert given.held_out().recall(words) == 100
    UniversalPretraining(epochs=2, lr=10.0).warm_up(words, given)
    assert json.loads(given.log.read_text().splitlines()[0])["R@10"] == 100
    assert all(torch.equal(value, wanted[name]) for name, value in words.state_dict().items())


def test_the_number_of_used_tokens_is_reported(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    found = latent().assign(captions(tmp_path, ["en", "de"], each=2, pictures=20))
    assert found is not None
    used = len(set(found.token_of[5:].tolist()))
    words, shared = capsys.readouterr().err.splitlines()[-2:]
    assert words == f"note: {used} of 9 latent tokens are used by {2 * (20 + 2)} words"
    *epochs, last = [json.loads(line) for line in (tmp_path / "pretraining.jsonl").read_text().splitlines()]
    assert [line["epoch"] for line in epochs] == [0, 1, 2]
    assert last == {"tokens": 9, "used": used, "shared": last["shared"]}
    assert shared == f"note: {last['shared']:.1f} % of translations share a token"


def test_translations_that_share_a_token_are_counted() -> None:
    """Five words with a translation into two languages, two of them in every sentence."""
    texts, spoken, groups = [], [], []
    for picture, (one, other) in enumerate(combinations(range(5), 2)):
        for lang in ("en", "de", "fr"):
            texts.append(f"{lang}{'abcde'[one]} {lang}{'abcde'[other]}")
            spoken.append(lang)
            groups.append(picture)

    def held_out(first: int) -> HeldOutSentences:
        bank = TokenBank(
            tokenizer=tokenizer,
            texts=texts[:first],
            langs=spoken[:first],
            languages=["en", "de", "fr"],
            device=torch.device("cpu"),
        )
        return HeldOutSentences(bank, np.array(groups[:first]))

    tokenizer = LanguageWordTokenizer(min_count=1)
    tokenizer.fit(texts, spoken)
    words = tokenizer.vocabulary.own_words
    token_of = torch.arange(tokenizer.vocabulary.size)
    assignment = Assignment(token_of, torch.zeros(1, 2))
    assert shared_tokens(assignment, held_out(len(texts)), 5) == 0
    for word, translation in (("dec", "enc"), ("fra", "ena"), ("frb", "ena"), ("fre", "ene")):
        token_of[5 + words.index(word)] = 5 + words.index(translation)
    # One of five German words and two of five French ones; "frb" is no translation of "ena".
    assert shared_tokens(assignment, held_out(len(texts)), 5) == pytest.approx(30)
    assert shared_tokens(assignment, held_out(1), 5) is None


def test_more_choices_than_tokens_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="among = 10 of latent = 9"):
        latent(among=10).assign(captions(tmp_path, ["en"], each=2, pictures=4))


def test_the_latent_vocabulary_does_not_collapse() -> None:
    """400 words of two languages, 200 tokens: the loss falls, and most tokens still stand for words.

    Scores of a plain linear layer leave less than a fifth of the tokens.
    """
    generator = np.random.default_rng(0)
    vocabulary = Vocabulary(
        size=405,
        pad=0,
        mask=4,
        special=(0, 1, 2, 3, 4),
        languages=("en", "de"),
        blocks=((5, 205), (205, 405)),
    )
    vectors = generator.normal(size=(405, 24)).astype(np.float32)

    def step() -> tuple[TextBatch, torch.Tensor]:
        meanings = np.sort(generator.integers(200, size=(32, 4)))  # the same words in both languages
        ids = torch.from_numpy(np.concatenate([5 + meanings, 205 + meanings]))
        batch = TextBatch(ids, torch.ones_like(ids, dtype=torch.bool), ((0, 32), (1, 32)))
        return batch, torch.arange(32).repeat(2)

    torch.manual_seed(0)
    part = LatentAttention(vocabulary=vocabulary, vectors=vectors, latent=200, dim=16, explore=0.2, among=20)
    batches = [step() for _ in range(150)]
    losses = pretrain_on(part, batches, objective=TopTriplet(margin=0.05, hardest=10), lr=5e-3)
    used = part.eval().assignment().used(len(vocabulary.special))
    assert np.mean(losses[-10:]) < 0.4 * np.mean(losses[:10])
    assert used > 130


class Fixed(nn.Module):
    """A word part whose vectors are the ids themselves."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(()))

    def forward(self, batch: TextBatch) -> Tokens:
        return Tokens(self.weight * batch.ids.unsqueeze(-1).float(), batch.mask)


def test_equal_sentences_about_different_pictures_are_no_negatives() -> None:
    seen: list[tuple[torch.Tensor, torch.Tensor]] = []

    def objective(scores: torch.Tensor, positives: torch.Tensor) -> torch.Tensor:
        seen.append((scores.detach(), positives))
        return scores.masked_fill(scores.isinf(), 0.0).sum()

    ids = torch.tensor([[2, 7, 3], [2, 7, 3], [2, 8, 3], [7, 2, 3]])
    batch = TextBatch(ids, torch.ones(4, 3, dtype=torch.bool), ((0, 4),))
    groups = torch.tensor([0, 0, 1, 2])  # the last sentence has the words of the first picture
    task = WordPretraining(Fixed(), read=lambda rows: (batch, groups), objective=objective)
    task.loss(np.array([0]), Clock())
    ((scores, positives),) = seen
    assert positives.nonzero().tolist() == [[0, 1], [1, 0]]
    without = {(n, n) for n in range(4)} | {(0, 3), (3, 0), (1, 3), (3, 1)}
    assert {tuple(place) for place in scores.isinf().nonzero().tolist()} == without


def test_pretraining_ends_when_recall_falls(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    recalls = iter([10.0, 30.0, 29.0, 30.0, 28.0, 27.0, 50.0])
    monkeypatch.setattr(HeldOutSentences, "recall", lambda self, words: next(recalls))
    given = captions(tmp_path, ["en", "de"], each=2)
    words = universal(given)
    UniversalPretraining(epochs=9, lr=0.1).warm_up(words, given)
    lines = [json.loads(line) for line in given.log.read_text().splitlines()]
    assert [line["R@10"] for line in lines] == [10.0, 30.0, 29.0, 30.0, 28.0, 27.0]

"""A dictionary from parallel sentences: IBM model 1 beside a loop, and corpora with a known answer."""

from __future__ import annotations

import json
import random
import shutil
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest

from lingvis.data.dataset import Dataset
from lingvis.errors import UserError
from lingvis.text.alignment import induce_dictionary, parallel_words
from lingvis.text.alignment.induction import expectation, link, maximisation

SENTENCES = [
    (["das", "haus"], ["the", "house"]),
    (["das", "buch", "das"], ["the", "book", "book"]),
    (["ein", "buch"], ["a", "book"]),
    (["haus"], ["the", "the", "house"]),
]
NONE = ""


def naive_model_1(
    sentences: list[tuple[list[str], list[str]]], iterations: int
) -> dict[tuple[str, str], float]:
    """Brown et al. 1993, sec. 4.1, token by token; NONE is a word of each source sentence."""
    likely: dict[tuple[str, str], float] = defaultdict(lambda: 1.0)
    for _ in range(iterations):
        expected: dict[tuple[str, str], float] = defaultdict(float)
        for source, target in sentences:
            for f in target:
                total = sum(likely[e, f] for e in [NONE, *source])
                for e in [NONE, *source]:
                    expected[e, f] += likely[e, f] / total
        totals: dict[str, float] = defaultdict(float)
        for (e, _), value in expected.items():
            totals[e] += value
        likely = defaultdict(float, {(e, f): value / totals[e] for (e, f), value in expected.items()})
    return dict(likely)


@pytest.mark.parametrize("iterations", [1, 4])
def test_an_iteration_is_that_of_a_loop(iterations: int) -> None:
    numbers: list[dict[str, int]] = [{NONE: 0}, {}]
    bags = []
    for pair in SENTENCES:
        bag = []
        for side, words in enumerate(pair):
            counts = Counter(words)
            for word in counts:
                numbers[side].setdefault(word, len(numbers[side]))
            values = np.array([numbers[side][word] for word in counts])
            bag.append((values, np.array(list(counts.values()), dtype=np.float32)))
        bags.append((bag[0], bag[1]))
    links = link(bags)
    likely = np.ones(len(links.words))
    for _ in range(iterations):
        likely = maximisation(links, expectation(links, likely))
    expected = naive_model_1(SENTENCES, iterations)
    assert len(links.words) == len(expected)
    source, target = ({number: word for word, number in side.items()} for side in numbers)
    for (one, other), value in zip(links.words.tolist(), likely, strict=True):
        assert value == pytest.approx(expected[source[one], target[other]], rel=1e-5)


def test_a_known_dictionary_is_found() -> None:
    # Sentences of an invented language: words turned round, in any order, with a word that means nothing.
    chance = random.Random(0)
    words = [f"{first}{second}o" for first in "bdfgk" for second in "aeiu"]
    sentences = []
    for _ in range(300):
        chosen = chance.sample(words, 4)
        turned = [word[::-1] for word in chosen] + ["um"] * 2
        chance.shuffle(turned)
        sentences.append((chosen, turned))
    assert induce_dictionary(sentences) == {word: (word[::-1],) for word in words}


def test_rare_and_empty_sentences_prove_nothing() -> None:
    pair = (["hund"], ["dog"])
    assert induce_dictionary([pair]) == {}
    assert induce_dictionary([pair] * 9) == {"hund": ("dog",)}
    assert induce_dictionary([pair] * 9, evidence=9) == {}
    assert induce_dictionary([([], ["dog"]), (["hund"], [])]) == {}
    assert induce_dictionary([]) == {}


def test_only_words_that_choose_each_other_are_kept() -> None:
    sentences = [(["hund"], ["dog"])] * 9 + [(["köter"], ["dog"])] * 4
    assert induce_dictionary(sentences) == {"hund": ("dog",)}


def test_pairs_of_a_dataset(toy_dataset: Path, tmp_path: Path) -> None:
    folder = tmp_path / "toy"
    shutil.copytree(toy_dataset, folder)
    captions = folder / "captions.jsonl"
    rows = [json.loads(line) for line in captions.read_text(encoding="utf-8").splitlines()]
    images = iter([row["image"] for row in rows])
    kept = [
        {"split": "train", "captions": {"en": ["A dog.", "Big dog"], "de": ["Ein Hund"]}},
        {
            "split": "train",
            "captions": {"en": ["no"], "de": ["nein"]},
            "parallel": {"en": "Run!", "de": "Lauf!"},
        },
        {"split": "train", "captions": {"en": ["alone"], "fr": ["seul"]}, "parallel": {"de": "Nur so"}},
        {"split": "val", "captions": {"en": ["secret"], "de": ["geheim"]}},
    ]
    lines = [json.dumps({"image": next(images), **row}) + "\n" for row in kept]
    captions.write_text("".join(lines), encoding="utf-8")
    text = {"id": "1", "captions": {"en": ["left out"]}, "parallel": {"en": "A cat", "de": "Eine Katze"}}
    (folder / "text-only.jsonl").write_text(json.dumps(text) + "\n", encoding="utf-8")
    dataset = Dataset.open(folder)
    assert parallel_words(dataset, "de", "en") == [
        (["ein", "hund"], ["a", "dog", "big", "dog"]),
        (["lauf"], ["run"]),
        (["eine", "katze"], ["a", "cat"]),
    ]
    assert parallel_words(dataset, "fr", "en") == [(["seul"], ["alone"])]
    with pytest.raises(UserError, match="sentences in both fr and de; it has sentences in: de, en, fr"):
        parallel_words(dataset, "fr", "de")

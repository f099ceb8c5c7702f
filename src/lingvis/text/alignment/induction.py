"""A dictionary from sentences and their translations, for languages that have none: IBM model 1."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lingvis.arrays import Floats, Ints

NONE = 0  # the empty source word, which generates target words without a counterpart
ITERATIONS = 10


@dataclass(frozen=True, slots=True)
class Links:
    """One link for every target word of every sentence and every source word of its translation.

    A slot is a distinct target word of one sentence; an entry is a distinct pair of a source and a target word.
    slot: int64 [links], the slot of each link; entry: int64 [links], its row in `words`; weight: float32 [links],
    how often the source word occurs in the sentence; times: float32 [slots], how often the target word does;
    words: int64 [entries, 2], source and target word of each entry, 0 is NONE.
    """

    slot: Ints
    entry: Ints
    weight: Floats
    times: Floats
    words: Ints


def induce_dictionary(
    sentences: Iterable[tuple[Sequence[str], Sequence[str]]], *, evidence: float = 2.0
) -> dict[str, tuple[str, ...]]:
    """Word -> its translation, from pairs of word lists that are translations of one another.

    IBM model 1 (Brown et al. 1993, sec. 4.1) in both directions; a pair is kept when each word is the other's most
    likely translation and each direction expects the pair at least `evidence` times: one sentence is not enough.
    """
    bags = [(Counter(one), Counter(other)) for one, other in sentences if one and other]
    sources, source_number = _numbered(bag for bag, _ in bags)
    targets, target_number = _numbered(bag for _, bag in bags)
    if not bags:
        return {}
    numbered = [(_counted(one, source_number), _counted(other, target_number)) for one, other in bags]
    forth = _best(numbered, evidence)
    back = _best([(other, one) for one, other in numbered], evidence)
    chosen = [(one, other) for one, other in forth.items() if back.get(other) == one]
    return {sources[one]: (targets[other],) for one, other in sorted(chosen)}


def expectation(links: Links, likely: NDArray[np.float64]) -> NDArray[np.float64]:
    """Expected count of each entry when source word e generates target word f with likely[entry] ~ t(f|e)."""
    share = links.weight * likely[links.entry]
    whole = _summed(links.slot, share, len(links.times))
    share *= (links.times / whole)[links.slot]
    return _summed(links.entry, share, len(links.words))


def maximisation(links: Links, expected: NDArray[np.float64]) -> NDArray[np.float64]:
    """t(f|e) of each entry: its share of the expected counts of its source word."""
    sources = links.words[:, 0]
    total = _summed(sources, expected, int(sources.max()) + 1)
    return expected / np.maximum(total[sources], np.finfo(np.float64).tiny)


def _summed(places: Ints, values: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    return np.bincount(places, weights=values, minlength=count).astype(np.float64, copy=False)


Bag = tuple[Ints, Floats]  # distinct words of a sentence, and how often each occurs


def link(bags: Sequence[tuple[Bag, Bag]]) -> Links:
    """All links of numbered sentences, source and target."""
    sources = [np.concatenate([[NONE], words]) for (words, _), _ in bags]
    weights = [np.concatenate([[1], counts]) for (_, counts), _ in bags]
    sizes = np.array([len(words) for words in sources])
    slots = np.array([len(words) for _, (words, _) in bags])
    starts = np.concatenate([[0], sizes.cumsum()[:-1]])
    # Each slot is linked to all source words of its sentence: a consecutive range from `first` on.
    length = np.repeat(sizes, slots)
    slot = np.repeat(np.arange(len(length)), length)
    first = np.repeat(np.repeat(starts, slots), length)
    within = np.arange(len(slot)) - np.repeat(length.cumsum() - length, length)
    source = np.concatenate(sources)[first + within]
    target = np.concatenate([words for _, (words, _) in bags])[slot]
    width = int(target.max()) + 1
    codes, entry = np.unique(source * width + target, return_inverse=True)
    return Links(
        slot=slot,
        entry=entry.reshape(-1),
        weight=np.concatenate(weights).astype(np.float32)[first + within],
        times=np.concatenate([counts for _, (_, counts) in bags]),
        words=np.stack([codes // width, codes % width], axis=1),
    )


def _best(bags: Sequence[tuple[Bag, Bag]], evidence: float) -> dict[int, int]:
    """The most likely target word of each source word, among pairs that are expected often enough."""
    links = link(bags)
    likely = np.full(len(links.words), 1.0)  # equal values: the first expectation shares evenly
    for _ in range(ITERATIONS):
        expected = expectation(links, likely)
        likely = maximisation(links, expected)
    kept = (expected >= evidence) & (links.words[:, 0] != NONE)
    order = np.argsort(likely[kept], kind="stable")  # the most likely is written last
    return dict(links.words[kept][order].tolist())


def _numbered(bags: Iterable[Counter[str]]) -> tuple[list[str], dict[str, int]]:
    words = ["", *dict.fromkeys(word for bag in bags for word in bag)]
    return words, {word: number for number, word in enumerate(words) if number != NONE}


def _counted(bag: Counter[str], numbers: dict[str, int]) -> Bag:
    words = np.array([numbers[word] for word in bag], dtype=np.int64)
    return words, np.fromiter(bag.values(), dtype=np.float32, count=len(bag))

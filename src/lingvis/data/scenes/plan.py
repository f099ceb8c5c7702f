"""Which objects appear in which scene, and which split the scene belongs to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

from lingvis.data.rows import Split
from lingvis.data.scenes.vocabulary import SYMBOLS

MOST_OBJECTS = 4
# How many of 20 scenes have 1, 2, 3 and 4 objects. Few have one: there are only as many such scenes as objects.
OBJECT_COUNTS = (1, 7, 7, 5)
# Below this a split would be empty.
FEWEST_SCENES = 10


@dataclass(frozen=True, slots=True)
class ScenePlan:
    """One scene before it is drawn; objects: in the order of the parallel sentences."""

    number: int
    split: Split
    objects: tuple[str, ...]

    @property
    def image(self) -> str:
        """The picture's name."""
        return f"{self.number:06d}.jpg"


def plan_scenes(scenes: int, seed: int) -> list[ScenePlan]:
    """Plans of `scenes` scenes, 80 % train, 10 % val, 10 % test; no set of objects occurs twice, in any split.

    val and test contain only objects that train contains too.
    """
    held_out = scenes // 10
    random = Random(f"scenes/{seed}")
    used: set[frozenset[str]] = set()
    train = list(_hands(scenes - 2 * held_out, SYMBOLS, used, random))
    seen = list(dict.fromkeys(symbol for hand in train for symbol in hand))
    splits: tuple[tuple[Split, Iterable[tuple[str, ...]]], ...] = (
        ("train", train),
        ("val", _hands(held_out, seen, used, random)),
        ("test", _hands(held_out, seen, used, random)),
    )
    dealt = [(split, hand) for split, hands in splits for hand in hands]
    return [ScenePlan(number, split, hand) for number, (split, hand) in enumerate(dealt)]


def _hands(
    count: int, symbols: Sequence[str], used: set[frozenset[str]], random: Random
) -> Iterator[tuple[str, ...]]:
    """Deal `count` sets of objects that are not in `used`, every object about equally often."""
    deck = _deck(symbols, random)
    for _ in range(count):
        size = random.choices(range(1, MOST_OBJECTS + 1), OBJECT_COUNTS)[0]
        hand: list[str] = []
        # A set that is already used gets one more object, and is dealt again when it is full.
        while len(hand) < size or frozenset(hand) in used:
            if len(hand) == MOST_OBJECTS:
                hand.clear()
            hand.append(_draw(deck, hand))
        used.add(frozenset(hand))
        yield tuple(hand)


def _draw(deck: Iterable[str], hand: Sequence[str]) -> str:
    return next(symbol for symbol in deck if symbol not in hand)


def _deck(symbols: Sequence[str], random: Random) -> Iterator[str]:
    """All objects in random order, again and again."""
    while True:
        yield from random.sample(symbols, len(symbols))

"""The names of the objects in each language, and how each language joins a list."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import permutations
from random import Random

from lingvis.data.scenes.extras import extra
from lingvis.data.scenes.vocabulary import SYMBOLS

LANGUAGES = ("en", "es", "ja", "ko", "pt", "it", "fr", "de", "fa", "id", "zh", "ru", "tr", "ar")


@dataclass(frozen=True, slots=True)
class Speaker:
    """Describes objects in one language; names: symbol -> name, join: names -> a list in that language."""

    names: dict[str, str]
    join: Callable[[Sequence[str]], str]

    @classmethod
    def of(cls, language: str) -> Speaker:
        """The speaker of `language`, one of LANGUAGES."""
        emoji, babel, lists = extra("emoji"), extra("babel"), extra("babel.lists")
        emoji.config.load_language(language)
        names = {symbol: _readable(emoji.EMOJI_DATA[symbol][language]) for symbol in SYMBOLS}
        return cls(names, partial(lists.format_list, locale=babel.Locale.parse(language)))

    def say(self, symbols: Sequence[str]) -> str:
        """The names of `symbols` in this order, joined as in the language."""
        return self.join([self.names[symbol] for symbol in symbols])

    def describe(self, symbols: Sequence[str], count: int, random: Random) -> tuple[str, ...]:
        """`count` captions: the first names all objects, the others at least half of them, in any order.

        They differ as far as possible: a single object can only be named again.
        """
        everything = tuple(random.sample(symbols, len(symbols)))
        sizes = range(math.ceil(len(symbols) / 2), len(symbols) + 1)
        others = [order for size in sizes for order in permutations(symbols, size) if order != everything]
        random.shuffle(others)
        orders = [everything, *others]
        return tuple(self.say(orders[number % len(orders)]) for number in range(count))


def _readable(name: str) -> str:
    """':high-heeled_shoe:' -> 'high-heeled shoe'."""
    return unicodedata.normalize("NFC", name.strip(":").replace("_", " "))

"""The things a scene can show: single code points, picturable, with a different name in every language.

No flags, no people, no faces, no skin tones; left out are also names that read wrong in one of the languages.
"""

from __future__ import annotations

# The order is part of what a seed means: append, and raise VERSION in make.py when anything here changes.
OBJECTS: dict[str, str] = {
    "animals on land": "🐀🐄🐅🐆🐇🐈🐍🐎🐐🐑🐒🐕🐖🐘🐪🦌🦍🦏🦒🦓🦔🦘🦛",
    "animals in water, in the air, crawling": "🐊🐋🐌🐓🐙🐜🐝🐞🐟🐢🐧🐬🦀🦂🦃🦅🦆🦇🦈🦉🦋🦑🦚🦜🦢🦩",
    "plants": "🌲🌳🌴🌵🌷🌹🌻🍁🍀🍄",
    "food": "🌭🌮🌽🍅🍆🍇🍉🍊🍋🍌🍍🍎🍐🍑🍒🍓🍔🍕🍞🍟🍦🍩🍪🍫🍭🍿🥐🥑🥒🥕🥚🥝🥞🥥🥦🥨🧀🧁🧅🫑🎂",
    "vehicles": "🚀🚁🚂🚌🚑🚒🚕🚗🚜🚢🚲🛴🛶⛵🛸",
    "buildings": "🏠🏭🏰⛪⛺🕌⛲🏥🎡🛖",
    "things": "⌚⏰⚓⚽🎁🎈🎒🎤🎧🎩🎲🎷🎸🎺🏀🏆👑👓👕👗👜👟👠💎💡📅📷📺🔑🔔🔧🔨🔬🚪🛁🛒🥁🧢🧭🧸🧹🪑🪣🫖🔥",
}

SYMBOLS: tuple[str, ...] = tuple(symbol for symbols in OBJECTS.values() for symbol in symbols)

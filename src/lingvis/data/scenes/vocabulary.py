"""The objects of scenes: single code points that can be drawn, with distinct names in every language.

There are no flags, people, faces or skin tones, and no objects whose name is wrong in one of the languages.
"""

from __future__ import annotations

# The scenes of a seed depend on the order: append only, and raise VERSION in make.py when anything here changes.
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

"""Finds an installed font that has the characters of a text."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from PIL import ImageFont


@lru_cache(maxsize=1)
def _fonts() -> tuple[Path, ...]:
    """DejaVu Sans, which matplotlib contains (Latin, Greek, Cyrillic, Arabic), then the fonts of the system."""
    import matplotlib
    from matplotlib.font_manager import findSystemFonts

    first = Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"
    return (first, *sorted(map(Path, findSystemFonts()), key=_plainness))


def _plainness(font: Path) -> tuple[bool, str]:
    """Sort key: regular faces before bold, italic and similar ones."""
    name = font.stem.lower()
    return any(word in name for word in ("bold", "italic", "oblique", "light", "mono", "thin")), name


@lru_cache(maxsize=512)
def _characters(font: Path) -> frozenset[int]:
    """The code points that a font can draw; empty if the file cannot be read."""
    from matplotlib.ft2font import FT2Font

    try:
        return frozenset(FT2Font(str(font)).get_charmap())
    except (OSError, RuntimeError, ValueError):
        return frozenset()


@lru_cache(maxsize=64)
def load(font: Path, size: int) -> ImageFont.FreeTypeFont:
    """The font at a size in pixels."""
    return ImageFont.truetype(str(font), size)


def default() -> Path:
    """The font for labels."""
    return _fonts()[0]


def covering(text: str) -> Path | None:
    """The font that has most characters of the text; None if no font has at least half of them."""
    characters = {ord(character) for character in text if not character.isspace()}
    best, most = None, len(characters) / 2
    for font in _fonts():
        covered = len(characters & _characters(font))
        if covered == len(characters):
            return font
        if covered >= most and (best is None or covered > most):
            best, most = font, covered
    return best

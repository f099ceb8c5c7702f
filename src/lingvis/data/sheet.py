"""Contact sheets: sample pictures of each split with their captions, as one PNG."""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Sequence
from pathlib import Path

from PIL import Image, ImageDraw, ImageOps

from lingvis.data import fonts
from lingvis.data.dataset import Dataset
from lingvis.data.images import decode_upright, open_image
from lingvis.data.rows import SPLITS, Row
from lingvis.errors import UserError
from lingvis.files import atomic_file

TILE = 230  # side of a picture in pixels
GAP = 18
TEXT, LINE, HEADING = 13, 18, 20  # font size and line height of captions, font size of headings
TAG = 34  # width of the column of language codes
LINES = 3  # number of lines of a caption before it is cut
BETWEEN = 4  # space between captions
PAPER, INK, GREY, FRAME, RED = "#ffffff", "#1c1e21", "#6b7280", "#eef0f3", "#b42318"


_Texts = Sequence[tuple[str, Path | None, list[str]]]  # language, its font, the lines of its caption


def contact_sheet(
    dataset: Dataset,
    path: Path | str,
    *,
    rows: int = 2,
    columns: int = 5,
    captions: int = 3,
    languages: Sequence[str] | None = None,
) -> None:
    """Write a PNG with rows x columns sample pictures of each split, each with its first captions.

    A picture has captions in at most `captions` languages, which rotate from tile to tile so that all of them
    appear; `languages` limits them. A picture that cannot be read becomes a marked tile. The
    sample is the same on every call.
    """
    if not dataset.images_dir.is_dir():
        raise UserError(f"{dataset.path} has stored features only and no pictures to show")
    chosen = list(languages or dataset.languages)
    unknown = [lang for lang in chosen if lang not in dataset.languages]
    if unknown:
        raise UserError(
            f"{dataset.path} has no captions in {unknown[0]}; it has: {', '.join(dataset.languages)}"
        )
    draw_random = random.Random(0)
    sections = []
    for split in SPLITS:
        in_split = [row for row in dataset.rows if row.split == split]
        if in_split:
            places = sorted(draw_random.sample(range(len(in_split)), min(rows * columns, len(in_split))))
            label = f"{split}   {len(in_split):,} images"
            sections.append((label, [in_split[place] for place in places]))
    sheet = _Sheet(dataset, chosen, columns, captions)
    image = sheet.draw(sections)
    with atomic_file(Path(path)) as temporary:
        image.save(temporary, format="PNG")


class _Sheet:
    def __init__(self, dataset: Dataset, languages: list[str], columns: int, captions: int) -> None:
        self.dataset, self.languages, self.columns, self.captions = dataset, languages, columns, captions

    def draw(self, sections: Sequence[tuple[str, list[Row]]]) -> Image.Image:
        """All sections, one below the other."""
        bands = [self._band(label, found) for label, found in sections]
        width = GAP + self.columns * (TILE + GAP)
        page = Image.new("RGB", (width, GAP + sum(band.height for band in bands)), PAPER)
        top = GAP
        for band in bands:
            page.paste(band, (0, top))
            top += band.height
        return page

    def _band(self, label: str, found: list[Row]) -> Image.Image:
        """A heading and the tiles of one split; each line of tiles is as high as its longest captions."""
        width = GAP + self.columns * (TILE + GAP)
        texts = [self._captions(row, place) for place, row in enumerate(found)]
        lines = [
            range(start, min(start + self.columns, len(found)))
            for start in range(0, len(found), self.columns)
        ]
        heights = [TILE + 8 + max(_height(texts[place]) for place in line) for line in lines]
        band = Image.new("RGB", (width, HEADING + GAP + sum(heights) + GAP * len(heights)), PAPER)
        canvas = ImageDraw.Draw(band)
        canvas.text((GAP, 0), label, font=fonts.load(fonts.default(), HEADING), fill=INK)
        top = HEADING + GAP
        for line, height in zip(lines, heights, strict=True):
            for column, place in enumerate(line):
                left = GAP + column * (TILE + GAP)
                band.paste(_tile(self.dataset.images_dir / found[place].image), (left, top))
                _write(canvas, left, top + TILE + 8, texts[place])
            top += height + GAP
        return band

    def _captions(self, row: Row, place: int) -> _Texts:
        """The wrapped first captions of a tile, in the languages of its place."""
        available = [lang for lang in self.languages if row.captions.get(lang)]
        start = place * self.captions % len(available) if available else 0
        turn = (available[start:] + available[:start])[: self.captions]
        result = []
        for lang in sorted(turn, key=available.index):
            text = " ".join(row.captions[lang][0].split())
            font = fonts.covering(text)
            shown = text if font else "(no font for this script)"
            result.append((lang, font, _wrap(shown, font or fonts.default())))
        return result


def _height(texts: _Texts) -> int:
    return sum(LINE * len(lines) + BETWEEN for _, _, lines in texts)


def _write(canvas: ImageDraw.ImageDraw, left: int, top: int, texts: _Texts) -> None:
    label = fonts.load(fonts.default(), TEXT - 2)
    for lang, font, lines in texts:
        canvas.text((left, top + LINE - 4), lang, font=label, fill=GREY, anchor="ls")
        face, ink = fonts.load(font or fonts.default(), TEXT), INK if font else GREY
        from_right = _from_right("".join(lines))
        for line in lines:
            # All scripts share one baseline: fonts differ in their height above it.
            x, anchor = (left + TILE, "rs") if from_right else (left + TAG, "ls")
            canvas.text((x, top + LINE - 4), line, font=face, fill=ink, anchor=anchor)
            top += LINE
        top += BETWEEN


def _from_right(text: str) -> bool:
    """Whether the first letter belongs to a script written from right to left."""
    kinds = (unicodedata.bidirectional(character) for character in text)
    return next((kind for kind in kinds if kind in ("L", "R", "AL")), "L") != "L"


def _wrap(text: str, font: Path) -> list[str]:
    """Break at spaces, or anywhere in scripts without spaces, into at most LINES lines of a tile's width."""
    face, room = fonts.load(font, TEXT), TILE - TAG
    lines: list[str] = []
    rest = text
    while rest and len(lines) < LINES:
        fits = len(rest)
        while fits > 1 and face.getlength(rest[:fits]) > room:
            fits -= 1
        if fits < len(rest) and " " in rest[: fits + 1]:
            fits = rest.rindex(" ", 0, fits + 1)
        lines.append(rest[:fits].rstrip())
        rest = rest[fits:].lstrip()
    if rest:
        last = lines[-1]
        while last and face.getlength(last + "…") > room:
            last = last[:-1]
        lines[-1] = last.rstrip() + "…"
    return lines


def _tile(file: Path) -> Image.Image:
    """A picture inside a square, decoded no larger than needed; a marked square if it cannot be read."""
    tile = Image.new("RGB", (TILE, TILE), FRAME)
    try:
        with open_image(file) as opened:
            picture = decode_upright(opened, TILE / max(opened.size))
        picture = ImageOps.contain(picture, (TILE, TILE))
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        canvas = ImageDraw.Draw(tile)
        canvas.rectangle((0, 0, TILE - 1, TILE - 1), outline=RED, width=3)
        canvas.line((0, 0, TILE, TILE), fill=RED, width=3)
        canvas.line((0, TILE, TILE, 0), fill=RED, width=3)
        face = fonts.load(fonts.default(), TEXT)
        canvas.rectangle((20, TILE // 2 - 16, TILE - 20, TILE // 2 + 16), fill=PAPER)
        canvas.text((TILE // 2, TILE // 2), "cannot be read", font=face, fill=RED, anchor="mm")
        return tile
    tile.paste(picture, ((TILE - picture.width) // 2, (TILE - picture.height) // 2))
    return tile

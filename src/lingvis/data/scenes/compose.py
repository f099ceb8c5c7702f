"""Draw one scene: objects of varied size, position and rotation on a background, and their boxes."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from PIL import Image

from lingvis.data.scenes.glyphs import Glyphs

Box = tuple[int, int, int, int]

SIDE = 224
MARGIN = 4
# Range of the longer side of an object in pixels, by the number of objects: large enough for a backbone.
SIDES = {1: (120, 170), 2: (96, 138), 3: (88, 116), 4: (82, 104)}
MOST_TURN = 20.0
# The largest share of the smaller of two boxes that may overlap.
MOST_OVERLAP = 0.05
ARRANGEMENTS = 100
PLACES = 12


def compose(
    symbols: Sequence[str], background: Image.Image, *, glyphs: Glyphs, random: Random
) -> tuple[Image.Image, list[Box]]:
    """Draw `symbols` on a copy of `background`; returns it with tight boxes [x0, y0, x1, y1] of the objects."""
    picture = background.copy()
    placed = place(symbols, glyphs=glyphs, random=random)
    for cut_out, box in placed:
        picture.paste(cut_out, box, cut_out)
    return picture, [box for _, box in placed]


def place(symbols: Sequence[str], *, glyphs: Glyphs, random: Random) -> list[tuple[Image.Image, Box]]:
    """Cut out `symbols` and choose their boxes; returns both for each."""
    sides = [random.uniform(*SIDES[len(symbols)]) for _ in symbols]
    angles = [random.uniform(-MOST_TURN, MOST_TURN) for _ in symbols]
    while True:
        cut_outs = [
            glyphs.cut_out(symbol, side=side, angle=angle)
            for symbol, side, angle in zip(symbols, sides, angles, strict=True)
        ]
        boxes = arrange([cut_out.size for cut_out in cut_outs], random)
        if boxes is not None:
            return list(zip(cut_outs, boxes, strict=True))
        sides = [side * 0.93 for side in sides]


def arrange(sizes: Sequence[tuple[int, int]], random: Random) -> list[Box] | None:
    """Random positions for boxes of these widths and heights; None if no arrangement was found."""
    for _ in range(ARRANGEMENTS):
        boxes: list[Box] = []
        for width, height in sizes:
            for _ in range(PLACES):
                x = random.randint(MARGIN, SIDE - MARGIN - width)
                y = random.randint(MARGIN, SIDE - MARGIN - height)
                box = (x, y, x + width, y + height)
                if all(overlap(box, other) <= MOST_OVERLAP for other in boxes):
                    boxes.append(box)
                    break
            else:
                break
        if len(boxes) == len(sizes):
            return boxes
    return None


def overlap(first: Box, second: Box) -> float:
    """The shared area as a share of the smaller box."""
    width = min(first[2], second[2]) - max(first[0], second[0])
    height = min(first[3], second[3]) - max(first[1], second[1])
    smaller = min(_area(first), _area(second))
    return max(width, 0) * max(height, 0) / smaller


def _area(box: Box) -> int:
    return (box[2] - box[0]) * (box[3] - box[1])

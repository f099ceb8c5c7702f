"""A bar chart of mR as inline SVG, drawn in the colours of the page around it."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from lingvis.evaluation.result import LanguageScores

LEFT, WIDTH, RIGHT = 64, 560, 64
ROW, BAR, TOP = 28, 16, 24


def bar_chart(languages: Mapping[str, LanguageScores]) -> str:
    """One bar per language from 0 to 100, and a line at the score of a random order."""
    height = TOP + ROW * len(languages) + 8
    parts = [
        f'<svg class="chart" viewBox="0 0 {LEFT + WIDTH + RIGHT} {height}" role="img" '
        'aria-label="mR of each language, and of a random order">'
    ]
    for percent in range(0, 101, 20):
        x = LEFT + WIDTH * percent / 100
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{height - 8}"/>')
        parts.append(f'<text class="axis" x="{x:.1f}" y="{TOP - 8}" text-anchor="middle">{percent}</text>')
    for number, (lang, scores) in enumerate(languages.items()):
        parts += _bar(lang, scores.mR, scores.chance, TOP + ROW * number)
    return "\n".join([*parts, "</svg>"])


def _bar(lang: str, value: float, chance: float, y: int) -> list[str]:
    middle, width, at_chance = y + ROW / 2, WIDTH * value / 100, LEFT + WIDTH * chance / 100
    return [
        f'<text class="name" x="{LEFT - 10}" y="{middle + 4.5}" text-anchor="end">{escape(lang)}</text>',
        f'<rect class="bar" x="{LEFT}" y="{middle - BAR / 2}" width="{width:.1f}" height="{BAR}" rx="3">'
        f"<title>{escape(lang)}: mR {value:.1f}, by chance {chance:.1f}</title></rect>",
        f'<line class="chance" x1="{at_chance:.1f}" x2="{at_chance:.1f}" y1="{y + 2}" y2="{y + ROW - 2}"/>',
        f'<text class="value" x="{max(LEFT + width, at_chance) + 8:.1f}" y="{middle + 4.5}">{value:.1f}</text>',
    ]

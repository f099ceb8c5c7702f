"""The suggested pictures on one self-contained page."""

from __future__ import annotations

from html import escape
from pathlib import Path

from lingvis.data.images import thumbnail_uri
from lingvis.files import write_text
from lingvis.suggestion.result import Suggestion, Suggestions

# The page loads nothing from the network, and the browser enforces it.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
STYLE = """:root { color-scheme: light dark; }
body { margin: 0 auto; max-width: 1080px; padding: 24px 20px 64px; font: 15px/1.45 system-ui, sans-serif; }
ol { display: grid; grid-template-columns: repeat(auto-fill, minmax(190px, 1fr)); gap: 18px; padding: 0; }
li { list-style: none; overflow-wrap: anywhere; }
img, .none { display: block; width: 100%; aspect-ratio: 1; object-fit: contain; background: #8882; }
small { display: block; opacity: 0.75; }"""


def write_page(path: Path, suggestions: Suggestions, images: Path) -> None:
    """Write one HTML file with the thumbnails in it; images: the folder of the pictures."""
    tiles = "\n".join(
        _tile(number, picture, images) for number, picture in enumerate(suggestions.pictures, start=1)
    )
    lang = f" in {escape(suggestions.lang)}" if suggestions.lang else ""
    model = f"; uncertainty of {escape(suggestions.model)}" if suggestions.model else ""
    write_text(
        path,
        f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<title>To annotate next in {escape(suggestions.dataset)}</title>
<style>
{STYLE}
</style>
</head>
<body>
<h1>To annotate next in {escape(suggestions.dataset)}</h1>
<p>{len(suggestions.pictures):,} of {suggestions.candidates:,} pictures without captions{lang};
{suggestions.known:,} have some. Features {escape(suggestions.features)}{model}, seed {suggestions.seed}.</p>
<ol>
{tiles}
</ol>
</body>
</html>
""",
    )


def _tile(number: int, suggestion: Suggestion, images: Path) -> str:
    name = escape(suggestion.image)
    return (
        f"<li>{_picture(images / suggestion.image, name)}<b>{number}</b> {name}"
        f"<small>{escape(suggestion.reason)}</small></li>"
    )


def _picture(file: Path, name: str) -> str:
    """The thumbnail, or an empty square if there is no picture file."""
    source = thumbnail_uri(file)
    return '<span class="none"></span>' if source is None else f'<img alt="{name}" src="{source}">'

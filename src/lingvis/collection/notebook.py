"""Hits as HTML for a notebook: thumbnails in the page itself, everything else escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from lingvis.collection.moments import clock
from lingvis.collection.stores.records import Hit
from lingvis.data.images import thumbnail_uri
from lingvis.printing import printable


class Hits(list[Hit]):
    """The hits of a search, best first: a list that a notebook shows as pictures."""

    def _repr_html_(self) -> str:
        return hits_html(self)


def hits_html(hits: Sequence[Hit]) -> str:
    """Figures beside one another: thumbnail, rank, score, file name, and the caption if there is one."""
    figures = "".join(map(_figure, hits)) or "<p>no pictures</p>"
    return f'<div style="display:flex;flex-wrap:wrap;gap:8px">{figures}</div>'


def _figure(hit: Hit) -> str:
    second = hit.info.second
    name = _text(Path(hit.path).name) + (f" @ {clock(second)}" if second is not None else "")
    uri = thumbnail_uri(Path(hit.path)) if second is None else None
    missing = "the file cannot be read" if second is None else "a moment of a video"
    picture = f'<img src="{uri}" alt="{name}">' if uri else f"<p>{missing}</p>"
    caption = f"<br>{_text(hit.info.caption)}" if hit.info.caption else ""
    return (
        f'<figure style="margin:0;width:200px" title="{_text(hit.path)}">{picture}'
        f'<figcaption style="overflow-wrap:anywhere">{hit.rank}. {hit.score:.3f} {name}{caption}</figcaption></figure>'
    )


def _text(text: str) -> str:
    return escape(printable(text))

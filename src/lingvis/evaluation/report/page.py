"""A self-contained page of results: scores, a chart, and example queries with right and wrong answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path

from lingvis.evaluation.report.chart import bar_chart
from lingvis.evaluation.report.examples import Example, ExampleAnswer, Examples, SameQuery
from lingvis.evaluation.report.table import columns, conditions, notes, rows
from lingvis.evaluation.result import LanguageScores, Report
from lingvis.files import write_text

# The page loads nothing from the network, and the browser enforces it.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
ARROWS = {"i2t": "image → text", "t2i": "text → image"}
Thumbnail = Callable[[str], str]


def write_page(path: Path, report: Report, examples: Examples) -> None:
    """Write one HTML file with the thumbnails in it."""

    @cache
    def picture(name: str) -> str:
        return _picture(examples.images / name, name)

    write_text(path, _page(report, examples, picture))


def _page(report: Report, examples: Examples, picture: Thumbnail) -> str:
    queries = examples.queries
    shown = [lang for lang in report.languages if any(query.lang == lang for query in queries)]
    links = "".join(f'<a href="#lang-{escape(lang)}">{escape(lang)}</a>' for lang in shown)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<title>{escape(report.model)} on {escape(report.dataset)}</title>
<style>
{files(__package__).joinpath("page.css").read_text(encoding="utf-8")}</style>
</head>
<body>
<header>
<h1>{escape(report.model)}</h1>
<p class="soft">{escape(conditions(report))}</p>
<ul class="tiles">{_tiles(report)}</ul>
</header>
<h2>Scores</h2>
<p>R@k: queries, in percent, with a right answer among the first k, from images to texts (i2t) and back (t2i);
mR: the mean of the six.
<span class="soft"><span class="key"></span>a random order</span></p>
{bar_chart(report.languages)}
<div class="scroll">{_table(report)}</div>
{"".join(f'<p class="soft">{escape(note)}</p>' for note in notes(report))}
{_same(examples, picture)}<h2>Examples</h2>
<p class="soft">Queries were drawn at random (seed {examples.seed}) before any answer was known, not selected by
result. A green frame with ✓ marks a right answer, a red frame with ✗ a wrong one; the number is the score.</p>
<nav aria-label="languages">{links}</nav>
{"".join(_language(lang, report.languages[lang], queries, picture) for lang in shown)}
<footer><p>Ties: {escape(report.ties)}. Captions file sha256 {escape(report.dataset_sha256)}.
lingvis {escape(report.lingvis)}.</p></footer>
</body>
</html>
"""


def _tiles(report: Report) -> str:
    languages = report.languages
    worst = min(languages, key=lambda lang: languages[lang].mR)
    over = f"mean mR of {len(languages)} languages" if len(languages) > 1 else "mR"
    tiles = [(f"{report.A:.1f}", f"A, {over}")]
    single = (report.single or {}).get("A")
    if single is not None:
        tiles.append((f"{single:.1f}", "A without translations"))
    if report.HA is not None:
        tiles.append((f"{report.HA:.1f}", "HA, the human-annotated ones"))
    if len(languages) > 1:
        tiles.append((f"{languages[worst].mR:.1f}", f"lowest mR, {worst}"))
    sizes = report.parameters
    tiles += [(f"{sizes[side] / 1e6:.1f} M", f"{side} parameters") for side in ("image", "text")]
    return "".join(f"<li><b>{escape(value)}</b><span>{escape(name)}</span></li>" for value, name in tiles)


def _table(report: Report) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in columns(report))
    body = "\n".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows(report)
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _same(examples: Examples, picture: Thumbnail) -> str:
    if not examples.same:
        return ""
    shown = "".join(_same_query(same, picture) for same in examples.same)
    together = any(same.together is not None for same in examples.same)
    last = (
        " The row named all is the first sentence, scored together with its translations." if together else ""
    )
    return f"""<section class="same"><h2>The same query in all languages</h2>
<p class="soft">Pictures drawn at random (seed {examples.seed}) before any answer was known, a sentence about each in
every language, and the first answers to this sentence alone.{last}</p>
{shown}</section>
"""


def _same_query(same: SameQuery, picture: Thumbnail) -> str:
    rows = [(query.lang, query) for query in same.queries]
    if same.together is not None:
        rows.append(("all", same.together))
    queries = "".join(
        f'<div class="query-in"><b>{escape(name)}</b><div>{_pictures(query, picture)}</div></div>'
        for name, query in rows
    )
    target = f'<div class="target">{picture(same.image)}<span class="soft">the right picture</span></div>'
    return f"<article>{target}<div>{queries}</div></article>\n"


def _language(lang: str, scores: LanguageScores, queries: Sequence[Example], picture: Thumbnail) -> str:
    kinds = {"zero-shot": scores.zero_shot, "machine translations": scores.sentences == "translated"}
    shown = ", ".join(kind for kind, present in kinds.items() if present)
    how = f' <span class="soft">{shown}</span>' if shown else ""
    parts = [f'<section id="lang-{escape(lang)}"><h2>{escape(lang)}{how}</h2>']
    for direction, show in (("t2i", _pictures), ("i2t", _sentences)):
        mine = [example for example in queries if (example.lang, example.direction) == (lang, direction)]
        if mine:
            parts.append(f"<h3>{ARROWS[direction]}</h3>")
            parts += [f"<article>{show(example, picture)}</article>" for example in mine]
    return "\n".join([*parts, "</section>\n"])


def _pictures(example: Example, picture: Thumbnail) -> str:
    items = "".join(
        f"<li{_class(answer)}>{picture(answer.item)}{_mark(answer)}</li>" for answer in example.answers
    )
    query = f'<q dir="auto" lang="{escape(example.lang)}">{escape(example.query)}</q>'
    return f'<div class="query">{query}{_rank(example)}</div><ol class="pictures">{items}</ol>'


def _sentences(example: Example, picture: Thumbnail) -> str:
    lang = escape(example.lang)
    items = "".join(
        f'<li{_class(answer)}><span dir="auto" lang="{lang}">{escape(answer.item)}</span>{_mark(answer)}</li>'
        for answer in example.answers
    )
    side = f"<div>{picture(example.query)}{_rank(example)}</div>"
    return f'<div class="sentences">{side}<ol>{items}</ol></div>'


def _class(answer: ExampleAnswer) -> str:
    return ' class="right"' if answer.right else ' class="wrong"'


def _mark(answer: ExampleAnswer) -> str:
    word = "✓ right" if answer.right else "✗ wrong"
    return f'<span class="mark"><b>{word}</b><i>{answer.score:.2f}</i></span>'


def _rank(example: Example) -> str:
    return f'<span class="rank">right one at {example.rank:,} of {example.candidates:,}</span>'


def _picture(file: Path, name: str) -> str:
    """The thumbnail, or the name if there is no picture file (a dataset of features alone)."""
    from lingvis.data.images import thumbnail_uri

    source = thumbnail_uri(file)
    if source is None:
        return f'<span class="picture">{escape(name)}</span>'
    return f'<img class="picture" alt="{escape(name)}" src="{source}">'

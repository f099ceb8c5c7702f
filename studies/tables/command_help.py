"""The page of all commands, made from their help texts."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence

from cyclopts import App

HEAD = "# Command line\n\nMade by `python -m studies tables` from the commands themselves.\n"


def command_page(app: App) -> str:
    """The help text of every command, in the order in which the application lists them."""
    parts = [HEAD]
    for words in _commands(app, []):
        title = " ".join(["lingvis", *words])
        parts.append(f"## {title}\n\n```\n{_help(app, words)}\n```\n")
    return "\n".join(parts)


def _commands(app: App, words: list[str]) -> Iterator[list[str]]:
    """The application itself, then all commands below it; a group of commands has no page of its own."""
    names = [name for name in app if not name.startswith("-")]
    if not words or not names:
        yield words
    for name in names:
        yield from _commands(app[name], [*words, name])


def _help(app: App, words: Sequence[str]) -> str:
    from rich.console import Console

    console = Console(width=100, record=True, file=io.StringIO(), force_terminal=False)
    app.help_print(list(words), console=console)
    return "\n".join(line.rstrip() for line in console.export_text().splitlines()).strip()

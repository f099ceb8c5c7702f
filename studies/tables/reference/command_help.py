"""The page of all commands, made from their help texts."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence

from cyclopts import App

HEAD = "# Command line\n\nMade by `python -m studies tables` from the commands themselves.\n"


def command_page(app: App) -> str:
    """The help text of every command, in the order in which the application lists them."""
    parts = [HEAD]
    for words in command_words(app):
        title = " ".join(["lingvis", *words])
        parts.append(f"## {title}\n\n```\n{_help(app, words)}\n```\n")
    return "\n".join(parts)


def command_words(app: App) -> Iterator[list[str]]:
    """The words of every command, in the order of the help text: [], ["demo"], ["data", "import"], ..."""
    yield []
    yield from _below(app, [])


def _below(app: App, words: list[str]) -> Iterator[list[str]]:
    for name in app:
        if name.startswith("-"):
            continue
        command = app[name]
        if command.default_command is None:
            yield from _below(command, [*words, name])
        else:
            yield [*words, name]


def _help(app: App, words: Sequence[str]) -> str:
    from rich.console import Console

    console = Console(width=100, record=True, file=io.StringIO(), force_terminal=False)
    app.help_print(list(words), console=console)
    return "\n".join(line.rstrip() for line in console.export_text().splitlines()).strip()

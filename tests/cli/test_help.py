"""Help texts: names of registered parts, no needless negative switches, one sentence per shared option."""

from __future__ import annotations

import functools
from collections.abc import Iterable

import pytest
from cyclopts import App

from lingvis.cli.app import app
from lingvis.data.importers import IMPORTERS
from lingvis.evaluation.clc.base import METHODS as CONSISTENCIES
from lingvis.evaluation.protocols import PROTOCOLS
from lingvis.features.backbones import BACKBONES
from lingvis.features.detectors import DETECTORS
from lingvis.new_language.routes import ROUTES
from lingvis.text.alignment.fit import METHODS as ALIGNMENTS
from lingvis.text.translators import TRANSLATORS
from studies.tables.reference.command_help import command_words

SWITCHES = {"--serve", "--no-serve"}  # the one switch that is on by default


COMMANDS: dict[str, App] = {
    " ".join(words): functools.reduce(lambda parent, word: parent[word], words, app)
    for words in command_words(app)
    if words
}


def option(command: str, name: str) -> str:
    """The help text and the choices of an option or argument."""
    with app.app_stack([app, COMMANDS[command]]):
        for argument in COMMANDS[command].assemble_argument_collection(parse_docstring=True):
            if argument.field_info.name == name:
                return f"{argument.parameter.help} {argument.get_choices() or ''}"
    raise KeyError(name)


def test_every_command_is_listed() -> None:
    assert {"train", "evaluate", "data import", "features extract", "search", "serve"} <= set(COMMANDS)


@pytest.mark.parametrize(
    ("command", "name", "registered"),
    [
        ("evaluate", "protocol", PROTOCOLS),
        ("evaluate", "translator", TRANSLATORS.names()),
        ("evaluate", "consistency", CONSISTENCIES),
        ("search", "translator", TRANSLATORS.names()),
        ("search", "consistency", CONSISTENCIES),
        ("data import", "format", IMPORTERS.names()),
        ("features extract", "backbone", BACKBONES.names()),
        ("features detect", "detector", DETECTORS.names()),
        ("add-language", "route", [route.name for route in ROUTES]),
        ("align", "method", ALIGNMENTS),
    ],
)
def test_help_names_everything_that_is_registered(command: str, name: str, registered: Iterable[str]) -> None:
    text = option(command, name)
    assert [part for part in registered if part not in text] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_switches_have_no_needless_negative(command: str) -> None:
    with app.app_stack([app, COMMANDS[command]]):
        flags = [flag for each in COMMANDS[command].assemble_argument_collection() for flag in each.names]
    assert (
        not {flag for flag in flags if flag.startswith(("--no-", "--empty-"))}
        - SWITCHES
        - {"--no-auth", "--no-open"}
    )


def test_shared_options_have_one_sentence() -> None:
    for name in ("device", "json", "ray"):
        texts = set()
        for command in COMMANDS.values():
            for argument in command.assemble_argument_collection():
                if argument.field_info.name == name:
                    texts.add(argument.parameter.help)
        assert len(texts) == 1, texts

"""Mistakes that the public functions report before they read anything."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import lingvis
from lingvis.errors import UserError, check_list
from lingvis.text.vectors.read import read_vectors


def nowhere() -> lingvis.Collection:
    return lingvis.Collection("nowhere.lv", model="nothing")


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda text: lingvis.train("vsepp", "nowhere", "out", overrides=text), "overrides"),
        (lambda text: lingvis.evaluate("nothing", "nowhere", languages=text), "languages"),
        (lambda text: nowhere().add(text), "folders"),
        (lambda text: nowhere().watch(text, report=print), "folders"),
        (lambda text: nowhere().remove(text), "pictures"),
    ],
)
def test_a_string_is_not_a_list_of_letters(call: Callable[[str], Any], argument: str) -> None:
    with pytest.raises(UserError, match=rf"^{argument} must be a list of .+, got 'en'; write \['en'\]$"):
        call("en")


def test_lists_and_nothing_pass() -> None:
    for value in (["en"], (), None):
        check_list("languages", value, "languages")
    with pytest.raises(UserError, match=r"^paths must be a list of files, got 'a/b'; write \['a/b'\]$"):
        check_list("paths", Path("a/b"), "files")


def test_missing_word_vectors_are_reported(tmp_path: Path) -> None:
    for name in ("cc.de.300.vec", "cc.de.300.bin"):
        with pytest.raises(UserError, match=f"no file of word vectors at .*{name}; name a .vec, "):
            read_vectors(tmp_path / name, {"hund"})

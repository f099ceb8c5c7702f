"""The interface texts are complete in every language."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from typing import Any

import pytest
from babel import Locale

PAGE = files("lingvis.serve") / "page"
CODES = ["en", "de", "fr", "es", "pt", "zh", "ja", "ar", "ru"]
Texts = dict[str, Any]


def texts(code: str) -> Texts:
    read: Texts = json.loads((PAGE / "texts" / f"{code}.json").read_text(encoding="utf-8"))
    return read


def forms(text: str | dict[str, str]) -> list[str]:
    return [text] if isinstance(text, str) else list(text.values())


def gaps(text: str) -> set[str]:
    return set(re.findall(r"\{(\w+)\}", text))


@pytest.mark.parametrize("code", CODES)
def test_same_keys_no_empty_text_same_gaps(code: str) -> None:
    english, own = texts("en"), texts(code)
    assert list(own) == list(english)
    for key, text in own.items():
        assert all(form.strip() for form in forms(text)), key
        assert isinstance(text, str) == isinstance(english[key], str), key
        if isinstance(text, str):
            assert gaps(text) == gaps(english[key]), key


@pytest.mark.parametrize("code", CODES)
def test_every_plural_form_is_there(code: str) -> None:
    wanted = set(Locale.parse(code).plural_form.tags) | {"other"}
    for key, text in texts(code).items():
        if not isinstance(text, str):
            assert set(text) | {"many"} == wanted | {"many"}, key  # "many" is for millions in some languages


@pytest.mark.parametrize("code", CODES[1:])
def test_it_is_a_translation(code: str) -> None:
    english, own = texts("en"), texts(code)
    same = [key for key in english if own[key] == english[key]]
    assert len(same) <= 10, same  # "Format", "Album" and the like


def test_every_text_is_used_and_every_used_one_exists() -> None:
    sources = [entry for entry in PAGE.iterdir() if entry.name.endswith((".js", ".html"))]
    written = "\n".join(entry.read_text(encoding="utf-8") for entry in sources)
    # Facts of the large view are named by key alone.
    assert [key for key in texts("en") if f'"{key}"' not in written] == []
    used = re.findall(r'(?:say\(|data-(?:text|label|placeholder)=)"(\w+)"', written)
    assert set(used) <= set(texts("en")) and len(used) > 60


def test_no_markup_that_the_policy_forbids() -> None:
    html = (PAGE / "index.html").read_text(encoding="utf-8")
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)|https?:", html)

"""The page is honest: dividers, words that the model does not know, and no language control where it does nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import pytest

from ...collection.indexing import index_folders
from ...collection.photographs import copy_photographs
from ..conftest import serving
from .conftest import Visit

Begin = Callable[..., Visit]


@pytest.fixture(scope="module")
def photographs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server over photographs with the shipped model."""
    home = tmp_path_factory.mktemp("honest").resolve()
    index_folders(home / "photos.lv", [copy_photographs(home / "photos")], model=None, device="cpu")
    with serving(str(home / "photos.lv"), log=home / "log.txt") as (port, _):
        yield f"http://127.0.0.1:{port}"


def ask(base: str, path: str, headers: dict[str, str] | None = None, **parameters: Any) -> Any:
    with urlopen(Request(f"{base}{path}?{urlencode(parameters, doseq=True)}", headers=headers or {})) as body:
        return json.load(body)


def test_dividers_stand_between_the_sure_and_the_unlikely(visit: Begin, photographs: str) -> None:
    page = visit(photographs).open(q="an airplane in the sky")
    page.wait_for_selector("#grid .tile")
    hits = ask(photographs, "/api/search", q="an airplane in the sky", k=48)["hits"]
    assert hits[0]["confidence"] == "strong" and hits[-1]["confidence"] == "weak"
    shown = page.locator("#grid > li").evaluate_all(
        "items => items.map(item => item.dataset.confidence ?? item.firstChild.dataset.id)"
    )
    expected, before = [], "strong"
    for hit in hits:
        if hit["confidence"] != before:
            expected.append(hit["confidence"])
        expected.append(hit["id"])
        before = hit["confidence"]
    assert shown == expected
    assert page.locator("#grid .divider").last.inner_text() == "These probably do not fit"
    assert not page.locator("#unknown").is_visible()
    # Each part has rows of its own: a divider is as wide as the grid, and no tile beside it.
    widths = page.evaluate("() => [...document.querySelectorAll('.divider, #grid')].map(e => e.offsetWidth)")
    assert len(set(widths)) == 1
    page.locator("#grid .tile").first.focus()
    page.keyboard.press("End")
    assert page.evaluate("document.activeElement.dataset.id") == hits[-1]["id"]


def test_unknown_words_do_not_look_like_success(visit: Begin, photographs: str) -> None:
    page = visit(photographs, viewport={"width": 360, "height": 700}).open(q="flibbertigibbet")
    page.wait_for_selector("#grid .tile")
    assert page.locator("#unknown").inner_text().endswith("or their language: flibbertigibbet")
    assert page.locator("#grid > li").first.inner_text() == "These probably do not fit"
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.locator("#words").fill("an elephant")
    page.wait_for_function("() => document.getElementById('unknown').hidden")
    assert page.locator("#grid > li").first.get_attribute("data-confidence") == "weak"
    page.locator("#words").fill("a blorpish dog")
    page.wait_for_function("() => document.getElementById('unknown').textContent.endsWith('know: blorpish')")
    page.locator("#words").fill("")
    page.wait_for_function("() => document.getElementById('unknown').hidden")


def test_the_language_control_hides_where_the_model_ignores_it(
    visit: Begin, photographs: str, server: str
) -> None:
    assert ask(photographs, "/api/collection")["uses_language"] is False
    page = visit(photographs).open(q="dog")
    page.wait_for_selector("#grid .tile")
    assert not page.locator("#language").is_visible()
    page = visit(server).open(q="dog")
    page.wait_for_selector("#grid .tile")
    assert page.locator("#language").is_visible()


def test_the_language_of_the_reader_is_a_preference(visit: Begin, photographs: str) -> None:
    def detected(headers: dict[str, str], **parameters: Any) -> str:
        lang: str = ask(photographs, "/api/search", headers, q="bus", **parameters)["queries"][0]["lang"]
        return lang

    assert detected({"Accept-Language": "de-DE,de;q=0.9,en;q=0.8"}) == "de"
    assert detected({"Accept-Language": "en"}) == "en"
    assert detected({"Accept-Language": "de"}, prefer=["fr", "en"]) == "fr"
    requests: list[str] = []
    begun = visit(photographs, locale="de-DE")
    begun.page.on("request", lambda request: requests.append(request.url))
    begun.open(q="bus").wait_for_selector("#grid .tile")
    assert any("prefer=de" in url for url in requests)

"""When the server refuses, is busy, or is gone."""

from __future__ import annotations

from typing import Any

from .conftest import TOKEN
from .test_search import Begin


def test_the_token_is_asked_for_once(visit: Begin, server: str) -> None:
    begun = visit(server, admitted=False)
    begun.refusals_expected = True
    page = begun.open(q="a disc")
    field = page.get_by_label("Access token")
    field.fill("wrong")
    page.get_by_role("button", name="Open").click()
    page.wait_for_function("() => document.querySelector('.problem').textContent.length > 10")
    assert begun.ids() == []
    field.fill(TOKEN)
    field.press("Enter")
    page.wait_for_selector("#grid .tile")
    page.wait_for_function("() => document.querySelector('#grid .tile img').naturalWidth > 0")
    page.reload()
    page.wait_for_selector("#grid .tile")
    page.get_by_role("button", name="Settings").click()
    page.get_by_role("button", name="Forget the access token").click()
    page.get_by_label("Access token").wait_for()


def test_a_server_that_is_gone_and_comes_back(visit: Begin, server: str) -> None:
    begun = visit(server)
    begun.refusals_expected = True
    page = begun.open()
    page.wait_for_selector(".examples button")
    page.route("**/api/search*", lambda route: route.abort("connectionrefused"))
    page.locator("#words").fill("a disc")
    page.get_by_text("The server does not answer").wait_for()
    page.unroute("**/api/search*")
    page.get_by_role("button", name="Try again").click()
    page.wait_for_selector("#grid .tile")
    assert not page.locator("#notice").is_visible()


def test_a_busy_server_is_asked_again(visit: Begin, server: str) -> None:
    begun = visit(server)
    begun.refusals_expected = True
    page = begun.open()
    page.wait_for_selector(".examples button")
    times: list[int] = []

    def busy(route: Any) -> None:
        times.append(1)
        if len(times) > 1:
            route.continue_()
        else:
            route.fulfill(status=429, headers={"Retry-After": "1"}, json={"error": "too many"})

    page.route("**/api/search*", busy)
    page.locator("#words").fill("a disc")
    page.get_by_text("The server is busy; trying again in 1 s").wait_for()
    page.wait_for_selector("#grid .tile")
    assert len(times) >= 2


def test_the_servers_sentence_is_shown(visit: Begin, server: str) -> None:
    begun = visit(server)
    begun.refusals_expected = True
    page = begun.open(q="x" * 3000)
    page.locator("#notice p").wait_for()
    sentence = page.locator("#notice p").inner_text()
    assert "1000" in sentence or "1,000" in sentence
    assert page.locator("#notice button").count() == 0  # asking the same again would not help
    page.locator("#words").fill("a disc")
    page.wait_for_selector("#grid .tile")


def test_pictures_that_a_busy_server_refused_come_later(visit: Begin, server: str) -> None:
    begun = visit(server)
    begun.refusals_expected = True
    asked: list[str] = []

    def busy(route: Any) -> None:
        asked.append(route.request.url)
        if asked.count(route.request.url) > 2:
            route.continue_()
        else:
            route.fulfill(status=429, headers={"Retry-After": "1"}, json={"error": "too many"})

    begun.page.route("**/thumbnail*", busy)
    begun.page.route("**/picture", busy)
    page = begun.open(q="a disc")
    page.wait_for_selector("#grid .tile")
    page.wait_for_function("() => document.querySelector('#grid .tile img').naturalWidth > 0")
    assert not page.locator("#grid .tile img").first.evaluate("image => image.classList.contains('missing')")
    page.locator("#grid .tile").first.click()
    page.wait_for_function("() => document.querySelector('.stage img').src.startsWith('blob:')")
    assert page.locator(".gone").inner_text() == ""
    page.unroute("**/thumbnail*")
    page.route("**/thumbnail*", lambda route: route.fulfill(status=404, json={"error": "no such picture"}))
    page.keyboard.press("Escape")
    page.locator("#words").fill("the house")
    page.wait_for_selector("#grid .tile img.missing")

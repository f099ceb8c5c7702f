"""Everything without a mouse."""

from __future__ import annotations

from typing import Any

from .test_search import Begin


def focused(page: Any) -> Any:
    return page.evaluate("document.activeElement.dataset.id ?? document.activeElement.id")


def test_a_whole_search_by_keyboard(visit: Begin, server: str) -> None:
    begun = visit(server)
    page = begun.open()
    page.keyboard.type("a disc")
    page.keyboard.press("Enter")
    page.wait_for_selector("#grid .tile")
    ids = begun.ids()
    for _ in range(10):  # language, picture, tools, then the grid
        page.keyboard.press("Tab")
        if focused(page) == ids[0]:
            break
    assert focused(page) == ids[0]
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert focused(page) == ids[2]
    top = page.evaluate("document.activeElement.getBoundingClientRect().top")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.getBoundingClientRect().top") > top
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Home")
    assert focused(page) == ids[0]
    page.keyboard.press("Enter")
    page.get_by_role("dialog").wait_for()
    page.keyboard.press("ArrowRight")
    page.wait_for_url(f"**open={ids[1]}**")
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="hidden")
    page.wait_for_function("id => document.activeElement.dataset.id === id", arg=ids[1])
    page.keyboard.press("End")
    assert begun.ids().index(focused(page)) >= len(ids) - 1  # more may have come since
    page.keyboard.press("/")
    assert focused(page) == "words"


def test_the_skip_link_leads_to_the_results(visit: Begin, server: str) -> None:
    page = visit(server).open(q="a disc")
    page.wait_for_selector("#grid .tile")
    page.evaluate("document.activeElement.blur(); document.querySelector('.skip').focus()")
    assert page.locator(".skip").evaluate("e => e.getBoundingClientRect().top") >= 0
    page.keyboard.press("Enter")
    assert focused(page) == "results"


def test_focus_shows_score_and_path(visit: Begin, server: str) -> None:
    page = visit(server, reduced_motion="reduce").open(q="a disc")
    page.wait_for_selector("#grid .tile")
    facts = page.locator("#grid .tile").first.locator(".facts")
    assert facts.evaluate("e => getComputedStyle(e).opacity") == "0"
    page.evaluate("document.querySelector('#without input').focus()")
    page.keyboard.press("Tab")
    assert facts.evaluate("e => getComputedStyle(e).opacity") == "1"
    assert "/photos/" in facts.inner_text()


def test_everything_that_can_be_reached_has_a_name(visit: Begin, server: str) -> None:
    page = visit(server).open(q="a disc")
    page.wait_for_selector("#grid .tile")
    page.locator("#filter-button").click()
    page.locator("#settings-button").click()
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("button, a, input, select")].filter((element) => element.checkVisibility()
             && !element.getAttribute("aria-label") && !element.textContent.trim() && !element.labels?.length)
             .map((element) => element.outerHTML)"""
    )
    assert nameless == []
    label = page.locator("#grid .tile").first.get_attribute("aria-label")
    assert label.startswith("1. ") and "score 0." in label

"""Directions, widths, colours, and the page's own language."""

from __future__ import annotations

import json
from importlib.resources import files

import pytest

from .test_search import Begin

WIDTH = "document.documentElement.scrollWidth"


@pytest.mark.parametrize(("words", "lang"), [("كلب على الشاطئ", "ar"), ("سگ", "fa"), ("ئىت", "ug")])
def test_questions_run_from_right_to_left(visit: Begin, server: str, words: str, lang: str) -> None:
    page = visit(server).open(q=words, lang=lang)
    page.wait_for_selector("#grid .tile")
    field = page.locator("#words")
    assert [field.get_attribute("dir"), field.get_attribute("lang")] == ["rtl", lang]
    assert page.locator("html").get_attribute("dir") == "ltr"
    page.locator("#language").select_option("de")
    page.wait_for_function("() => document.getElementById('words').dir === 'ltr'")


def test_a_detected_arabic_question(visit: Begin, server: str) -> None:
    page = visit(server).open()
    page.keyboard.type("كلب على الشاطئ")
    page.wait_for_selector("#grid .tile")
    assert page.locator("#words").evaluate("e => getComputedStyle(e).direction") == "rtl"
    assert page.locator("#language option:checked").inner_text() == "Arabic (detected)"


def test_the_arabic_page_is_mirrored(visit: Begin, server: str) -> None:
    begun = visit(server, locale="ar-EG")
    page = begun.open(q="a disc")
    page.wait_for_selector("#grid .tile")
    assert page.locator("html").get_attribute("dir") == "rtl"
    first, second = (page.locator("#grid li").nth(place).bounding_box() for place in (0, 1))
    assert first["x"] > second["x"]
    assert page.locator(".brand").bounding_box()["x"] > page.locator("#settings-button").bounding_box()["x"]
    page.locator("#grid .tile").first.focus()
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("document.activeElement.dataset.id") == begun.ids()[1]
    page.keyboard.press("Enter")
    page.get_by_role("button", name="صور مشابهة").wait_for()


@pytest.mark.parametrize("width", [320, 480])
def test_narrow_screens_never_scroll_sideways(visit: Begin, server: str, width: int) -> None:
    page = visit(server, viewport={"width": width, "height": 640}, locale="de-DE").open(q="ein roter Hund")
    page.wait_for_selector("#grid .tile")
    page.locator("#filter-button").click()
    assert page.evaluate(WIDTH) == width
    page.locator("#filter-button").click()
    page.locator("#grid .tile").first.click()
    page.get_by_role("dialog").wait_for()
    assert page.locator("#viewer").evaluate("e => e.scrollWidth") <= width
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="hidden")
    page.locator("#compare-button").click()
    page.wait_for_selector(".column")
    assert page.evaluate(WIDTH) == width


def test_dark_as_the_system_or_by_choice(visit: Begin, server: str) -> None:
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    dark, light = "rgb(20, 20, 19)", "rgb(251, 250, 248)"
    page = visit(server, color_scheme="dark").open()
    assert page.evaluate(ground) == dark
    page.emulate_media(color_scheme="light")
    assert page.evaluate(ground) == light
    page.get_by_role("button", name="Settings").click()
    page.get_by_label("Appearance").select_option("dark")
    assert page.evaluate(ground) == dark
    page.reload()
    assert page.evaluate(ground) == dark


def test_the_page_speaks_nine_languages_and_remembers(visit: Begin, server: str) -> None:
    page = visit(server, locale="fr-CA").open(q="a disc")
    page.wait_for_selector("#grid .tile")
    assert page.locator("#words").get_attribute("placeholder") == "Décrivez une image"
    folder = files("lingvis.serve") / "page" / "texts"
    codes = page.locator("#interface option").evaluate_all("options => options.map(option => option.value)")
    page.locator("#settings-button").click()
    for code in codes:
        page.locator("#interface").select_option(code)
        page.wait_for_function("code => document.documentElement.lang === code", arg=code)
        texts = json.loads((folder / f"{code}.json").read_text(encoding="utf-8"))
        assert page.locator("#filters [data-text=folder]").text_content() == texts["folder"]
    assert len(codes) == 9 and codes[-1] == "ru"
    page.reload()
    page.wait_for_function("() => document.documentElement.lang === 'ru'")
    page.wait_for_selector("#grid .tile")
    assert page.locator("#status").inner_text().startswith("Показано")

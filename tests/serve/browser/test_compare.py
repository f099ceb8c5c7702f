"""The same question in several languages side by side."""

from __future__ import annotations

from .test_search import Ask, Begin, asked, ids


def test_columns_and_what_they_share(visit: Begin, server: str, answer: Ask) -> None:
    begun = visit(server)
    page = begun.open(q="the house")
    page.wait_for_selector("#grid .tile")
    page.get_by_role("button", name="Compare languages").click()
    page.wait_for_selector(".best .tile")
    fields = page.locator(".column input")
    assert fields.count() == 3 and fields.first.input_value() == "the house" and begun.ids() == []
    german = page.get_by_label("Search text in this language: German")
    german.fill("das Haus")
    page.wait_for_function("() => document.querySelectorAll('.best .tile').length === 24")
    english = ids(answer("/api/search", q="the house", lang="en", k=12))
    expected = ids(answer("/api/search", q="das Haus", lang="de", k=12))
    found = begun.ids(".best .tile")
    assert found == english + expected
    shared = set(english) & set(expected)
    assert shared  # else the next lines would show nothing
    page.wait_for_function(
        "n => document.querySelectorAll('.best .shared').length === n", arg=2 * len(shared)
    )
    assert set(begun.ids(".best .shared")) == shared
    assert page.locator(".best .shared .times").first.inner_text() == "2/2"
    assert page.locator("#status").inner_text().startswith(f"{len(shared)} picture")
    page.locator(".best .shared").first.hover()
    lit = begun.ids(".best .lit")
    assert len(lit) == 2 and lit[0] == lit[1]
    assert asked(page)["column"][:2] == ["en:the house", "de:das Haus"]


def test_columns_come_and_go(visit: Begin, server: str) -> None:
    page = visit(server).open(compare=1, column=["en:the house", "ar:كلب"])
    page.wait_for_selector(".best .tile")
    assert page.locator(".column input").nth(1).get_attribute("dir") == "rtl"
    page.get_by_role("button", name="Add a language").click()
    assert page.locator(".column").count() == 3
    assert page.evaluate("document.activeElement.closest('.column').ariaLabel") == "German"
    page.get_by_role("button", name="Remove column: English").click()
    assert asked(page)["column"] == ["ar:كلب", "de:"]
    page.locator(".best .tile").first.click()
    page.get_by_role("dialog").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="hidden")
    assert page.evaluate("document.activeElement.closest('.column').ariaLabel") == "Arabic"
    page.get_by_role("button", name="Compare languages").click()
    page.wait_for_selector("#grid .tile")
    assert page.locator("#words").input_value() == "كلب"

"""Words in, pictures out; the address tells the question."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

from .conftest import PICTURES, Visit

Begin = Callable[..., Visit]
Ask = Callable[..., dict[str, Any]]


def ids(answered: dict[str, Any]) -> list[str]:
    return [hit["id"] for hit in answered["hits"]]


def asked(page: Any) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


def test_results_come_while_typing(visit: Begin, server: str, answer: Ask) -> None:
    begun = visit(server)
    page = begun.open()
    assert page.evaluate("document.activeElement.id") == "words"
    page.keyboard.type("the house", delay=10)
    expected = ids(answer("/api/search", q="the house", k=48))
    page.wait_for_function("id => document.querySelector('#grid .tile')?.dataset.id === id", arg=expected[0])
    assert begun.ids()[:48] == expected
    assert asked(page) == {"q": ["the house"]}
    assert "pictures shown" in page.locator("#status").inner_text()
    assert page.locator("#language option:checked").inner_text() == "English (detected)"


def test_the_first_questions_are_captions_of_the_collection(visit: Begin, server: str) -> None:
    page = visit(server).open()
    example = page.locator(".examples button").first
    words = example.inner_text()
    assert words.endswith(" disc")
    example.click()
    page.wait_for_selector("#grid .tile")
    assert page.locator("#words").input_value() == words


def test_an_answer_that_is_late_is_never_shown(visit: Begin, server: str, answer: Ask) -> None:
    begun = visit(server)
    page = begun.open()
    held: list[Any] = []

    def hold(route: Any) -> None:
        held.append(route)

    failed: list[str] = []
    page.on("requestfailed", lambda request: failed.append(request.url))
    page.route("**/api/search?*q=slow*", hold)
    page.locator("#words").fill("slow")
    page.wait_for_function("() => document.body.getAttribute('aria-busy') === 'true'")
    page.locator("#words").fill("the house")
    expected = ids(answer("/api/search", q="the house", k=48))
    page.wait_for_function("id => document.querySelector('#grid .tile')?.dataset.id === id", arg=expected[0])
    assert len(held) == 1 and ["q=slow" in url for url in failed] == [True]
    assert begun.ids()[:48] == expected


def test_a_burst_of_typing_is_one_question(visit: Begin, server: str) -> None:
    page = visit(server).open()
    page.wait_for_selector(".examples button")
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url))
    page.keyboard.type("the house", delay=5)
    page.wait_for_selector("#grid .tile")
    assert len([url for url in sent if "/api/search" in url and "offset=0" in url]) == 1


def test_back_and_forward(visit: Begin, server: str) -> None:
    begun = visit(server)
    page = begun.open(q="the house")
    page.wait_for_selector("#grid .tile")
    first = begun.ids()[:10]
    page.locator("#words").fill("ein roter Hund")
    page.locator("#words").press("Enter")
    page.wait_for_function("id => document.querySelector('#grid .tile')?.dataset.id !== id", arg=first[0])
    page.go_back()
    page.wait_for_function("id => document.querySelector('#grid .tile')?.dataset.id === id", arg=first[0])
    assert page.locator("#words").input_value() == "the house" and begun.ids()[:10] == first
    page.go_forward()
    page.wait_for_function("() => document.getElementById('words').value === 'ein roter Hund'")
    page.locator("#home").click()
    page.wait_for_selector(".examples")
    assert urlsplit(page.url).query == "" and begun.ids() == []


def test_scrolling_brings_every_picture_once(visit: Begin, server: str) -> None:
    begun = visit(server, viewport={"width": 1280, "height": 500})
    page = begun.open(q="a disc")
    page.wait_for_selector("#grid .tile")
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    page.wait_for_function(f"() => document.querySelectorAll('#grid .tile').length === {PICTURES}")
    assert len(set(begun.ids())) == PICTURES
    assert not page.locator("#more").is_visible()


def test_scrolling_ends_where_the_server_begins_no_page_any_more(visit: Begin, server: str) -> None:
    begun = visit(server, viewport={"width": 1280, "height": 500})

    def limit(route: Any) -> None:
        told = route.fetch().json()
        told["limits"]["offset"] = 47
        route.fulfill(json=told)

    begun.page.route("**/api/collection", limit)
    page = begun.open(q="a disc")
    page.wait_for_selector("#grid .tile")
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    page.wait_for_timeout(300)
    assert len(begun.ids()) == 48 < PICTURES
    assert not page.locator("#more").is_visible() and not page.locator("#notice").is_visible()


def test_thumbnails_are_named_by_their_content(visit: Begin, server: str, answer: Ask) -> None:
    page = visit(server).open(q="a disc")
    page.wait_for_selector("#grid .tile")
    found = page.locator("#grid .tile img").evaluate_all("all => all.map(each => each.getAttribute('src'))")
    hits = answer("/api/search", q="a disc", k=48)["hits"]
    assert found[:48] == [f"api/items/{hit['id']}/thumbnail?v={hit['hash']}" for hit in hits]


def test_rows_are_filled_from_edge_to_edge_and_again_after_a_resize(visit: Begin, server: str) -> None:
    page = visit(server).open(q="a disc")
    page.wait_for_selector("#grid .tile")
    for width in (1280, 700):
        page.set_viewport_size({"width": width, "height": 800})
        page.wait_for_timeout(150)
        full = page.locator("#grid").evaluate("list => Math.floor(list.getBoundingClientRect().width)")
        boxes = page.locator("#grid li").evaluate_all(
            "items => items.map(item => item.getBoundingClientRect()).map(b => [b.top, b.right - b.left, b.height])"
        )
        rows: dict[float, list[list[float]]] = {}
        for top, wide, high in boxes:
            rows.setdefault(top, []).append([wide, high])
        assert len(rows) > 2
        for row in list(rows.values())[:-1]:
            assert sum(wide for wide, _ in row) + 6 * (len(row) - 1) == full
            assert len({high for _, high in row}) == 1


def test_filters(visit: Begin, server: str, answer: Ask) -> None:
    begun = visit(server)
    page = begun.open(q="a disc")
    page.wait_for_selector("#grid .tile")
    page.get_by_role("button", name="Filters").click()
    folder = next(
        path
        for path in page.locator("#folders option").evaluate_all("o => o.map(e => e.value)")
        if "warm" in path
    )
    page.get_by_label("Folder").fill(folder)
    page.get_by_label("Format").select_option("jpeg")
    page.wait_for_function("() => document.querySelectorAll('#grid .tile').length < 20")
    expected = answer("/api/search", q="a disc", k=48, folder=folder, format="jpeg")
    page.wait_for_function(
        "n => document.querySelectorAll('#grid .tile').length === n", arg=len(expected["hits"])
    )
    assert begun.ids() == ids(expected)
    assert asked(page) == {"q": ["a disc"], "folder": [folder], "format": ["jpeg"]}
    assert page.get_by_role("button", name="Filters, active: 2").is_visible()
    page.get_by_label("At least (MB)").fill("5")
    page.get_by_text("No picture passes the filters.").wait_for()
    assert asked(page)["min_size"] == ["5000000"]
    page.locator("#notice").get_by_role("button", name="Reset filters").click()
    page.wait_for_selector("#grid .tile")
    assert asked(page) == {"q": ["a disc"]}
    page.get_by_label("Search in captions").check()
    captioned = ids(answer("/api/search", q="a disc", k=48, captions="true"))
    page.wait_for_function("n => document.querySelectorAll('#grid .tile').length === n", arg=len(captioned))
    assert begun.ids() == captioned and len(captioned) == PICTURES // 5


def test_the_language_can_be_set(visit: Begin, server: str, answer: Ask) -> None:
    begun = visit(server)
    page = begun.open(q="das Haus")
    page.wait_for_selector("#grid .tile")
    options = page.locator("#language option").all_inner_texts()
    assert options[1:] == ["Arabic", "English", "German", "Persian", "Uyghur"]
    page.get_by_label("Language of the search text").select_option("en")
    page.wait_for_url("**lang=en**")
    page.wait_for_function("() => !document.body.hasAttribute('aria-busy')")
    assert begun.ids()[:48] == ids(answer("/api/search", q="das Haus", k=48, lang="en"))

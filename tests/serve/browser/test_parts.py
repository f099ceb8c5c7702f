"""The parts of a query: what to leave out, "this picture, but ...", the history, and several collections."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lingvis.collection.collection import Collection
from lingvis.serve.settings import ServerSettings

from ...collection.conftest import make_pictures
from ..conftest import in_thread
from .test_search import Ask, Begin, asked, ids

FIRST = "id => document.querySelector('#grid .tile')?.dataset.id === id"


def test_what_to_leave_out(visit: Begin, server: str, answer: Ask) -> None:
    begun = visit(server)
    page = begun.open(q="a disc -red")
    page.wait_for_selector("#grid .tile")
    chips = page.locator("#chip-list .part")
    assert chips.all_inner_texts() == ["without red"]
    assert begun.ids()[:48] == ids(answer("/api/search", q="a disc", without="red", k=48))
    field = page.get_by_label("What must not be in the pictures")
    field.fill("the house")
    field.press("Enter")
    page.wait_for_url("**without=the**")
    page.wait_for_function("() => !document.body.hasAttribute('aria-busy')")
    assert chips.all_inner_texts() == ["without the house", "without red"] and field.input_value() == ""
    assert asked(page) == {"q": ["a disc -red"], "without": ["the house"]}
    page.get_by_role("button", name="Remove “red”").click()
    page.wait_for_url("**q=a+disc&**")
    assert page.locator("#words").input_value() == "a disc"
    assert chips.all_inner_texts() == ["without the house"]
    page.get_by_role("button", name="Remove “the house”").click()
    page.wait_for_function(FIRST, arg=ids(answer("/api/search", q="a disc", k=1))[0])
    assert asked(page) == {"q": ["a disc"]} and not chips.count()


def test_only_something_to_leave_out(visit: Begin, server: str) -> None:
    begun = visit(server)
    begun.refusals_expected = True
    page = begun.open(q="-red")
    page.get_by_text("there is nothing to search for, only something to leave out (red)").wait_for()


@pytest.mark.parametrize("width", [1280, 390])
def test_this_picture_but(visit: Begin, server: str, answer: Ask, width: int) -> None:
    hit = answer("/api/search", q="a disc", k=1)["hits"][0]
    begun = visit(server, viewport={"width": width, "height": 780})
    page = begun.open(open=hit["id"])
    field = page.locator("#viewer").get_by_label("This picture, but …")
    field.fill("the house")
    field.press("ArrowLeft")  # moves in the text, not to the picture before
    field.press("Enter")
    page.wait_for_url(f"**like={hit['id']}**")
    page.wait_for_selector("#grid .tile")
    expected = ids(answer("/api/search", q="the house", like=hit["id"], k=48))
    page.wait_for_function(FIRST, arg=expected[0])
    assert begun.ids()[:48] == expected and hit["id"] not in expected
    assert page.locator("#chip-list .part").all_inner_texts() == ["but the house"]
    assert page.locator("#chip img").is_visible() and page.locator("#weight").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == width
    page.get_by_role("button", name="Remove “the house”").click()
    page.wait_for_function(FIRST, arg=ids(answer(f"/api/items/{hit['id']}/similar", k=1))[0])
    assert page.locator("#words").get_attribute("placeholder") == "This picture, but …"
    page.get_by_role("button", name="Remove the picture").click()
    page.wait_for_url(f"{server}/")


def test_a_chosen_picture_becomes_the_query(visit: Begin, server: str) -> None:
    begun = visit(server)
    page = begun.open(q="a disc")
    page.wait_for_selector("#grid .tile")
    first = begun.ids()[0]
    page.locator("#grid .tile").first.click(modifiers=["Control"])
    page.locator("#selection").get_by_role("button", name="This picture, but …").click()
    page.wait_for_url(f"**like={first}")
    assert page.evaluate("document.activeElement.id") == "words"


def test_recent_searches(visit: Begin, server: str) -> None:
    page = visit(server).open()
    field, box = page.locator("#words"), page.locator("#history")
    assert not box.is_visible(), "nothing was searched for"
    for words in ("the house", "a disc", "a red disc", "the house"):
        field.fill(words)
        field.press("Enter")
    field.fill("")
    field.click()
    entries = box.locator("[role=option]")
    assert entries.all_inner_texts() == ["the house", "a red disc", "a disc"]
    assert field.get_attribute("aria-expanded") == "true"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert field.get_attribute("aria-activedescendant") == entries.nth(1).get_attribute("id")
    page.keyboard.press("Enter")
    page.wait_for_url("**q=a+red+disc")
    page.wait_for_selector("#grid .tile")
    assert not box.is_visible() and field.input_value() == "a red disc"
    field.fill("disc")
    assert entries.all_inner_texts() == [] or not box.is_visible(), "typing does not open the list by itself"
    field.press("ArrowDown")
    assert entries.all_inner_texts() == ["a red disc", "a disc"], "those with the typed letters"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Shift+Delete")
    assert entries.all_inner_texts() == ["a disc"]
    page.keyboard.press("Escape")
    assert not box.is_visible() and field.input_value() == "disc"
    page.reload()
    page.wait_for_selector("#grid .tile")
    field.fill("")
    field.click()
    assert "the house" in entries.all_inner_texts(), "the browser keeps them"
    entries.filter(has_text="the house").click()
    page.wait_for_url("**q=the+house")
    field.fill("")
    field.click()
    box.get_by_role("button", name="Clear").click()
    assert page.evaluate("localStorage.getItem('lingvis.history')") is None


def test_the_history_can_be_switched_off(visit: Begin, server: str) -> None:
    page = visit(server, viewport={"width": 390, "height": 780}).open()
    page.locator("#words").fill("a disc")
    page.locator("#words").press("Enter")
    page.locator("#settings-button").click()
    page.get_by_label("Remember searches in this browser").uncheck()
    assert page.evaluate("localStorage.getItem('lingvis.history')") is None
    page.keyboard.press("Escape")
    page.locator("#words").fill("the house")
    page.locator("#words").press("Enter")
    page.locator("#words").fill("")
    page.locator("#words").click()
    assert not page.locator("#history").is_visible()
    assert page.evaluate("localStorage.getItem('lingvis.history')") is None


@pytest.fixture(scope="module")
def two(gallery: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of two collections, the second with a name that needs escaping."""
    folder = tmp_path_factory.mktemp("two")
    make_pictures(folder / "noise", 3)
    noise = Collection.create(folder / "noise & more.lv", gallery / "model", device="cpu")
    noise.add([folder / "noise"])
    photos = Collection.open(gallery / "photos.lv", device="cpu")
    with in_thread([photos, noise], ServerSettings()) as client:
        yield f"http://127.0.0.1:{client.port}"


@pytest.mark.parametrize("width", [1280, 390])
def test_a_switch_between_collections(visit: Begin, two: str, width: int) -> None:
    begun = visit(two, viewport={"width": width, "height": 780})
    page = begun.open(q="a disc")
    page.wait_for_selector("#grid .tile")
    assert len(begun.ids()) >= 48
    switch = page.get_by_label("Collection")
    switch.locator("option").nth(1).wait_for(state="attached")  # the names may come after the hits
    assert switch.locator("option").all_inner_texts() == ["photos", "noise & more"]
    switch.select_option(label="noise & more")
    page.wait_for_url(f"{two}/c/noise%20%26%20more/?q=a+disc")
    page.wait_for_function("() => document.querySelectorAll('#grid .tile').length === 3")
    page.locator("#words").fill("the house")
    page.wait_for_url("**/c/noise%20%26%20more/?q=the+house")
    page.wait_for_function("() => !document.body.hasAttribute('aria-busy')")
    assert (
        page.locator("#grid img")
        .first.evaluate("image => image.src")
        .startswith(f"{two}/c/noise%20%26%20more/api/")
    )
    assert page.get_by_label("Collection").locator("option:checked").inner_text() == "noise & more"
    assert page.evaluate("document.documentElement.scrollWidth") == width
    page.go_back()
    page.wait_for_function("() => document.getElementById('words').value === 'a disc'")


def test_one_collection_has_no_switch(visit: Begin, server: str) -> None:
    page = visit(server).open(q="a disc")
    page.wait_for_selector("#grid .tile")
    assert not page.locator("#collection").is_visible()

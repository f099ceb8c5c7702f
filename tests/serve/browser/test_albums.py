"""Favourites, albums and a selection of several pictures, at a desk and on a phone."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote
from urllib.request import Request, urlopen

import pytest

from .conftest import KEY, TOKEN
from .test_search import Ask, Begin, asked, ids

PHONE = {"viewport": {"width": 390, "height": 780}, "has_touch": True, "is_mobile": True}
WIDTH = "document.documentElement.scrollWidth"


@pytest.fixture(autouse=True)
def no_albums(server: str, answer: Ask) -> Iterator[None]:
    """Each test leaves the collection without albums."""
    yield
    for album in answer("/api/albums")["albums"]:
        request = Request(f"{server}/api/albums?album={quote(album['name'])}", headers=KEY, method="DELETE")
        urlopen(request).close()


def send(server: str, body: dict[str, Any]) -> None:
    headers = {**KEY, "Content-Type": "application/json"}
    urlopen(Request(f"{server}/api/albums", json.dumps(body).encode(), headers)).close()


def chosen(page: Any) -> list[int]:
    found: list[int] = page.locator("#grid .tile").evaluate_all(
        "tiles => tiles.flatMap((tile, place) => tile.getAttribute('aria-pressed') === 'true' ? [place] : [])"
    )
    return found


def loved(page: Any) -> list[int]:
    found: list[int] = page.locator("#grid .tile").evaluate_all(
        "tiles => tiles.flatMap((tile, place) => tile.classList.contains('favourite') ? [place] : [])"
    )
    return found


def test_a_selection_by_corners_shift_and_keys(visit: Begin, server: str) -> None:
    begun = visit(server)
    page = begun.open(q="a disc")
    page.wait_for_selector("#grid .tile")
    bar, tiles = page.locator("#selection"), page.locator("#grid .tile")
    assert not bar.is_visible()
    tiles.nth(1).hover()
    tiles.nth(1).locator(".check").click()
    assert chosen(page) == [1] and bar.inner_text().startswith("1 selected") and "open" not in asked(page)
    tiles.nth(4).click(modifiers=["Shift"])
    assert chosen(page) == [1, 2, 3, 4] and "4 selected" in bar.inner_text()
    tiles.nth(2).click()
    assert chosen(page) == [1, 3, 4], "while some are chosen, a click chooses"
    tiles.nth(4).focus()
    page.keyboard.press("Escape")
    assert chosen(page) == [] and not bar.is_visible()
    tiles.nth(0).focus()
    page.keyboard.press("x")
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Shift+ArrowRight")
    assert chosen(page) == [0, 1, 2]
    page.keyboard.press("Control+a")
    assert len(chosen(page)) == len(begun.ids())
    bar.get_by_role("button", name="Clear the selection").click()
    tiles.nth(0).click()
    page.get_by_role("dialog").wait_for()


def test_favourites_and_an_album(visit: Begin, server: str, answer: Ask) -> None:
    begun = visit(server)
    page = begun.open(q="a disc")
    page.wait_for_selector("#grid .tile")
    shown = begun.ids()
    tiles = page.locator("#grid .tile")
    for place in (0, 2):
        tiles.nth(place).click(modifiers=["Control"])
    page.get_by_role("button", name="Add to favourites").click()
    page.get_by_role("button", name="Remove from favourites").wait_for()
    assert loved(page) == [0, 2]
    page.get_by_role("button", name="Add to album").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("New album").fill("Rome & <b>Ostia</b>")
    dialog.get_by_role("button", name="Create").click()
    page.locator("#toast").get_by_text("2 pictures added to “Rome & <b>Ostia</b>”").wait_for()
    assert chosen(page) == [] and not page.locator("#selection").is_visible()
    page.get_by_role("button", name="Albums").click()
    menu = page.locator("#albums")
    menu.get_by_text("Rome & <b>Ostia</b>").click()
    page.wait_for_function("() => document.querySelectorAll('#grid .tile').length === 2")
    assert asked(page) == {"album": ["Rome & <b>Ostia</b>"]} and set(begun.ids()) == {shown[0], shown[2]}
    page.locator("#words").fill("the house")
    page.wait_for_url("**q=the**")
    page.wait_for_function("() => !document.body.hasAttribute('aria-busy')")
    expected = answer("/api/search", q="the house", album="Rome & <b>Ostia</b>", k=48)
    assert begun.ids() == ids(expected) and len(ids(expected)) == 2
    page.get_by_role("button", name="Remove “Rome & <b>Ostia</b>”").click()
    page.wait_for_function("() => document.querySelectorAll('#grid .tile').length > 2")


def test_an_album_is_renamed_emptied_and_deleted(visit: Begin, server: str, answer: Ask) -> None:
    found = ids(answer("/api/search", q="a disc", k=3))
    send(server, {"album": "Rome", "add": found})
    begun = visit(server)
    page = begun.open(album="Rome")
    page.wait_for_selector("#grid .tile")
    assert begun.ids() == found[::-1], "the last added first"
    page.locator("#grid .tile").first.click(modifiers=["Control"])
    page.get_by_role("button", name="Remove from album").click()
    page.wait_for_function("() => document.querySelectorAll('#grid .tile').length === 2")
    page.get_by_role("button", name="Albums").click()
    menu = page.locator("#albums")
    menu.get_by_role("button", name="Rename album: Rome").click()
    menu.get_by_label("Rename album: Rome").fill("Roma")
    page.keyboard.press("Enter")
    menu.get_by_role("button", name="Rename album: Roma").wait_for()
    page.wait_for_url("**album=Roma")
    menu.get_by_role("button", name="Delete album: Roma").click()
    assert menu.get_by_text("Delete the album “Roma”? Its pictures stay.").is_visible()
    menu.get_by_role("button", name="Delete", exact=True).click()
    page.wait_for_url(f"{server}/")
    assert [album["name"] for album in answer("/api/albums")["albums"]] == ["favourites"]


def test_two_browsers_see_the_same_favourites(visit: Begin, server: str, answer: Ask) -> None:
    first, second = visit(server).open(q="a disc"), visit(server).open(q="a disc")
    for page in (first, second):
        page.wait_for_selector("#grid .tile")
    first.locator("#grid .tile").nth(3).click(modifiers=["Control"])
    first.get_by_role("button", name="Add to favourites").click()
    first.wait_for_selector("#grid .favourite")
    second.wait_for_timeout(3100)  # what was loaded just now counts as fresh
    second.evaluate("dispatchEvent(new Event('visibilitychange'))")
    second.wait_for_selector("#grid .favourite")
    assert loved(second) == loved(first) == [3]


def test_the_large_view_keeps_pictures(visit: Begin, server: str, answer: Ask) -> None:
    hit = answer("/api/search", q="a disc", k=1)["hits"][0]
    page = visit(server).open(open=hit["id"])
    viewer = page.locator("#viewer")
    viewer.get_by_role("button", name="Add to favourites").click()
    viewer.get_by_role("button", name="Remove from favourites").wait_for()
    viewer.get_by_role("button", name="Add to album").click()
    picker = page.locator(".picker")
    assert picker.get_by_role("button", name="Favourites").get_attribute("aria-pressed") == "true"
    picker.get_by_label("New album").fill("Rome")
    page.keyboard.press("Enter")
    picker.wait_for(state="detached")
    assert answer(f"/api/items/{hit['id']}/albums") == {"albums": ["favourites", "Rome"]}
    viewer.get_by_role("button", name="Add to album").click()
    picker.get_by_role("button", name="Rome").click()
    picker.wait_for(state="detached")
    assert viewer.is_visible(), "closing the choice closes nothing else"
    assert answer(f"/api/items/{hit['id']}/albums") == {"albums": ["favourites"]}


def test_a_download(visit: Begin, server: str, answer: Ask, tmp_path: Path) -> None:
    """With the cookie of a session: headers of a program do not reach a download of the browser."""
    begun = visit(server, admitted=False)
    begun.refusals_expected = True
    page = begun.open(q="a disc")
    page.get_by_label("Access token").fill(TOKEN)
    page.keyboard.press("Enter")
    page.wait_for_selector("#grid .tile")
    hits = answer("/api/search", q="a disc", k=3)["hits"]
    for place in range(3):
        page.locator("#grid .tile").nth(place).click(modifiers=["Control"])
    with page.expect_download() as caught:
        page.get_by_role("button", name="Download").click()
    assert caught.value.suggested_filename == "pictures.zip"
    caught.value.save_as(tmp_path / "pictures.zip")
    with zipfile.ZipFile(tmp_path / "pictures.zip") as held:
        assert {held.read(name) for name in held.namelist()} == {
            Path(hit["path"]).read_bytes() for hit in hits
        }
    page.locator("#toast").get_by_text("Downloading 3 pictures").wait_for()


def test_on_a_phone_a_long_press_begins_a_selection(visit: Begin, server: str) -> None:
    page = visit(server, **PHONE).open(q="a disc")
    page.wait_for_selector("#grid .tile")
    box = page.locator("#grid .tile").nth(2).bounding_box()
    middle = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
    session = page.context.new_cdp_session(page)
    session.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [middle]})
    page.wait_for_selector("#selection:not([hidden])")
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    page.wait_for_timeout(100)
    assert chosen(page) == [2] and "open" not in asked(page)
    page.locator("#grid .tile").nth(0).tap()
    assert chosen(page) == [0, 2]
    assert page.evaluate(WIDTH) == 390
    bar = page.locator("#selection").bounding_box()
    assert bar["x"] >= 0 and bar["x"] + bar["width"] <= 390
    page.get_by_role("button", name="Add to favourites").tap()
    page.get_by_role("button", name="Remove from favourites").wait_for()
    assert loved(page) == [0, 2]
    page.get_by_role("button", name="Albums").tap()
    menu = page.locator("#albums").bounding_box()
    assert menu["x"] >= 0 and menu["x"] + menu["width"] <= 390


def test_a_read_only_server_offers_no_changes(visit: Begin, server: str) -> None:
    begun = visit(server)

    def refuse(route: Any) -> None:
        told = route.fetch().json()
        route.fulfill(json={**told, "writable": False})

    begun.page.route("**/api/albums", refuse)
    page = begun.open(q="a disc")
    page.wait_for_selector("#grid .tile")
    page.locator("#grid .tile").first.click(modifiers=["Control"])
    assert page.get_by_role("button", name="Download").is_visible()
    assert not page.locator("#selection [data-role=favourite], #selection [data-role=album]").count()
    assert not page.locator("#albums-button").is_visible(), "there is no album to look at"

"""The start page without a query: months, timeline, folders, filters, map."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from .conftest import PICTURES, Visit
from .test_search import Ask, Begin, asked

TILES = ".months .tile"


def newest(answer: Ask, **filters: Any) -> list[str]:
    return [item["id"] for item in answer("/api/browse", k=200, **filters)["items"]]


def wait_for_tiles(begun: Visit, count: int) -> list[str]:
    begun.page.wait_for_function("n => document.querySelectorAll('.months .tile').length === n", arg=count)
    return begun.ids(TILES)


def test_the_newest_come_first_and_scrolling_brings_the_rest(visit: Begin, server: str, answer: Ask) -> None:
    begun = visit(server)
    page = begun.open()
    page.wait_for_selector(TILES)
    expected = newest(answer)
    first = begun.ids(TILES)
    assert first == expected[: len(first)] and len(first) < PICTURES
    headings = page.locator(".month h2").all_inner_texts()
    assert [headings[0].split()[:2], headings[-1].split()[:2]] == [["October", "2024"], ["January", "2024"]]
    for _ in range(30):
        page.mouse.wheel(0, 600)
        if page.locator(TILES).count() == PICTURES:
            break
        page.wait_for_timeout(100)
    assert wait_for_tiles(begun, PICTURES) == expected


def test_a_query_leaves_it_and_clearing_returns(visit: Begin, server: str) -> None:
    begun = visit(server)
    page = begun.open()
    page.wait_for_selector(TILES)
    page.keyboard.type("the house")
    page.wait_for_selector("#grid .tile")
    assert not page.locator("#browse").is_visible()
    page.locator("#words").fill("")
    page.wait_for_selector(TILES)
    assert begun.ids() == [] and asked(page) == {}


def test_the_timeline_jumps_by_keys_and_by_hand(visit: Begin, server: str, answer: Ask) -> None:
    begun = visit(server, reduced_motion="reduce")
    page = begun.open()
    page.wait_for_selector(TILES)
    rail = page.get_by_role("slider", name="Timeline")
    assert rail.get_attribute("aria-valuetext") == "October 2024"
    rail.focus()
    page.keyboard.press("End")
    oldest = newest(answer)[-1]
    page.wait_for_selector(f'{TILES}[data-id="{oldest}"]')
    assert rail.get_attribute("aria-valuetext") == "January 2024"
    assert page.locator('[data-month="2024-01"]').bounding_box()["y"] < 800
    page.keyboard.press("Home")
    page.keyboard.press("ArrowDown")
    assert rail.get_attribute("aria-valuetext") == "September 2024"
    box = rail.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] * 0.55)
    page.wait_for_function(
        "() => document.querySelector('[role=slider]').ariaValueText.match(/May|April|June/)"
    )
    month = page.locator('[data-month="2024-05"]')
    assert abs(month.bounding_box()["y"]) < 800


def test_folders_and_filters_need_no_words(visit: Begin, server: str, answer: Ask, gallery: Path) -> None:
    begun = visit(server, viewport={"width": 1280, "height": 5000})
    page = begun.open()
    wait_for_tiles(begun, PICTURES)
    tree = page.get_by_role("navigation", name="Folders")
    assert tree.locator(".folder").all_inner_texts() == ["All folders\n60", "cold\n30", "warm\n30"]
    tree.get_by_text("warm").click()
    warm = str(gallery / "photos" / "warm")
    assert wait_for_tiles(begun, 30) == newest(answer, folder=warm)
    assert asked(page) == {"folder": [warm]} and tree.locator("[aria-current]").inner_text() == "warm\n30"
    page.locator("#filter-button").click()
    page.locator("#filters").get_by_label("Format").select_option("jpeg")
    expected = newest(answer, folder=warm, format="jpeg")
    assert wait_for_tiles(begun, len(expected)) == expected
    assert page.locator("#status").inner_text() == f"{len(expected)} pictures"
    page.locator(".narrowed").get_by_role("button", name="warm").click()
    assert wait_for_tiles(begun, 15) == newest(answer, format="jpeg")
    begun.open(after="2030-01-01")
    page.locator("#notice").get_by_role("button", name="Reset filters").click()
    wait_for_tiles(begun, PICTURES)


def test_leafing_passes_from_month_to_month(visit: Begin, server: str, answer: Ask) -> None:
    begun = visit(server)
    page = begun.open()
    page.wait_for_selector(TILES)
    ids = newest(answer)
    months = [item["date"][:7] for item in answer("/api/browse", k=9)["items"]]
    assert len(set(months)) > 1
    page.locator(TILES).first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.get_by_role("dialog").wait_for()
    for expected in ids[2:9]:
        page.keyboard.press("ArrowRight")
        page.wait_for_url(f"**open={expected}**")
    page.keyboard.press("ArrowLeft")
    page.wait_for_url(f"**open={ids[7]}**")
    page.keyboard.press("Escape")
    page.wait_for_function("id => document.activeElement.dataset.id === id", arg=ids[7])


def test_the_map_narrows_to_a_place(visit: Begin, server: str, answer: Ask) -> None:
    begun = visit(server, viewport={"width": 1280, "height": 3000})
    page = begun.open()
    page.get_by_role("button", name="Map", exact=True).click()
    page.wait_for_selector(".mark")
    assert asked(page) == {"view": ["map"]}
    assert sorted(page.locator(".mark .amount").all_inner_texts()) == ["7", "8"]
    assert page.locator(".map path").first.get_attribute("d").startswith("M")
    (paris,) = [place for place in answer("/api/places", step=10)["places"] if place["latitude"] > 0]
    page.locator(".mark", has_text=str(paris["pictures"])).click()
    page.wait_for_url("**area=**")
    assert wait_for_tiles(begun, 8) == newest(answer, area="40,0,50,10")
    before = page.locator(".frame svg").get_attribute("viewBox")
    page.locator(".frame").focus()
    page.keyboard.press("-")
    page.keyboard.press("ArrowRight")
    assert page.locator(".frame svg").get_attribute("viewBox") != before
    page.locator(".narrowed").get_by_role("button", name="This area").click()
    page.wait_for_url("**view=map")


@pytest.mark.parametrize("view", ["", "map"])
def test_nothing_is_cut_on_a_phone(visit: Begin, server: str, view: str) -> None:
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    page = visit(server, **phone).open(view=view)
    page.wait_for_selector(TILES)
    page.get_by_role("button", name="Folders", exact=True).click()
    page.get_by_role("navigation", name="Folders").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    for element in ("#search", ".hero", ".timeline", ".month >> nth=0", ".folders", ".tools"):
        box = page.locator(element).first.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 390, element
    assert page.locator(".language").bounding_box()["width"] < 50
    assert page.locator("#words").bounding_box()["width"] > 200
    page.get_by_role("slider", name="Timeline").tap(position={"x": 15, "y": 500})
    page.wait_for_function("() => scrollY > 300")

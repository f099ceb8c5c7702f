"""A picture as the question, the large view, and pictures like one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from .conftest import drop_picture
from .test_search import Ask, Begin, asked, ids


def first_id(page: Any) -> str:
    found: str = page.locator("#grid .tile").first.get_attribute("data-id")
    return found


def test_drop_paste_and_choose(visit: Begin, server: str, answer: Ask, gallery: Path) -> None:
    begun = visit(server)
    page = begun.open()
    one, two, *_ = answer("/api/search", q="a disc", k=30)["hits"][::10]
    drop_picture(page, f"/api/items/{one['id']}/picture")
    page.wait_for_selector("#grid .tile")
    assert first_id(page) == one["id"]
    assert page.locator("#chip img").get_attribute("alt") == "Your picture: mine.png"
    assert not page.locator("#drop").is_visible() and not page.locator("#weight").is_visible()
    drop_picture(page, f"/api/items/{two['id']}/picture", event="paste")
    page.wait_for_function("id => document.querySelector('#grid .tile')?.dataset.id === id", arg=two["id"])
    page.go_back()
    page.wait_for_function("id => document.querySelector('#grid .tile')?.dataset.id === id", arg=one["id"])
    page.locator("#file").set_input_files(two["path"])
    page.wait_for_function("id => document.querySelector('#grid .tile')?.dataset.id === id", arg=two["id"])
    page.get_by_role("button", name="Remove the picture").click()
    page.wait_for_selector(".examples")
    assert begun.ids() == []


def test_words_and_picture_are_weighed(visit: Begin, server: str, answer: Ask) -> None:
    begun = visit(server)
    page = begun.open()
    words = answer("/api/search", q="the house", k=48)
    drop_picture(page, f"/api/items/{words['hits'][-1]['id']}/picture")
    page.wait_for_selector("#grid .tile")
    page.locator("#words").fill("the house")
    slider = page.get_by_label("Share of the words")
    slider.fill("1")
    page.wait_for_url("**weight=1**")
    page.wait_for_function(
        "id => document.querySelector('#grid .tile')?.dataset.id === id", arg=ids(words)[0]
    )
    assert begun.ids()[0] == ids(words)[0]
    slider.fill("0")
    page.wait_for_function(
        "id => document.querySelector('#grid .tile')?.dataset.id === id", arg=ids(words)[-1]
    )
    assert begun.ids()[0] == ids(words)[-1]


def test_a_large_photo_is_made_small_before_it_travels(visit: Begin, server: str, tmp_path: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (900, 1400, 3), dtype=np.uint8)
    Image.fromarray(noise).save(tmp_path / "noise.png")
    page = visit(server).open()
    with page.expect_request(lambda request: request.method == "POST") as caught:
        page.locator("#file").set_input_files(tmp_path / "noise.png")
    sent = int(caught.value.all_headers()["content-length"])
    assert 10_000 < sent < (tmp_path / "noise.png").stat().st_size / 3
    page.wait_for_selector("#grid .tile")


def test_a_file_that_is_no_picture(visit: Begin, server: str, tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear all")
    begun = visit(server)
    page = begun.open()
    page.wait_for_selector(".examples button")
    page.locator("#file").set_input_files(tmp_path / "letter.txt")
    page.get_by_text("“letter.txt” is not a picture.").wait_for()
    assert begun.ids() == [], "nothing was asked for"


def test_the_large_view_and_similar_pictures(visit: Begin, server: str, answer: Ask) -> None:
    begun = visit(server)
    page = begun.open(q="a disc")
    page.wait_for_selector("#grid .tile")
    hits = answer("/api/search", q="a disc", k=48)["hits"]
    place, hit = next((n, hit) for n, hit in enumerate(hits) if hit["note"] and n > 0)
    page.locator("#grid .tile").nth(place).click()
    dialog = page.get_by_role("dialog")
    dialog.wait_for()
    dialog.get_by_text("More details").click()
    shown = dialog.inner_text()
    for text in (
        hit["path"],
        hit["note"],
        f"{hit['score']:.3f}",
        f"{hit['width']} × {hit['height']}",
        hit["format"].upper(),
    ):
        assert text in shown
    page.wait_for_function("() => document.querySelector('.stage img').currentSrc.endsWith('/picture')")
    assert asked(page)["open"] == [hit["id"]]
    dialog.get_by_role("button", name="Next picture").click()
    page.wait_for_url(f"**open={hits[place + 1]['id']}**")
    page.go_back()
    dialog.wait_for(state="hidden")
    page.locator("#grid .tile").nth(place).click()
    dialog.get_by_role("button", name="Similar pictures").click()
    page.wait_for_url(f"**like={hit['id']}**")
    dialog.wait_for(state="hidden")
    similar = ids(answer(f"/api/items/{hit['id']}/similar", k=48))
    page.wait_for_function("id => document.querySelector('#grid .tile')?.dataset.id === id", arg=similar[0])
    assert begun.ids()[:48] == similar
    assert page.locator("#words").input_value() == ""


def test_the_large_view_leafs_on_beyond_what_is_loaded(visit: Begin, server: str, answer: Ask) -> None:
    begun = visit(server, viewport={"width": 1280, "height": 200})
    page = begun.open(q="a disc")
    page.wait_for_selector("#grid .tile")
    assert len(begun.ids()) == 48, "no more are loaded while the end is far"
    expected = ids(answer("/api/search", q="a disc", k=200))
    page.locator("#grid .tile").nth(47).evaluate("tile => tile.click()")
    following = page.get_by_role("dialog").get_by_role("button", name="Next picture")
    following.click()
    page.wait_for_url(f"**open={expected[48]}**")
    assert begun.ids() == expected
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="hidden")
    page.locator("#grid .tile").nth(len(expected) - 2).evaluate("tile => tile.click()")
    following.click()
    page.wait_for_url(f"**open={expected[-1]}**")
    assert following.is_disabled()


def test_an_address_opens_the_large_view(visit: Begin, server: str, answer: Ask) -> None:
    hit = answer("/api/search", q="a disc", k=1)["hits"][0]
    page = visit(server).open(open=hit["id"])
    page.get_by_role("dialog").get_by_text("More details").click()
    page.get_by_role("dialog").get_by_text(hit["path"]).wait_for()
    page.keyboard.press("Escape")
    page.wait_for_url(f"{server}/")
    assert not page.get_by_role("dialog").is_visible()


def test_the_path_can_be_copied(visit: Begin, server: str, answer: Ask) -> None:
    hit = answer("/api/search", q="a disc", k=1)["hits"][0]
    begun = visit(server, permissions=["clipboard-read", "clipboard-write"])
    page = begun.open(open=hit["id"])
    page.get_by_role("dialog").get_by_text("More details").click()
    page.get_by_role("button", name="Copy path").click()
    page.get_by_role("button", name="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == hit["path"]

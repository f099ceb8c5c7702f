"""The large view: zoom, full screen, slideshow, swipes, and what is known of a picture."""

from __future__ import annotations

from typing import Any

from .test_search import Ask, Begin

SCALE = "() => new DOMMatrix(getComputedStyle(document.querySelector('.stage > img')).transform).a"
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


def touch(session: Any, kind: str, *points: tuple[float, float]) -> None:
    touches = [{"x": x, "y": y, "id": place} for place, (x, y) in enumerate(points)]
    session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touches})


def test_wheel_double_click_keys_and_buttons_zoom(visit: Begin, server: str) -> None:
    page = visit(server, reduced_motion="reduce").open(q="a disc")
    page.locator("#grid .tile").first.click()
    page.get_by_role("dialog").wait_for()
    picture = page.locator(".stage > img")
    box = page.locator(".stage").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.wheel(0, -100)
    page.wait_for_function(f"() => ({SCALE})() > 1.1")
    page.keyboard.press("0")
    page.wait_for_function(f"() => ({SCALE})() === 1")
    page.keyboard.press("+")
    page.keyboard.press("+")
    assert page.evaluate(SCALE) > 2
    page.keyboard.press("-")
    page.keyboard.press("-")
    assert abs(page.evaluate(SCALE) - 1) < 0.01
    page.get_by_role("button", name="Zoom in").click()
    assert page.evaluate(SCALE) > 1.5
    left = picture.bounding_box()["x"]
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2 - 40, box["y"] + box["height"] / 2, steps=4)
    page.mouse.up()
    assert picture.bounding_box()["x"] < left - 20
    page.get_by_role("button", name="Zoom out").click()
    page.mouse.dblclick(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.wait_for_function(f"() => ({SCALE})() > 2")


def test_facts_come_first_and_score_and_path_behind(visit: Begin, server: str, answer: Ask) -> None:
    hit = answer("/api/search", q="a disc", k=1, format="jpeg")["hits"][0]
    page = visit(server).open(q="a disc", format="jpeg")
    page.locator("#grid .tile").first.click()
    dialog = page.get_by_role("dialog")
    dialog.wait_for()
    names = dialog.locator("aside > dl dt").all_inner_texts()
    assert names == ["Date", "Dimensions", "File size", "Camera", "Place"]
    assert "SONY ILCE-7M3" in dialog.locator("aside > dl").inner_text()
    assert not dialog.get_by_text(hit["path"]).is_visible()
    dialog.get_by_text("More details").click()
    assert dialog.get_by_text(hit["path"]).is_visible()
    assert f"{hit['score']:.3f}" in dialog.locator(".behind").inner_text()
    download = dialog.get_by_role("link", name="Download")
    assert download.get_attribute("download") == hit["path"].rpartition("/")[2]
    with page.expect_download() as saved:
        download.click()
    assert saved.value.suggested_filename == hit["path"].rpartition("/")[2]
    dialog.locator("[data-role=place]").click()
    page.wait_for_url("**view=map**")
    page.wait_for_selector(".months .tile")
    dialog.wait_for(state="hidden")


def test_full_screen_and_slideshow(visit: Begin, server: str, answer: Ask) -> None:
    ids = [hit["id"] for hit in answer("/api/search", q="a disc", k=3)["hits"]]
    page = visit(server).open(q="a disc")
    page.locator("#grid .tile").first.click()
    page.get_by_role("dialog").wait_for()
    page.get_by_role("button", name="Slideshow").click()
    page.get_by_role("button", name="Stop the slideshow").wait_for()
    page.wait_for_url(f"**open={ids[1]}**")
    page.get_by_role("button", name="Stop the slideshow").click()
    page.get_by_role("button", name="Slideshow").wait_for()
    page.keyboard.press("f")
    page.wait_for_function("() => document.querySelector('#viewer.full .stage').clientWidth === innerWidth")
    assert not page.locator("#viewer aside").is_visible()
    assert page.evaluate("document.activeElement.dataset.role") == "fullscreen"
    page.keyboard.press("ArrowRight")
    page.wait_for_url(f"**open={ids[2]}**")
    page.keyboard.press("f")
    page.wait_for_selector("#viewer aside")


def test_fingers_swipe_and_pinch(visit: Begin, server: str, answer: Ask) -> None:
    ids = [hit["id"] for hit in answer("/api/search", q="a disc", k=2)["hits"]]
    page = visit(server, **PHONE).open(q="a disc")
    page.locator("#grid .tile").first.click()
    page.get_by_role("dialog").wait_for()
    assert page.locator("#viewer").evaluate("e => e.scrollWidth") <= 390
    fingers = page.context.new_cdp_session(page)
    touch(fingers, "touchStart", (300, 250))
    for x in (250, 200, 120):
        touch(fingers, "touchMove", (x, 252))
    touch(fingers, "touchEnd")
    page.wait_for_url(f"**open={ids[1]}**")
    touch(fingers, "touchStart", (180, 250), (210, 250))
    for apart in (40, 80, 120):
        touch(fingers, "touchMove", (180 - apart, 250), (210 + apart, 250))
    touch(fingers, "touchEnd")
    page.wait_for_function(f"() => ({SCALE})() > 2")
    assert f"open={ids[1]}" in page.url

"""Videos on the page: the time on a tile, and a player that begins there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ...collection.indexing import index_folders
from ...videos import write_shots
from ..conftest import serving
from .test_search import Begin


@pytest.fixture(scope="module")
def films(gallery: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server with one video of three shots, and one that no browser plays."""
    place = tmp_path_factory.mktemp("films").resolve()
    write_shots(place / "videos" / "shots.webm", [101, 102, 103], seconds=6)
    write_shots(place / "videos" / "old.avi", [104], seconds=2)
    index_folders(place / "c.lv", [place / "videos"], model=gallery / "model", device="cpu")
    with serving(str(place / "c.lv"), log=place / "server.log") as (port, _):
        yield f"http://127.0.0.1:{port}"


def tile(page: Any, name: str, time: str) -> Any:
    return page.locator(f'#grid .tile[aria-label*="{name}"][aria-label*="{time}"]')


def test_a_moment_plays_from_its_second(visit: Begin, films: str) -> None:
    page = visit(films).open(q="a disc", lang="en")
    tile(page, "shots.webm", "0:12").wait_for()
    assert sorted(page.locator("#grid .tile .time").all_inner_texts()) == ["0:00", "0:00", "0:06", "0:12"]
    tile(page, "shots.webm", "0:12").click()
    video = page.get_by_role("dialog").locator("video")
    video.wait_for()
    page.wait_for_function("() => document.querySelector('.stage video').readyState >= 2")
    assert video.evaluate("v => [v.paused, v.controls, Math.round(v.currentTime), v.preload]") == [
        True,
        True,
        12,
        "metadata",
    ]
    video.evaluate("v => { v.muted = true; return v.play(); }")
    page.wait_for_function("() => document.querySelector('.stage video').currentTime > 12.1")
    assert "0:12 / 0:18" in page.locator("aside dl").first.inner_text()
    assert page.get_by_role("button", name="Zoom in").count() == 0
    link = page.get_by_role("link", name="Download")
    assert link.get_attribute("href").endswith("/video") and link.get_attribute("download") == "shots.webm"
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="hidden")
    page.wait_for_function("() => document.querySelector('video').paused")


def test_keys_and_slideshow_pass_videos(visit: Begin, films: str) -> None:
    begun = visit(films)
    page = begun.open(q="a disc", lang="en")
    page.locator("#grid .tile").first.wait_for()
    ids = begun.ids()
    page.locator("#grid .tile").first.click()
    page.locator(".stage video").wait_for()
    page.keyboard.press("ArrowRight")
    page.wait_for_url(f"**open={ids[1]}**")
    page.locator(".stage video").focus()
    page.keyboard.press("ArrowRight")  # seeks in the video
    assert f"open={ids[1]}" in page.url
    page.get_by_role("button", name="Slideshow").click()
    page.wait_for_url(f"**open={ids[2]}**")
    page.get_by_role("button", name="Stop the slideshow").wait_for()


def test_a_video_that_a_browser_cannot_play_shows_its_frame(visit: Begin, films: str) -> None:
    page = visit(films).open(q="a disc", lang="en", format="avi")
    page.locator("#grid .tile").first.click()
    page.locator(".gone", has_text="This browser cannot play the video").wait_for()
    assert page.locator(".stage video").get_attribute("poster").startswith("api/items/")


def test_browsing_shows_how_long_a_video_is(visit: Begin, films: str) -> None:
    page = visit(films).open(view="browse")
    page.locator(".tile .time").first.wait_for()
    assert sorted(page.locator(".tile .time").all_inner_texts()) == ["0:02", "0:18"]

"""Copies and shots of one series are one tile; the page opens as an app when its server is gone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from ...collection.exif import exif_of
from ...collection.indexing import index_folders
from ..conftest import serving
from .test_search import Begin


def scene(seed: int) -> Image.Image:
    noise = np.random.default_rng(seed).integers(0, 256, (5, 7, 3), dtype=np.uint8)
    return Image.fromarray(noise).resize((420, 300), Image.Resampling.BICUBIC)


@pytest.fixture(scope="module")
def album(gallery: Path) -> Path:
    """A picture and two copies of it, a series of two shots, one other picture, and a panorama; all of one month."""
    folder = gallery / "album"
    folder.mkdir()
    first = scene(1)
    first.save(folder / "a.jpg", exif=exif_of(taken="2024:05:03 10:00:00"))
    first.resize((210, 150)).save(
        folder / "a-small.jpg", quality=60, exif=exif_of(taken="2024:05:03 10:00:00")
    )
    first.save(folder / "b-copy.jpg", quality=70, exif=exif_of(taken="2024:05:20 10:00:00"))
    for number in range(2):
        shot = scene(2).crop((4 * number, 0, 400 + 4 * number, 300))
        shot.save(folder / f"c{number}.jpg", exif=exif_of(taken=f"2024:05:10 12:00:0{3 * number}"))
    scene(3).save(folder / "d.jpg", exif=exif_of(taken="2024:05:10 12:00:05"))
    scene(4).resize((3000, 500)).save(folder / "e.jpg", exif=exif_of(taken="2024:05:01 12:00:05"))
    index_folders(gallery / "album.lv", [folder], model=gallery / "model", device="cpu")
    return gallery / "album.lv"


@pytest.fixture(scope="module")
def album_server(album: Path) -> Iterator[str]:
    with serving(str(album), log=album.parent / "album.log") as (port, _):
        yield f"http://127.0.0.1:{port}"


def counts(page: Any, tiles: str) -> list[str]:
    texts: list[str] = page.locator(tiles).evaluate_all(
        "t => t.map(e => e.querySelector('.stack')?.textContent ?? '')"
    )
    return texts


def test_one_tile_with_a_count_opens_the_group(visit: Begin, album_server: str) -> None:
    page = visit(album_server).open()
    page.wait_for_function("() => document.querySelectorAll('.months .tile').length === 4")
    assert counts(page, ".months .tile") == [
        "3",
        "",
        "2",
        "",
    ]  # the newest first: copies, other, series, panorama
    tile = page.locator(".months .tile").first
    assert tile.get_attribute("aria-description") == "3 similar shots"
    tile.click()
    strip = page.locator(".strip button")
    strip.first.wait_for()
    assert strip.count() == 3 and strip.first.get_attribute("aria-current") == "true"
    second = strip.nth(1).get_attribute("aria-label")
    strip.nth(1).click()
    page.wait_for_function("() => document.querySelectorAll('.strip button')[1].ariaCurrent === 'true'")
    assert second is not None and page.locator("#viewer h2").inner_text() in second
    page.keyboard.press("Escape")
    page.wait_for_function("() => document.activeElement.classList.contains('tile')")
    assert page.evaluate("document.activeElement.querySelector('.stack').textContent") == "3"


def test_results_are_grouped_too(visit: Begin, album_server: str) -> None:
    page = visit(album_server).open(q="the house")
    page.wait_for_function("() => document.querySelectorAll('#grid .tile').length === 4")
    assert sorted(counts(page, "#grid .tile")) == ["", "", "2", "3"]
    assert page.locator("#status").inner_text() == "7 pictures shown"


def test_a_panorama_is_sharp(visit: Begin, album_server: str) -> None:
    page = visit(album_server).open()
    page.wait_for_function("() => document.querySelectorAll('.months .tile').length === 4")
    image = page.locator(".months .tile img").last
    image.scroll_into_view_if_needed()
    page.wait_for_function("() => [...document.querySelectorAll('.months img')].at(-1).naturalWidth > 0")
    natural, shown = image.evaluate("i => [i.naturalHeight, i.clientHeight]")
    assert natural >= 200 >= shown * 0.9


def test_the_page_opens_without_its_server_and_keeps_nothing_private(visit: Begin, album: Path) -> None:
    with serving(str(album), log=album.parent / "app.log") as (port, _):
        begun = visit(f"http://127.0.0.1:{port}", service_workers="allow")
        page = begun.open(q="the house")
        page.wait_for_selector("#grid .tile")
        manifest = page.evaluate(
            "async () => (await fetch(document.querySelector('[rel=manifest]').href)).json()"
        )
        assert [manifest["name"], manifest["display"], manifest["start_url"]] == [
            "lingvis",
            "standalone",
            "../",
        ]
        for icon in manifest["icons"]:
            assert page.evaluate("async (src) => (await fetch('/static/' + src)).ok", icon["src"])
        page.wait_for_function(
            "() => navigator.serviceWorker.ready.then(r => r.active.state === 'activated')"
        )
        page.reload()
        page.wait_for_selector("#grid .tile")
        kept = page.evaluate(
            "async () => (await Promise.all((await caches.keys()).map(async name =>"
            " (await (await caches.open(name)).keys()).map(r => new URL(r.url).pathname)))).flat()"
        )
        assert "/" in kept and "/static/app.js" in kept and len(kept) > 40
        assert all(path == "/" or path.startswith("/static/") for path in kept)
    begun.refusals_expected = True
    page.goto(f"{begun.base}/?q=again")
    page.get_by_text("The server does not answer").wait_for()
    assert page.locator("#words").input_value() == "again"

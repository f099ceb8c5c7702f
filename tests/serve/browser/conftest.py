"""One collection of coloured pictures, one server over it, one browser."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import pytest
from PIL import Image, ImageDraw

from ...collection.conftest import WORDS, make_model
from ...collection.exif import exif_of
from ...collection.indexing import index_folders
from ..conftest import serving

sync_api = pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright")

COLOURS = ["red", "green", "blue", "yellow", "purple", "orange"]
SIZES = [(120, 80), (80, 120), (100, 100), (200, 80), (90, 60)]
PLACES = [((48, 51, 30), "N", (2, 17, 42), "E"), ((33, 51, 54), "S", (151, 12, 36), "E")]
PICTURES = 60  # more than the page loads at once
TOKEN = "a token for the tests"
KEY = {"Authorization": f"Bearer {TOKEN}"}


@dataclass
class Visit:
    """A page in a fresh browser context, and all that went wrong or left its server's origin."""

    page: Any
    base: str
    problems: list[str] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)
    refusals_expected: bool = False

    def open(self, **parameters: Any) -> Any:
        self.page.goto(f"{self.base}/?{urlencode(parameters, doseq=True)}")
        self.page.wait_for_function("() => document.title !== 'lingvis'")  # its texts are there
        return self.page

    def ids(self, tiles: str = "#grid .tile") -> list[str]:
        found: list[str] = self.page.locator(tiles).evaluate_all("tiles => tiles.map(t => t.dataset.id)")
        return found

    def hear(self, message: Any) -> None:
        expected = self.refusals_expected and message.text.startswith("Failed to load resource")
        blocked = message.text.startswith("Service Worker registration blocked")
        if message.type in ("error", "warning") and not expected and not blocked:
            self.problems.append(message.text)


@pytest.fixture(scope="session")
def gallery(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """photos/warm and photos/cold: a coloured disc on each picture, every fifth with a caption; photos.lv.

    There is a picture every five days of 2024, from January to October; JPEG files carry a position.
    """
    home = tmp_path_factory.mktemp("gallery").resolve()
    words = {**WORDS, "ar": ["كلب على الشاطئ"], "fa": ["سگ"], "ug": ["ئىت"]}
    make_model(home / "model", words=words, per_language=True)  # so that the language matters
    for number in range(PICTURES):
        colour, size = COLOURS[number % len(COLOURS)], SIZES[number % len(SIZES)]
        folder = home / "photos" / ("warm" if colour in ("red", "yellow", "orange") else "cold")
        folder.mkdir(parents=True, exist_ok=True)
        picture = Image.new("RGB", size, "white")
        ImageDraw.Draw(picture).ellipse([number % 20, 5, 60 + number % 15, 60], fill=colour)
        left = (17 * number) % (size[0] - 20)  # so that no two are taken for copies
        ImageDraw.Draw(picture).rectangle([left, size[1] - 20, left + 18, size[1]], fill="black")
        kind = "jpg" if number % 4 == 0 else "png"
        path = folder / f"{number:02}-{colour}.{kind}"
        place = PLACES[number // 4 % 2] if kind == "jpg" else None
        picture.save(path, exif=exif_of(camera=("SONY", "ILCE-7M3"), place=place))
        moment = datetime(2024, 1, 1, 12) + timedelta(days=5 * number)
        os.utime(path, (moment.timestamp(), moment.timestamp()))
        if number % 5 == 0:
            (folder / f"{number:02}-{colour}.en.txt").write_text(f"a {colour} disc")
    index_folders(home / "photos.lv", [home / "photos"], model=home / "model", device="cpu")
    return home


@pytest.fixture(scope="session")
def server(gallery: Path) -> Iterator[str]:
    """It wants a token, which all visits bring but those that ask for the form."""
    env = {"LINGVIS_TOKEN": TOKEN}
    with serving(str(gallery / "photos.lv"), env=env, log=gallery / "server.log") as (port, _):
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    found = shutil.which("chromium")
    if found is None:
        if os.environ.get("LINGVIS_NEED_BROWSER") == "1":
            pytest.fail(
                "LINGVIS_NEED_BROWSER=1, but there is no chromium; install it with: apt install chromium"
            )
        pytest.skip("there is no chromium; install it with: apt install chromium")
    with sync_api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Visit]]:
    """Visits of a server; afterwards nothing may have gone wrong and nothing may have left its origin."""
    visits: list[Visit] = []

    def begin(base: str, *, admitted: bool = True, **options: Any) -> Visit:
        usual = {"viewport": {"width": 1280, "height": 800}, "locale": "en-US", "service_workers": "block"}
        context = browser.new_context(**usual | options, extra_http_headers=KEY if admitted else {})
        context.set_default_timeout(8000)
        begun = Visit(context.new_page(), base)
        begun.page.on("console", begun.hear)
        begun.page.on("pageerror", lambda error: begun.problems.append(str(error)))
        begun.page.on("request", lambda request: _note_stranger(begun, request.url))
        visits.append(begun)
        return begun

    yield begin
    for each in visits:
        each.page.context.close()
        assert each.problems == []
        assert each.strangers == []


def _note_stranger(visit: Visit, url: str) -> None:
    if not url.startswith((f"{visit.base}/", "blob:", "data:")):
        visit.strangers.append(url)


@pytest.fixture(scope="session")
def answer(server: str) -> Callable[..., dict[str, Any]]:
    """What the server says to a program that asks the same."""

    def ask(path: str, **parameters: Any) -> dict[str, Any]:
        with urlopen(Request(f"{server}{path}?{urlencode(parameters)}", headers=KEY)) as body:
            read: dict[str, Any] = json.load(body)
            return read

    return ask


def drop_picture(page: Any, url: str, *, event: str = "drop") -> None:
    """Let a file fall onto the page, or paste it, as a person would."""
    page.evaluate(
        """async ([url, event]) => {
          const blob = await (await fetch(url)).blob();
          const data = new DataTransfer();
          data.items.add(new File([blob], "mine.png", {type: blob.type}));
          const options = {bubbles: true, cancelable: true, dataTransfer: data, clipboardData: data};
          if (event === "paste") document.body.dispatchEvent(new ClipboardEvent("paste", options));
          else for (const name of ["dragover", "drop"]) document.body.dispatchEvent(new DragEvent(name, options));
        }""",
        [url, event],
    )

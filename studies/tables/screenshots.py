"""The README's two pictures of the search page, made again from the demo's collection that is being served.

lingvis serve demo/scenes.lv --port 8000
python docs/screenshots.py http://127.0.0.1:8000
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

IMAGES = Path(__file__).parent / "images"
COLUMNS = ["en:penguin", "de:Pinguin", "ar:بطريق", "ja:ペンギン"]
SHOTS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    # file: what the browser prefers, what is asked, what must be there
    "search-results.png": ({"locale": "en-US"}, {"q": "Rakete, Schloss und Hammer"}, "#grid .tile"),
    "search-compare.png": (
        {"locale": "en-US", "color_scheme": "dark"},
        {"compare": 1, "column": COLUMNS},
        ".best .shared",
    ),
}


def main(address: str) -> None:
    """Write both pictures."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, (preferences, question, wanted) in SHOTS.items():
            page = browser.new_page(viewport={"width": 1280, "height": 800}, **preferences)
            page.goto(f"{address}/?{urlencode(question, doseq=True)}")
            page.wait_for_selector(wanted)
            page.wait_for_load_state("networkidle")  # all thumbnails are there
            page.screenshot(path=IMAGES / name)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1].rstrip("/"))

"""The README's two pictures of the search page, from a server of the demo's collection.

lingvis serve demo/photographs.lv --port 8000
python -m studies screenshots http://127.0.0.1:8000
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from studies.arguments import make_parser

IMAGES = Path(__file__).parents[2] / "docs" / "images"
COLUMNS = ["en:a boat", "de:ein Boot", "fr:un bateau", "ar:قارب"]
SHOTS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    # file: preferences of the browser, the query, an element that must exist
    "search-results.png": ({"locale": "en-US"}, {"q": "ein Vogel auf einem Ast"}, "#grid .tile"),
    "search-compare.png": (
        {"locale": "en-US", "color_scheme": "dark"},
        {"compare": 1, "column": COLUMNS},
        ".best .shared",
    ),
}


def take(address: str) -> None:
    """Write both pictures."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, (preferences, query, element) in SHOTS.items():
            page = browser.new_page(viewport={"width": 1280, "height": 800}, **preferences)
            page.goto(f"{address}/?{urlencode(query, doseq=True)}")
            page.wait_for_selector(element)
            page.wait_for_load_state("networkidle")  # all thumbnails are loaded
            page.screenshot(path=IMAGES / name)
        browser.close()


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse and take the pictures."""
    parser = make_parser("screenshots", __doc__)
    parser.add_argument("address", help="of the server, such as http://127.0.0.1:8000")
    take(parser.parse_args(arguments).address.rstrip("/"))


if __name__ == "__main__":
    main()

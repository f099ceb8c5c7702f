"""axe-core finds nothing serious: on the start page, among results, in the large view, on a phone.

axe-core (MPL-2.0) is not part of this repository: npm fetches it, or LINGVIS_AXE names its file axe.min.js.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest

from .test_search import Begin

VERSION = "4.10.3"
SERIOUS = ("serious", "critical")


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The script that checks a page."""
    named = os.environ.get("LINGVIS_AXE")
    if named:
        return Path(named).read_text(encoding="utf-8")
    npm, folder = shutil.which("npm"), tmp_path_factory.mktemp("axe")
    if npm is None:
        pytest.skip("axe-core is fetched by npm, and there is none")
    packed = subprocess.run(
        [npm, "pack", f"axe-core@{VERSION}", "--silent"],
        cwd=folder,
        capture_output=True,
        timeout=120,
        check=False,
    )
    if packed.returncode:
        pytest.skip("npm cannot fetch axe-core: no network")
    with tarfile.open(next(folder.glob("*.tgz"))) as archive:
        file = archive.extractfile("package/axe.min.js")
        assert file is not None
        return file.read().decode()


def serious(page: Any, axe: str) -> list[str]:
    """The serious findings of the page as it is now, with the first element of each."""
    page.evaluate(axe)
    found: list[str] = page.evaluate(
        """async (serious) => (await axe.run()).violations.filter(v => serious.includes(v.impact))
          .map(v => `${v.id}: ${v.nodes[0].html} ${v.nodes[0].failureSummary}`)""",
        SERIOUS,
    )
    return found


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_no_serious_finding(visit: Begin, server: str, axe: str, width: int, scheme: str) -> None:
    begun = visit(
        server, viewport={"width": width, "height": 844}, color_scheme=scheme, reduced_motion="reduce"
    )
    page = begun.open(view="map")
    page.wait_for_selector(".months .tile")
    page.wait_for_selector(".mark")
    page.wait_for_selector(".examples button")
    assert serious(page, axe) == []
    begun.open(q="a disc")
    page.wait_for_selector("#grid .tile")
    page.locator("#filter-button").click()
    assert serious(page, axe) == []
    page.locator("#grid .tile").first.click()
    page.get_by_role("dialog").get_by_text("More details").click()
    page.wait_for_function("() => document.querySelector('.stage img').currentSrc.endsWith('/picture')")
    assert serious(page, axe) == []

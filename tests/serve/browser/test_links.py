"""Addresses in captions, such as those of authors and licences, are links; nothing else of a caption becomes markup."""

from __future__ import annotations

from typing import Any

CREDIT = "A <b>dog</b> | Ann | CC BY 4.0: https://creativecommons.org/licenses/by/4.0/ | see http://a.example/x_(1).jpg. End"
LINKED = """async (text) => {
  const { linked } = await import(new URL("static/links.js", document.baseURI));
  const place = document.createElement("p");
  place.append(...linked(text));
  return [place.textContent, [...place.querySelectorAll("*")].map((link) => [link.tagName, link.href, link.rel])];
}"""


def test_addresses_are_links(visit: Any, server: str) -> None:
    page = visit(server).open()
    text, links = page.evaluate(LINKED, CREDIT)
    assert text == CREDIT
    assert links == [
        ["A", "https://creativecommons.org/licenses/by/4.0/", "noopener noreferrer"],
        ["A", "http://a.example/x_(1).jpg", "noopener noreferrer"],
    ]
    assert page.evaluate(LINKED, "javascript:alert(1) a red disc")[1] == []

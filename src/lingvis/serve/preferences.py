"""The languages that a browser says its user reads."""

from __future__ import annotations

from starlette.requests import Request

MOST = 8


def accepted_languages(request: Request) -> list[str]:
    """Return the languages of the header Accept-Language in its order: de-DE, de and en of "de-DE,de;q=0.9,en;q=0.8"."""
    header = request.headers.get("accept-language", "")
    tags = [part.partition(";")[0].strip() for part in header[:400].split(",")]
    return [tag for tag in tags if tag.replace("-", "").isalnum()][:MOST]

"""Requests that pages of other sites send through a visitor's browser."""

from __future__ import annotations

from starlette.datastructures import Headers

from lingvis.serve.limits.refusals import Refusal

OTHER_SITE = Refusal(
    403, "this request comes from a page of another site; only this server's page may send requests"
)


def refuse_other_sites(headers: Headers) -> Refusal | None:
    """Return a refusal if a header of the browser reveals a page of another site."""
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    if site is not None:  # only the browser sets it, and it is also right behind a proxy
        return None if site in ("same-origin", "none") else OTHER_SITE
    if origin is None:
        return None
    # A page can set the forwarded host only with permission of this server (CORS), which never grants it.
    own = {headers.get("host", "").lower(), headers.get("x-forwarded-host", "").lower()} - {""}
    return None if origin.lower().partition("://")[2] in own else OTHER_SITE

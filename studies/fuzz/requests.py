"""Odd requests as raw bytes: parameters of every route, and heads that no browser would send."""

from __future__ import annotations

import random
from dataclasses import dataclass
from urllib.parse import quote

from studies.fuzz.mutate import EXTREMES, case_random, dump_json, mutate_bytes, mutate_json
from studies.fuzz.pictures import originals

PARAMETERS, HEADS = "parameters", "heads"
MANY = 20_000  # parameters, about as many as fit into a head
NAMES = (
    *("q", "k", "offset", "folder", "after", "before", "min_size", "max_size", "format", "lang", "captions"),
    *("weight", "v", "image", "token", "id", "", "q[]", "\0", "%", "__proto__", "x" * 300),
)
VALUES = (
    *(
        "",
        " ",
        "a dog",
        "犬",
        "\U0001f415",
        "\0",
        "\r\nX-Other: 1",
        "%",
        "%00",
        "%ff",
        "'",
        '"',
        "\\",
        "';--",
        "../..",
        "/",
    ),
    *(
        "true",
        "null",
        "NaN",
        "inf",
        "-1",
        "0",
        "1e400",
        "0x10",
        "1_000",
        "١٢",
        "９",
        "[]",
        "{}",
        "2024-05-01",
        "0000-00-00",
    ),
    *(
        "9999-12-31T23:59:59.999999",
        "2024-02-30",
        "jpeg",
        "en",
        "zz",
        "\u202e",
        "\u0301" * 500,
        "x" * 2000,
        "9" * 5000,
    ),
)
PATHS = (
    *(
        "/api/search",
        "/api/search",
        "/api/search",
        "/api/collection",
        "/api/session",
        "/api/health",
        "/metrics",
        "/",
    ),
    *("/api/items/{id}", "/api/items/{id}/similar", "/api/items/{id}/thumbnail", "/api/items/{id}/picture"),
    *(
        "/openapi.json",
        "/static/app.js",
        "/static/{id}",
        "/docs",
        "//",
        "/.",
        "/api//search",
        "/api/search/",
        "*",
    ),
)
# Headers with odd values of their own; every tenth header gets one of ODD_VALUES instead.
HEADERS: dict[str, tuple[str, ...]] = {
    "Accept-Encoding": ("gzip", "identity;q=0", "*;q=0"),
    "Authorization": ("Bearer ", "Bearer x", "Basic Og==", "bearer x y", "Bearer " + "x" * 5000),
    "Connection": ("close", "keep-alive", "upgrade", "close, keep-alive"),
    "Content-Encoding": ("gzip", "br"),
    "Content-Length": ("-1", "0", "5", "+5", "1e9", "0x10", "99999999999999999999"),
    "Content-Type": (
        "multipart/form-data",
        "multipart/form-data; boundary=",
        "multipart/form-data; boundary=" + "x" * 200,
        "multipart/form-data; charset=x; boundary=x",
        'application/json; charset=""',
    ),
    "Cookie": (
        "lingvis_00000000=x",
        "a=b; " * 1000,
        "; ; =; a",
        'a="' + '\\"' * 4000 + '"',
        'a="' + '\\"' * 100_000 + '"',
    ),
    "Expect": ("100-continue", "x"),
    "Host": ("localhost", "[::1]:x", "127.0.0.1:", "evil.example", "[", "a@localhost", "localhost:99999"),
    "If-Modified-Since": ("Thu, 01 Jan 1970 00:00:00 GMT", "yesterday", "Thu, 99 Jan 99999 99:99:99 GMT"),
    "If-None-Match": ("*", 'W/"x"', '"' * 99, ",,,"),
    "If-Range": ('"x"', "yesterday"),
    "Origin": ("null", "http://[", "http://[::1", "http://evil.example", "://", "http://127.0.0.1:99999"),
    "Range": ("bytes=0-", "bytes=-1", "bytes=0-0,0-0,0-0", "bytes=9-1", "bytes=a-b", "lines=1-2", "bytes"),
    "Referer": ("http://evil.example/", "http://["),
    "Sec-Fetch-Site": ("cross-site", "same-site", "same-origin", "none", "CROSS-SITE"),
    "Transfer-Encoding": ("chunked", "chunked, chunked", "gzip"),
    "Upgrade": ("websocket", "h2c"),
    "X-Forwarded-For": ("127.0.0.1", "evil", "1.1.1.1, " * 200),
    "X-Forwarded-Host": ("localhost", "evil.example", "["),
    "X-Forwarded-Proto": ("https", "javascript"),
    "X-Other": ("x",),
}
ODD_HEADERS = ("", "\xff", "a b", "Host ", "Cookie\t", "x" * 5000)
ODD_VALUES = ("", "*", "\t", "\x7f", "\xff", "\x00", "=", "x" * 9000, "9" * 400, "%0a", "\x1b[31m")
METHODS = (*("GET",) * 6, *("POST",) * 3, "DELETE", "PUT", "OPTIONS", "PATCH", "get", "X" * 50)


@dataclass(frozen=True)
class RequestCase:
    """data: what to send. complete: it is a whole request, so that an answer must come."""

    about: str
    data: bytes
    complete: bool


def parameter_case(seed: int, number: int, id: str) -> RequestCase:
    """A well-formed request with odd parameters, a form or a session; id: of an indexed picture."""
    rng = case_random(PARAMETERS, seed, number)
    choice = rng.randrange(10)
    if choice == 0:
        return _form(rng)
    if choice == 1:
        body = dump_json(mutate_json(rng, {"token": "x" * 20, "more": [1, {"a": None}]}))
        return _post(
            "/api/session", "application/json", mutate_bytes(rng, body) if rng.random() < 0.5 else body
        )
    path = rng.choice(PATHS[:-1]).replace(
        "{id}", rng.choice((id, id, id[:-1], quote(rng.choice(VALUES), safe="")))
    )
    count = rng.choice((1, 1, 2, 2, 3, 3, 5, 16, 17, 64, 65, MANY))
    pairs = []
    for place in range(count):
        name = rng.choice(NAMES) if count < MANY else f"n{place}"
        value = rng.choice(
            (
                rng.choice(VALUES),
                str(rng.choice(EXTREMES)),
                "".join(map(chr, rng.choices(range(1, 3000), k=5))),
            )
        )
        pairs.append(f"{quote(name, safe='')}={quote(value[: MANY // count], safe='')}")
    address = f"{path}?{rng.choice(('&', '&', '&', ';', '&&')).join(pairs)}"
    return RequestCase(
        f"GET {address[:200]}", f"GET {address} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode(), complete=True
    )


def head_case(seed: int, number: int, id: str) -> RequestCase:
    """A request whose line and headers are odd, and every fourth time damaged."""
    rng = case_random(HEADS, seed, number)
    method, path = rng.choice(METHODS), rng.choice(PATHS).replace("{id}", id)
    tail = rng.choice(("", "", "", "", "?q=dog", "?q=dog", "?q=%ff", "%0Alingvis:%20forged", "\x7f", "#x"))
    version = rng.choice(("HTTP/1.1",) * 12 + ("HTTP/1.0", "HTTP/2.0", ""))
    lines = [f"{method} {path}{tail} {version}"]
    if rng.random() < 0.9:
        lines.append("Host: " + rng.choice(("localhost", "localhost", "127.0.0.1", "127.0.0.1:80")))
    for _ in range(rng.choice((0, 1, 1, 1, 2, 2, 3, 5, 99))):
        name = rng.choice(list(HEADERS)) if rng.random() < 0.97 else rng.choice(ODD_HEADERS)
        values = HEADERS[name] if name in HEADERS and rng.random() < 0.9 else ODD_VALUES
        lines.append(f"{name}: {rng.choice(values)}")
    if rng.random() < 0.05:
        lines.append("X-Long: " + "x" * rng.choice((70_000, 300_000)))
    data = "\r\n".join([*lines, "", ""]).encode("latin-1")
    body = rng.choice((b"", b"", b"{}", b"5\r\nhello\r\n0\r\n\r\n", b"--x--\r\n", rng.randbytes(50)))
    damaged = rng.random() < 0.25
    data = mutate_bytes(rng, data) if damaged else data
    declares_body = any(
        line.lower().startswith(("content-length", "transfer-encoding", "expect")) for line in lines
    )
    return RequestCase(ascii(data[:300]), data + body, complete=not damaged and not declares_body)


def upload_case(name: str, picture: bytes) -> RequestCase:
    """A search by a picture; name: of the case."""
    return _post("/api/search", "multipart/form-data; boundary=mark", _multipart(picture), about=name)


def _form(rng: random.Random) -> RequestCase:
    """A form with a valid picture, odd fields, and every second time damaged."""
    fields = {rng.choice(NAMES): rng.choice(VALUES) for _ in range(rng.choice((0, 1, 3, 100)))}
    body = _multipart(originals()["png"], fields)
    return _post(
        "/api/search",
        "multipart/form-data; boundary=" + rng.choice(("mark", "mark", "mark", '"mark"', "other", "")),
        mutate_bytes(rng, body) if rng.random() < 0.5 else body,
    )


def _multipart(picture: bytes, fields: dict[str, str] | None = None) -> bytes:
    parts = [
        f'--mark\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in (fields or {}).items()
    ]
    head = b'--mark\r\nContent-Disposition: form-data; name="image"; filename="a"\r\n\r\n'
    return b"".join([*parts, head, picture, b"\r\n--mark--\r\n"])


def _post(path: str, kind: str, body: bytes, about: str | None = None) -> RequestCase:
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    return RequestCase(about or f"POST {path} {body[:200]!a}", head.encode() + body, complete=True)

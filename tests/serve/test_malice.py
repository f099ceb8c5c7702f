"""Malicious and broken input: each a clear refusal, nothing leaked, nothing lost."""

from __future__ import annotations

import http.client
import io
import socket
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from PIL import Image

from lingvis.serve.limits.headers import SECURITY

from .conftest import Answer, Client, form

SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(document.cookie)</script></svg>'
SQL = [
    "' OR '1'='1",
    "'; DROP TABLE items; --",
    "x') OR true --",
    "a' UNION SELECT thumbnail FROM items --",
    "%",
    '"',
]


@pytest.fixture(autouse=True)
def _nothing_lost(client: Client, home: Path) -> Iterator[None]:
    """Whatever was sent, the server still answers, has all pictures, and logged no error."""
    before = (home / "open.log").read_text()
    yield
    assert client.get("/api/collection").json["pictures"] == 9
    assert (home / "open.log").read_text() == before


def short(value: object) -> str:
    """The name of a case."""
    return ascii(value)[:30]


def png(width: int, height: int) -> bytes:
    """A picture of any size in a few bytes of PNG: one colour, one bit a pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    packer = zlib.compressobj(9)
    rows = [packer.compress(bytes(1 + (width + 7) // 8)) for _ in range(height)]
    pixels = b"".join([*rows, packer.flush()])
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def jpeg(size: tuple[int, int] = (300, 200)) -> bytes:
    out = io.BytesIO()
    Image.effect_noise(size, 80).convert("RGB").save(out, "JPEG", quality=95)
    return out.getvalue()


def raw(client: Client, data: bytes) -> Answer:
    """Bytes that no library would send."""
    with socket.create_connection(("127.0.0.1", client.port), timeout=20) as connection:
        connection.sendall(data)
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        return Answer(
            answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        )


TRAVERSALS = [
    "/etc/passwd",
    "../../../../etc/passwd",
    "..%2f..%2f..%2fetc%2fpasswd",
    "%2e%2e/%2e%2e/etc/passwd",
]
TRAVERSALS += [
    "....//....//etc/passwd",
    "..%5c..%5cetc%5cpasswd",
    "%00",
    "a%00.png",
    "..%c0%af..%c0%afetc/passwd",
]


@pytest.mark.parametrize("place", ["/static/", "/api/items/", "/"])
@pytest.mark.parametrize("path", TRAVERSALS)
def test_no_path_leads_out(client: Client, place: str, path: str) -> None:
    for tail in ("", "/picture", "/thumbnail"):
        answer = client.ask("GET", place + path + tail)
        assert answer.status in (400, 404), answer.status
        assert b"root:" not in answer.body and answer.error


def test_files_are_served_by_id_only(client: Client, home: Path) -> None:
    file = home / "photos" / "dot.png"
    for place in (str(file), quote(str(file), safe=""), f"{home}/model/config.json", "x" * 65, "x" * 100_000):
        assert client.ask("GET", f"/api/items/{place}/picture").status in (404, 414, 422)
    assert client.ask("GET", f"/api/search?q=x&image={quote(str(file))}").status == 422


@pytest.mark.parametrize("value", SQL)
def test_sql_in_filters_is_text(client: Client, value: str) -> None:
    assert client.search("x", folder=value).json["hits"] == []
    assert client.search("x", format=value).status == 422 and client.search("x", format=value).error
    for name in ("after", "before", "min_size", "max_size", "k", "offset", "lang", "captions"):
        assert client.search("x", **{name: value}).status == 422, name
        assert client.search("x", **{name: value}).error
    assert client.get(f"/api/items/{quote(value, safe='')}").status == 404
    assert len(client.search(value).json["hits"]) == 9


WRONG = {
    "k": ["0", "-1", "201", "1.5", "ten", "1e2", "9" * 5000, "NaN", "0x10"],
    "offset": ["-1", "10001", "x"],
    "min_size": ["-1", "1e400", str(2**63), "1 apple", "9" * 18 + "GB"],
    "after": ["yesterday", "2024-13-01", "0001-01-01", "9999-12-31", "2024-05-01T00:00Z", "1" * 5000],
    "captions": ["perhaps"],
    "lang": ["xx", "x" * 5000, "de\0"],
    "folder": ["a\0b", "x" * 5000],
    "format": ["../x", "jpeg\0", "x" * 17],
    "unknown": ["1"],
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in WRONG.items() for value in values], ids=short
)
def test_wrong_values(client: Client, name: str, value: str) -> None:
    answer = client.search("x", **{name: value})
    assert answer.status == 422 and (name in answer.error or name == "lang")
    if name not in ("captions", "lang", "unknown"):
        similar = client.get("/api/items/x/similar", None, **{name: value})
        assert similar.status == 422 and name in similar.error


STRANGE = [
    "\U0001f415\U0001f3d6\ufe0f",
    "собака dog 犬 كلب \u202eright to left",
    "\u0301" * 900,
    "\ufffd",
    "\x07\x1b[31m",
]
STRANGE += [
    "a" * 1000,
    " . ".join("x" * 100),
    "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "\ue000\uffff",
    "1 + 1",
]


@pytest.mark.parametrize("text", STRANGE, ids=short)
def test_strange_words_are_plain_questions(client: Client, text: str) -> None:
    answer = client.search(text)
    assert len(answer.json["hits"]) == 9
    assert answer.json["queries"][0]["text"] == text.strip()


def test_too_much_is_asked(client: Client) -> None:
    assert "1000 characters" in client.search("a" * 1001).error
    assert client.search("a" * 20_000).status == 422
    assert client.search("a" * 1_000_000).status == 431 and client.search("a" * 1_000_000).error
    assert client.search(["a"] * 17).status == 422 and len(client.search(["a"] * 16).json["queries"]) == 16
    longest = client.search(["\U0001f415" * 1000] * 16)
    assert longest.status == 200, "what is allowed must fit into an address"
    assert client.upload(jpeg(), {"q": "a" * 1_000_000}).status == 400
    assert client.upload(jpeg(), {"q": ["a"] * 100}).status == 400
    for nothing in ("", "  ", "\n"):
        assert "nothing to search for" in client.search(nothing).error
    assert "nothing to search for" in client.get("/api/search").error
    assert "NUL" in client.search("a\0b").error


@pytest.mark.parametrize("escaped", ["%ff", "%C3", "%ed%a0%80", "%c0%80", "a%80b", "%f5%80%80%80"])
def test_invalid_utf8(client: Client, escaped: str) -> None:
    for address in (f"/api/search?q={escaped}", f"/api/search?q=x&folder={escaped}", f"/api/items/{escaped}"):
        answer = client.ask("GET", address)
        assert answer.status == 400 and "UTF-8" in answer.error


def test_one_pixel(client: Client, home: Path) -> None:
    dot = (home / "photos" / "dot.png").read_bytes()
    hits = client.upload(dot).json["hits"]
    assert Path(hits[0]["path"]).name == "dot.png"
    assert len(client.upload(png(1, 1)).json["hits"]) == 9
    assert len(client.upload(png(20_000, 1)).json["hits"]) == 9


def test_a_hundred_megapixels_are_refused_before_they_are_decoded(client: Client) -> None:
    for bomb in (png(10_000, 10_000), png(30_000, 30_000)):
        assert len(bomb) < 150_000
        answer = client.upload(bomb)
        assert answer.status == 413 and "pixels" in answer.error


def broken() -> dict[str, tuple[bytes, int]]:
    whole = jpeg()
    return {
        "svg": (SVG, 415),
        "html": (b"<html><img src=x onerror=alert(1)>", 415),
        "empty": (b"", 415),
        "zeros": (bytes(1000), 415),
        "magic only": (b"\xff\xd8\xff\xe0", 415),
        "wrong magic": (b"\x89PNG\r\n\x1a\n" + whole[8:], 415),
        "text": (b"GIF89a is how a GIF begins", 415),
        "truncated jpeg": (whole[: len(whole) // 2], 422),
        "truncated png": (png(300, 300)[:-30], 422),
        "postscript": (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n", 415),
        "pdf": (b"%PDF-1.7\n", 415),
    }


@pytest.mark.parametrize("name", list(broken()))
def test_what_is_no_picture(client: Client, name: str) -> None:
    data, status = broken()[name]
    answer = client.upload(data)
    assert answer.status == status and "picture" in answer.error
    assert "/tmp" not in answer.error and "object at" not in answer.error


def test_forms_that_are_none(client: Client) -> None:
    body, kind = form(jpeg(), {})
    for sent, header, status in [
        (body, "application/json", 415),
        (body, "multipart/form-data", 400),
        (body, "multipart/form-data; boundary=other", 400),
        (body[:100], kind, 422),
        (b"", kind, 422),
        (jpeg(), "image/jpeg", 415),
        (b"image=x", "application/x-www-form-urlencoded", 415),
        (body, f"{kind}; charset=undefined", 415),  # codecs of Python that raise other errors than the rest
        (body, f'{kind}; charset="{"x" * 5000}"', 415),  # Python would remember the name
    ]:
        answer = client.ask("POST", "/api/search", sent, {"Content-Type": header})
        assert answer.status == status and answer.error, (header, answer.status)
    for charset in ("utf-8", '"UTF-8"', "utf8"):
        header = f"{kind}; charset={charset}"
        assert client.ask("POST", "/api/search", body, {"Content-Type": header}).status == 200
    assert client.upload(None, {"image": "/etc/passwd"}).status == 422
    for fields in ({"weight": "2"}, {"weight": "nan"}, {"k": "x"}, {"q": "a\0"}, {"nonsense": "1"}):
        answer = client.upload(jpeg(), fields)
        assert answer.status == 422 and next(iter(fields)) in answer.error
    two = body.replace(b"--\r\n", b"\r\n") + body
    assert client.ask("POST", "/api/search", two, {"Content-Type": kind}).status == 400


def test_names_of_uploads_mean_nothing(client: Client) -> None:
    for name in ("../../etc/passwd", "a.svg", "\u202egpj.exe", "x" * 3000):
        body, kind = form(jpeg(), {"k": 1}, name)
        assert client.ask("POST", "/api/search", body, {"Content-Type": kind}).status == 200


def test_too_many_bytes(client: Client) -> None:
    body, kind = form(bytes(21_000_000), {})
    answer = client.ask("POST", "/api/search", body, {"Content-Type": kind})
    assert answer.status == 413 and "bytes" in answer.error
    parts = (body[start : start + 100_000] for start in range(0, len(body), 100_000))
    chunked = client.ask("POST", "/api/search", parts, {"Content-Type": kind})
    assert chunked.status == 413 and "bytes" in chunked.error


@pytest.mark.parametrize(
    "data",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(100),
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET /\xff\xfe HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
        b"POST /api/search HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
        b"POST /api/search HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
    ],
    ids=short,
)
def test_what_is_not_http(client: Client, data: bytes) -> None:
    answer = raw(client, data)
    assert answer.status == 400 and answer.error


def test_a_body_that_breaks_off_within(client: Client) -> None:
    head = (
        b"POST /api/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=x\r\n"
    )
    assert raw(client, head + b"Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\nnonsense\r\n").status == 400
    with socket.create_connection(("127.0.0.1", client.port)) as connection:
        connection.sendall(head + b"Content-Length: 1000\r\n\r\nabc")


def test_other_methods(client: Client) -> None:
    for method in ("PUT", "PATCH", "DELETE", "TRACE", "OPTIONS", "BREW"):
        answer = client.ask(method, "/api/search")
        assert answer.status == 405 and answer.error
    assert client.ask("GET", "/nothing").status == 404
    assert client.ask("POST", "/static/app.js").status == 405


def test_every_answer_has_the_headers(client: Client) -> None:
    answers = [client.ask("GET", path) for path in ("/", "/static/app.js", "/api/health", "/nothing", "/%ff")]
    answers += [
        client.search(""),
        client.upload(SVG),
        client.get("/", {"Host": "evil.example"}),
        client.get("/metrics"),
    ]
    answers += [raw(client, b"nonsense\r\n\r\n"), client.search("a" * 1_000_000)]
    id = client.search("x").json["hits"][0]["id"]
    answers += [client.get(f"/api/items/{id}{tail}") for tail in ("", "/picture", "/thumbnail", "/similar")]
    assert {200, 400, 403, 404, 415, 422, 431} == {answer.status for answer in answers}
    for answer in answers:
        assert {name: answer.headers.get(name.lower()) for name in SECURITY} == SECURITY
        assert "server" not in answer.headers and "x-powered-by" not in answer.headers
    policy = SECURITY["Content-Security-Policy"]
    assert "unsafe" not in policy and "default-src 'none'" in policy and "script-src 'self';" in policy

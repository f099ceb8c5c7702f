"""Wrong tokens are slowed down, weak ones rejected."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lingvis.collection.collection import Collection
from lingvis.errors import UserError
from lingvis.serve.limits import guesses as module
from lingvis.serve.limits.guesses import FORGOTTEN, FREE, TOTAL, Guesses
from lingvis.serve.settings import ServerSettings
from lingvis.serve.tokens import check_token
from lingvis.serve.workers.state import SharedState

from .conftest import Answer, Client, finished, in_thread

TOKEN = "correct-horse-battery"
A, B, C = "203.0.113.1", "203.0.113.2", "2001:db8::1"


@pytest.fixture(scope="module")
def guarded(home: Path) -> Iterator[Client]:
    with in_thread(Collection.open(home / "photos.lv", device="cpu"), ServerSettings(token=TOKEN)) as client:
        yield client


def try_token(client: Client, token: str, address: str) -> Answer:
    headers = {"Authorization": f"Bearer {token}", "X-Forwarded-For": address}
    return client.get("/api/collection", headers)


def test_wrong_tokens_make_an_address_wait(guarded: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LATE", 0.05)
    monkeypatch.setattr(module, "FIRST_WAIT", 30.0)  # a slow machine must not outlast it
    session = guarded.ask("POST", "/api/session", f'{{"token": "{TOKEN}"}}', {"X-Forwarded-For": A})
    cookie = session.headers["set-cookie"].partition(";")[0]
    assert try_token(guarded, TOKEN, B).status == 200
    assert [try_token(guarded, f"wrong{number}", C).status for number in range(FREE)] == [401] * FREE
    refused = try_token(guarded, TOKEN, C)
    assert refused.status == 429 and 1 <= int(refused.headers["retry-after"]) <= 30
    assert "wrong tokens" in refused.error
    assert try_token(guarded, TOKEN, "2001:db8::2").status == 429, "the same network"
    body = f'{{"token": "{TOKEN}"}}'
    assert guarded.ask("POST", "/api/session", body, {"X-Forwarded-For": C}).status == 429
    assert guarded.get("/api/collection", {"Cookie": cookie, "X-Forwarded-For": C}).status == 200
    assert guarded.get("/api/health", {"X-Forwarded-For": C}).status == 200
    assert (
        try_token(guarded, TOKEN, "2001:db8:0:1::1").status == 200
        and try_token(guarded, TOKEN, B).status == 200
    )


def test_who_has_the_token_is_not_locked_out_by_a_neighbour(
    guarded: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LATE", 0.05)
    monkeypatch.setattr(module, "FIRST_WAIT", 30.0)
    assert try_token(guarded, TOKEN, A).status == 200
    statuses = [try_token(guarded, "wrong", A).status for _ in range(FREE + 3)]
    assert statuses == [401] * FREE + [429] * 3
    assert try_token(guarded, TOKEN, A).status == 200


def test_guessing_is_slow(guarded: Client) -> None:
    start = time.monotonic()
    for _ in range(FREE + 2):
        try_token(guarded, "wrong", "203.0.113.77")
    assert time.monotonic() - start > 1.8, "answers that are held back"


def test_waits_double_up_to_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    guesses, waits = Guesses(SharedState()), []

    def status(*, right: bool) -> int:
        refusal = guesses.judge("x", right=right)
        return refusal.status if refusal is not None else 200

    for _ in range(FREE - 1):
        assert status(right=False) == 401
    for _ in range(10):
        assert status(right=False) == 401
        refusal = guesses.judge("x", right=True)
        assert refusal is not None and refusal.status == 429
        waits.append(int(refusal.headers["Retry-After"]))
        now += waits[-1]
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60, 60, 60]
    now += FORGOTTEN
    assert status(right=False) == 401 and status(right=True) == 200


def test_many_addresses_are_held_back_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LATE", 1.5)
    guesses = Guesses(SharedState())

    def held_back(client: str) -> bool:
        start = time.monotonic()
        finished(guesses.hold_back(client))
        return time.monotonic() - start > 1.4

    for number in range(TOTAL):
        guesses.judge(f"client {number}", right=False)
    assert not held_back("client 1")
    guesses.judge("one more", right=False)
    assert held_back("client 1") and guesses.judge("another", right=True) is None


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CLIENTS", 10)
    state = SharedState()
    guesses = Guesses(state)
    for number in range(100):
        guesses.judge(f"client {number}", right=number % 2 == 0)
    assert state.ask("SELECT count(*) FROM wrong") == state.ask("SELECT count(*) FROM trusted") == [(10,)]


WEAK = ["password", "x" * 15, "a" * 40, "passwordpassword", "Password12345678", "1234567890123456"]
WEAK += ["abcdefghijklmnop", "hello123hello123", "changeme-changeme", "abababababababab", "qwertyuiopasdfgh"]
WEAK += ["t\u00f6ken" * 4, "a\nb" * 9]


@pytest.mark.parametrize("token", WEAK, ids=ascii)
def test_weak_tokens(token: str) -> None:
    with pytest.raises(UserError, match=r"secrets.token_urlsafe\(\)"):
        check_token(token)


def test_good_tokens() -> None:
    for token in (TOKEN, "a token for the tests", *(secrets.token_urlsafe() for _ in range(100))):
        check_token(token)

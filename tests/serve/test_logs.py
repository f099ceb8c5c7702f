"""One record is one line, whatever a request contains."""

from __future__ import annotations

import io
import logging
from pathlib import Path

import pytest

from lingvis.serve.logs import REPEATED, LineFormatter, RepeatFilter

from .conftest import Client

FORGED = "lingvis: forged"


@pytest.fixture
def log() -> tuple[logging.Logger, io.StringIO]:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(LineFormatter())
    handler.addFilter(RepeatFilter())
    logger = logging.Logger("lingvis.serve")
    logger.addHandler(handler)
    return logger, stream


@pytest.mark.parametrize(
    "end", ["\n", "\r", "\r\n", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029", "\x1b[2K\x08"]
)
def test_no_line_can_be_forged(log: tuple[logging.Logger, io.StringIO], end: str) -> None:
    logger, stream = log
    logger.error("GET %s failed", f"/x{end}{FORGED}")
    logger.error("x" + end + FORGED)
    try:
        raise ValueError(f"x{end}{FORGED}")
    except ValueError:
        logger.exception("it failed")
    lines = stream.getvalue().splitlines()
    assert [line for line in lines if line.startswith("lingvis:")] == [
        lines[0],
        lines[1],
        "lingvis: it failed",
    ]
    assert FORGED in lines[0] and "ValueError" in lines[-1] + lines[-2]
    assert "\x1b" not in stream.getvalue()


def test_letters_of_all_languages_stay(log: tuple[logging.Logger, io.StringIO]) -> None:
    log[0].error("no %s", "Müller/犬/كلب 🐕.png")
    assert log[1].getvalue() == "lingvis: no Müller/犬/كلب 🐕.png\n"


def test_repeated_records_are_left_out(log: tuple[logging.Logger, io.StringIO]) -> None:
    logger, stream = log
    for number in range(1000):
        logger.error("too many files, connection %d", number)
    logger.error("something else")
    lines = stream.getvalue().splitlines()
    assert len(lines) == REPEATED + 1 and "left out" in lines[REPEATED - 1] and "else" in lines[-1]


def test_requests_write_no_lines(client: Client, home: Path) -> None:
    before = (home / "open.log").read_text()
    for method in ("POST", "GET"):
        for origin in ("http://[", "http://]", "http://[::1", "http://a\u00b2", "x"):
            answer = client.ask(method, "/x%0Alingvis:%20forged", headers={"Origin": origin})
            assert answer.status == 403 and answer.error
    assert (home / "open.log").read_text() == before

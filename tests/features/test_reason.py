"""The reason why a picture cannot be used is one line, whatever a library says."""

from __future__ import annotations

from lingvis.features.pictures import broken_picture


def test_the_reason_is_one_line() -> None:
    said = "Invalid input: no box\nat \x1b[31m\n"
    assert str(broken_picture(ValueError(said))) == r"Invalid input: no box\nat \x1b[31m"
    assert str(broken_picture(ValueError("\n"))) == "ValueError"

"""Notes go to standard error, so that results on standard output stay clean."""

from __future__ import annotations

import pytest

from lingvis.progress import note


def test_notes_go_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    note("2 pictures are left out")
    assert capsys.readouterr() == ("", "note: 2 pictures are left out\n")

"""Pictures are opened by what they are, not by what they are called."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from lingvis.data.images import open_image
from lingvis.data.sheet import _tile

EPS = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n%%EndComments\nshowpage\n"


def test_eps_is_refused_and_every_other_format_opened(tmp_path: Path) -> None:
    (tmp_path / "trap.jpg").write_bytes(EPS)
    with pytest.raises(OSError, match="it is an EPS file; turn it into a JPEG or PNG"):
        open_image(tmp_path / "trap.jpg")
    Image.new("RGB", (3, 2), "red").save(tmp_path / "red.jpg", "PPM")
    with open_image(tmp_path / "red.jpg") as opened:
        assert (opened.format, opened.size, opened.getpixel((0, 0))) == ("PPM", (3, 2), (255, 0, 0))


def test_the_contact_sheet_marks_it_instead_of_starting_a_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "gs"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    (tmp_path / "trap.jpg").write_bytes(EPS)
    tile = _tile(tmp_path / "trap.jpg")
    assert tile.size[0] == tile.size[1]
    assert not (tmp_path / "started").exists()

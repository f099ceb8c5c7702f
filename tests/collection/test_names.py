"""Names of strangers on the command line: pictures whose names hold commands for the terminal and ends of lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lingvis.cli import main

from .conftest import make_pictures

NASTY = "\x1b[2J\x1b]0;x\x07\nlingvis: all is well\r\u202e"
TAME = "\\x1b[2J\\x1b]0;x\\x07\\nlingvis: all is well\\r\\u202e"


def test_names_and_reasons_are_printed_without_control_characters(
    model: Path, photos: Path, collection: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (picture,) = make_pictures(photos, 1, first=70)
    picture.rename(photos / f"{NASTY}.png")
    (photos / f"{NASTY}.jpg").write_bytes(b"broken")
    (photos / f"{NASTY}.gif").symlink_to("/dev/null")
    (photos / f"{NASTY}.bmp").symlink_to(f"{NASTY}.bmp")
    main(["index", collection, str(photos), "--model", str(model), "--device", "cpu"])
    first, *lines = capsys.readouterr().out.splitlines()
    assert first.endswith("6 pictures; 6 added, 0 updated, 0 unchanged, 0 pruned")
    assert [line.partition(":")[0] for line in lines] == [
        "  broken, skipped",
        "  cannot be read",
        "  links that lead out of the folders, skipped",
    ]
    assert lines[2].endswith(f"1, {photos}/{TAME}.gif first; index their targets with --follow-links")
    assert all(TAME in line for line in lines)
    main(["search", collection, "a dog", "--device", "cpu"])
    assert f"  {photos}/{TAME}.png\n" in capsys.readouterr().out
    main(["search", collection, "a dog", "--device", "cpu", "--json"])
    out = capsys.readouterr().out
    assert str(photos / f"{NASTY}.png") in {hit["path"] for hit in json.loads(out)}
    assert "\x1b" not in out and "\u202e" not in out
    with pytest.raises(SystemExit):
        main(["search", collection, "--image", str(photos / f"{NASTY}.jpg"), "--device", "cpu"])
    error = capsys.readouterr().err
    assert TAME in error and error.count("\n") == 1 and "\x1b" not in error
    main(["index", collection, str(photos), "--json", "--device", "cpu"])
    report = json.loads(capsys.readouterr().out)
    assert report["skipped_links"] == [str(photos / f"{NASTY}.gif")]

"""Honest answers of the shipped model: confidence of hits, words that it does not know, languages."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import lingvis
from lingvis.cli import main
from lingvis.collection.query.language import LanguageDetector
from lingvis.errors import UserError
from lingvis.pretrained import find_model
from lingvis.relevance.known_words import KnownWords

from ..command import lingvis as run
from .photographs import copy_photographs


@pytest.fixture(scope="module")
def photographs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """photos, with files that are no pictures of a known format, and photos.lv."""
    home = tmp_path_factory.mktemp("photographs").resolve()
    folder = copy_photographs(home / "photos")
    (folder / "clip.mpg").write_bytes(b"x")
    (folder / "raw.CR2").write_bytes(b"x")
    (folder / "raw2.cr2").write_bytes(b"x")
    report = lingvis.Collection(home / "photos.lv", device="cpu").add([folder])
    assert report.skipped_types == {".mpg": 1, ".cr2": 2}
    return home


def test_hits_have_a_confidence(photographs: Path) -> None:
    collection = lingvis.Collection.open(photographs / "photos.lv", device="cpu")
    plane = collection.search("an airplane in the sky")[0]
    assert (Path(plane.path).name, plane.confidence) == ("airplane-flies-white.jpg", "strong")
    assert plane.to_json()["confidence"] == "strong"
    for query in ("an elephant", "tiger", "flibbertigibbet", "собака на пляже", "un perro en la playa"):
        assert {hit.confidence for hit in collection.search(query)} == {"weak"}, query
    picture = Path(plane.path)
    assert {hit.confidence for hit in collection.search(image=picture)} == {None}
    assert {hit.confidence for hit in collection.similar(plane.id)} == {None}


def test_a_query_is_reported(photographs: Path) -> None:
    collection = lingvis.Collection.open(photographs / "photos.lv", device="cpu")
    dog, strange, mixed = collection.report(["dog", "flibbertigibbet", "a blorpish dog"])
    assert (dog.lang, dog.detected, dog.unknown, dog.understood, dog.warning) == ("en", True, (), True, None)
    assert strange.unknown == ("flibbertigibbet",) and not strange.understood
    assert mixed.understood and mixed.warning == "unknown words: blorpish"
    assert not collection.report("un perro en la playa")[0].understood
    assert not collection.report("собака")[0].understood
    assert collection.report("ein Hund am Strand", lang="de")[0].detected is False
    assert not collection.model.uses_language


def test_the_terminal_shows_dividers_and_takes_words_without_quotes(photographs: Path) -> None:
    done = run("search", photographs / "photos.lv", "an", "airplane", "in", "the", "sky", "-k", 12)
    lines = done.stdout.splitlines()
    assert lines[0].split()[2] == "strong" and lines[0].endswith("airplane-flies-white.jpg"), done.stderr
    assert "----  the following pictures probably do not fit" in lines
    assert lines[-1].split()[2] == "weak"
    quoted = run("search", photographs / "photos.lv", "an airplane in the sky", "--json")
    assert json.loads(quoted.stdout)[0]["score"] == pytest.approx(float(lines[0].split()[1]), abs=1e-3)


def test_the_terminal_reports_unknown_words(photographs: Path) -> None:
    done = run("search", photographs / "photos.lv", "flibbertigibbet", "-k", 1)
    assert "note: the model does not know these words or their language: flibbertigibbet" in done.stderr
    assert done.stdout.startswith("----  the following pictures probably do not fit\n")


def test_skipped_files_are_counted_by_type(photographs: Path, tmp_path: Path) -> None:
    done = run("index", photographs / "photos.lv", photographs / "photos", "--device", "cpu")
    assert "not pictures of a known format, skipped: 2 .cr2, 1 .mpg\n" in done.stdout
    code = (
        "import sys; sys.modules['pillow_heif'] = sys.modules['av'] = None\n"
        "import importlib.util as u; find = u.find_spec\n"
        "u.find_spec = lambda name, *rest: None if name in ('pillow_heif', 'av') else find(name, *rest)\n"
        "from pathlib import Path\n"
        "from lingvis.collection.writer.scan import scan_folders\n"
        "from lingvis.collection.writer.skipped import skipped_types\n"
        "print(skipped_types(scan_folders([Path(sys.argv[1])]).skipped_types))"
    )
    for name in ("a.heic", "b.HEIC", "c.txt", "d.MP4"):
        (tmp_path / name).write_bytes(b"x")
    without = subprocess.run(
        [sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=True
    )
    assert without.stdout == (
        "2 .heic, 1 .mp4; to index HEIC pictures, run: pip install 'lingvis[heic]'; "
        "to index videos, run: pip install 'lingvis[video]'\n"
    )


def test_filters_as_people_write_them(photographs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = photographs / "photos.lv"
    for arguments, count in (
        (("--format", "jpg"), 12),
        (("--format", "HEIC"), 0),
        (("--min-size", "1kB", "--max-size", "2MB"), 12),
        (("--max-size", "1kB"), 0),
        (("--folder", "photos"), 12),
        (("--folder", "hotos"), 0),
        (("--after", "1990-01-01", "--before", "2100-01-01"), 12),
    ):
        main(["search", str(place), "a", "dog", "-k", "20", "--json", *arguments])
        assert len(json.loads(capsys.readouterr().out)) == count, arguments
    for arguments, problem in (
        (
            ("--format", "xyz"),
            "--format xyz is not allowed; choose one of: avi, avif, bmp, gif, heic, heif, jpeg, jpg, mkv",
        ),
        (("--min-size", "2 apples"), "--min-size 2 apples is not allowed; write a size as a number of bytes"),
        (("--before", "May"), "--before May is not allowed; write a date as 2024-05-01"),
    ):
        with pytest.raises(SystemExit, match="2"):
            main(["search", str(place), "a", "dog", *arguments])
        assert problem in capsys.readouterr().err


def test_filters_in_python() -> None:
    where = lingvis.Filter.parse(
        format="JPG", min_size="1.5 MB", max_size=10, before="2024-05-01", folder="x"
    )
    assert (where.format, where.min_size, where.max_size) == ("jpeg", 1_500_000, 10)
    assert where.before is not None and where.before.isoformat() == "2024-05-01T23:59:59.999999"
    with pytest.raises(UserError, match=r"`format` pdf is not allowed; choose one of: avi, avif"):
        lingvis.Filter(format="pdf")


@pytest.mark.parametrize(
    ("text", "prefer", "expected"),
    [
        ("dog", (), "en"),
        ("Hund", (), "de"),
        ("chien", (), "fr"),
        ("pes", (), "cs"),
        ("cachorro", (), "pt"),
        ("bus", ("de",), "de"),  # a word of several languages
        ("bus", ("en-GB",), "en"),
        ("dog", ("de", "fr"), "en"),  # known words outweigh a preference
        ("كلب", (), "ar"),
        ("123", ("pt",), "pt"),
    ],
)
def test_known_words_and_preferences_decide_the_language(
    text: str, prefer: tuple[str, ...], expected: str
) -> None:
    known = KnownWords.read(find_model())
    assert known is not None
    assert LanguageDetector(known.languages, known)(text, prefer) == expected

"""Indexing: new, changed, touched, renamed, gone and broken files, kills, models, questions."""

from __future__ import annotations

import io
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import lingvis
from lingvis.cli.commands import collections
from lingvis.collection import binding as model_module
from lingvis.collection.query.language import LanguageDetector
from lingvis.collection.stores.folder.header import is_collection
from lingvis.collection.stores.records import Filter, Hit
from lingvis.collection.stores.sqlite.store import SqliteStore
from lingvis.collection.writer.indexer import IndexReport
from lingvis.errors import UserError
from lingvis.model.embedder import Embedder

from .conftest import make_model, make_pictures
from .indexing import index_folders, make_indexer


def rows(collection: str) -> dict[str, str]:
    """path -> hash; every path once."""
    known = list(SqliteStore(Path(collection)).files())
    assert max(Counter(row.path for row in known).values(), default=1) == 1
    return {Path(row.path).name: row.hash for row in known}


def counts(report: IndexReport) -> tuple[int, int, int, int]:
    return report.added, report.updated, report.unchanged, report.pruned


@pytest.fixture
def embedded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many pictures went through the backbone, batch by batch."""
    seen: list[int] = []
    original = model_module.ImageEmbedder.__call__

    def count(self: model_module.ImageEmbedder, pictures: list[object]) -> object:
        seen.append(len(pictures))
        return original(self, pictures)  # type: ignore[arg-type]

    monkeypatch.setattr(model_module.ImageEmbedder, "__call__", count)
    return seen


def test_a_collection_follows_its_folder(
    model: Path, photos: Path, collection: str, embedded: list[int]
) -> None:
    report = index_folders(collection, [photos], model=model, batch_size=2)
    assert counts(report) == (5, 0, 0, 0) and report.pictures == 5
    assert counts(index_folders(collection, [photos])) == (0, 0, 5, 0)
    assert sum(embedded) == 5
    before = rows(collection)
    os.utime(photos / "000.png", (1, 1))  # touched
    (photos / "001.png").rename(photos / "moved.png")
    Image.new("RGB", (10, 20), "red").save(photos / "002.png")
    (photos / "003.png").unlink()
    make_pictures(photos / "deep", 1, first=50)
    report = index_folders(collection, [photos])
    assert counts(report) == (2, 2, 1, 0)
    assert sum(embedded) == 5 + 2  # the changed and the new one
    assert rows(collection).keys() == before.keys() | {"moved.png", "050.png"}
    assert rows(collection)["moved.png"] == before["001.png"]
    assert rows(collection)["002.png"] != before["002.png"]
    report = index_folders(collection, [photos], prune=True)
    assert counts(report) == (0, 0, 5, 2)
    assert rows(collection).keys() == {"000.png", "002.png", "004.png", "moved.png", "050.png"}
    assert counts(index_folders(collection, [photos / "deep"], prune=True)) == (0, 0, 1, 0)
    assert len(rows(collection)) == 5  # pictures outside the folders given stay


def test_embeddings_and_facts_are_those_of_the_files(model: Path, photos: Path, collection: str) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned
    exif.get_ifd(0x8769)[0x9003] = "2019:07:21 13:14:15"
    noise = Image.fromarray(np.random.default_rng(9).integers(0, 256, (30, 50, 3), dtype=np.uint8))
    noise.resize((1000, 600)).save(photos / "big.jpg", exif=exif)
    noise.save(photos / "p.gif")
    noise.convert("L").save(photos / "t.tif")
    noise.convert("RGBA").save(photos / "w.webp")
    index_folders(collection, [photos], model=model)
    paths = sorted(str(path) for path in photos.iterdir())
    store = SqliteStore(Path(collection))
    items = {item.info.path: item for item in store.items([row.id for row in store.files()])}
    assert sorted(items) == paths
    wanted = Embedder.load(model, device="cpu").encode_images(paths)
    np.testing.assert_allclose(np.stack([items[path].embedding for path in paths]), wanted, atol=2e-3)
    assert np.abs(wanted[0] - wanted[1]).max() > 0.01
    big = items[str(photos / "big.jpg")]
    assert (big.info.width, big.info.height, big.info.format) == (600, 1000, "jpeg")
    assert big.info.date == datetime(2019, 7, 21, 13, 14, 15)
    with Image.open(io.BytesIO(big.thumbnail)) as thumbnail:
        assert thumbnail.format == "JPEG" and thumbnail.size == (240, 400)
    plain = items[str(photos / "000.png")].info
    assert plain.date == datetime.fromtimestamp(int((photos / "000.png").stat().st_mtime))
    assert plain.size == (photos / "000.png").stat().st_size
    assert store.statistics().formats == {"gif": 1, "jpeg": 1, "png": 5, "tiff": 1, "webp": 1}


def test_heic_pictures_are_pictures_where_a_library_allows(
    model: Path, photos: Path, collection: str
) -> None:
    heif = pytest.importorskip("pillow_heif")
    with Image.open(photos / "000.png") as image:
        heif.from_pillow(image).save(photos / "phone.HEIC", quality=95)
    assert index_folders(collection, [photos], model=model).added == 6
    opened = lingvis.Collection.open(collection)
    hits = opened.search(image=photos / "phone.HEIC", k=2)
    assert [Path(hit.path).name for hit in hits] == ["phone.HEIC", "000.png"]
    assert hits[0].info.format == "heif" and hits[0].info.width == 48


def test_broken_pictures_are_told_at_the_end(model: Path, photos: Path, collection: str) -> None:
    whole = (photos / "000.png").read_bytes()
    (photos / "cut.png").write_bytes(whole[: len(whole) // 2])
    (photos / "empty.jpg").write_bytes(b"")
    (photos / "text.jpg").write_text("<svg onload='x'/>")
    report = index_folders(collection, [photos], model=model)
    assert report.pictures == report.added == 5
    assert {Path(path).name for path in report.broken} == {"cut.png", "empty.jpg", "text.jpg"}
    assert report.broken[str(photos / "empty.jpg")] == "the file is empty"
    (photos / "000.png").write_bytes(whole[:100])  # a good one breaks: what is stored of it is no longer true
    indexer = make_indexer(collection)
    assert len(indexer.run([photos]).broken) == 4
    assert "000.png" not in rows(collection)
    assert not indexer.run([photos]).broken  # not tried again before it changes
    (photos / "000.png").write_bytes(whole)
    assert counts(indexer.run([photos])) == (1, 0, 4, 0)


def test_content_that_changes_places_is_not_mixed_up(model: Path, photos: Path, collection: str) -> None:
    index_folders(collection, [photos], model=model)
    before = rows(collection)
    (photos / "000.png").rename(photos / "x")
    (photos / "001.png").rename(photos / "000.png")
    (photos / "x").rename(photos / "001.png")
    os.utime(photos / "000.png", (5, 5))
    os.utime(photos / "001.png", (6, 6))
    assert counts(index_folders(collection, [photos], batch_size=1)) == (0, 2, 3, 0)
    after = rows(collection)
    assert (after["000.png"], after["001.png"]) == (before["001.png"], before["000.png"])
    hits = lingvis.Collection.open(collection).search(image=photos / "000.png", k=1)
    assert Path(hits[0].path).name == "000.png"


SCRIPT = """
import sys
from pathlib import Path
from lingvis import Collection
Collection(sys.argv[1], model=sys.argv[3], device="cpu").add([sys.argv[2]], batch_size=2)
"""


def test_a_kill_at_any_moment_loses_and_doubles_nothing(model: Path, tmp_path: Path, collection: str) -> None:
    photos = tmp_path / "many"
    names = {path.name for path in make_pictures(photos, 300)}  # some seconds of work
    generator = random.Random(0)
    killed = 0
    for _ in range(3):
        command = [sys.executable, "-c", SCRIPT, collection, str(photos), str(model)]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        stop = time.monotonic() + 20
        stored = len(rows(collection)) if is_collection(Path(collection)) else 0
        while process.poll() is None and time.monotonic() < stop:  # let it get to work first
            if is_collection(Path(collection)) and len(rows(collection)) > stored:
                break
            time.sleep(0.02)
        time.sleep(generator.random() * 0.15)
        process.send_signal(signal.SIGKILL)
        killed += process.wait() == -signal.SIGKILL
        assert rows(collection).keys() <= names
    assert killed
    partly = len(rows(collection))
    report = index_folders(collection, [photos], model=model)
    assert counts(report) == (300 - partly, 0, partly, 0)
    assert rows(collection).keys() == names


def test_another_image_side_is_refused_and_rebuilt(
    model: Path, photos: Path, collection: str, tmp_path: Path
) -> None:
    index_folders(collection, [photos], model=model)
    other = make_model(tmp_path / "other", image_seed=1)
    for attempt in (
        lambda: index_folders(collection, [photos], model=other),
        lambda: lingvis.Collection.open(collection, model=other).search("dog"),
    ):
        with pytest.raises(UserError) as caught:
            attempt()
        assert str(model) in str(caught.value) and str(other) in str(caught.value)
        assert "--rebuild" in str(caught.value)
    report = index_folders(collection, [photos], model=other, rebuild=True)
    assert counts(report) == (5, 0, 0, 0)
    opened = lingvis.Collection.open(collection)
    assert opened.store.header.model == str(other)
    assert opened.search("dog", lang="en", k=2)


def test_captions_are_searched_and_follow_the_text_side(
    model: Path, photos: Path, collection: str, tmp_path: Path
) -> None:
    (photos / "000.txt").write_text("\ufeffa red dog\non the beach\n", encoding="utf-8")
    (photos / "001.de.txt").write_text("das Haus", encoding="utf-8")
    (photos / "002.old.txt").write_text("no caption: old is no language", encoding="utf-8")
    index_folders(collection, [photos], model=model)
    opened = lingvis.Collection.open(collection)
    hits = opened.search("das Haus", lang="de", captions=True)
    assert [(hit.info.caption, hit.info.lang) for hit in hits] == [
        ("das Haus", "de"),
        ("a red dog on the beach", "en"),
    ]
    assert hits[0].score == pytest.approx(1, abs=1e-3)
    (photos / "000.txt").write_text("the house", encoding="utf-8")
    (photos / "001.de.txt").unlink()
    assert counts(index_folders(collection, [photos])) == (0, 2, 3, 0)
    hits = opened.search("the house", lang="en", captions=True)
    assert [hit.info.caption for hit in hits] == ["the house"]
    assert hits[0].score == pytest.approx(1, abs=1e-3)
    other = make_model(tmp_path / "other", text_seed=1)  # the image side is the same
    changed = lingvis.Collection.open(collection, model=other)
    assert len(changed.search("the house", lang="en")) == 5
    with pytest.raises(UserError, match=r"encoded by another text side; .*--model .*other"):
        changed.search("the house", lang="en", captions=True)
    (photos / "empty").mkdir()
    index_folders(collection, [photos / "empty"], model=other)
    found = lingvis.Collection.open(collection).search("the house", lang="en", captions=True)
    assert found[0].score == pytest.approx(1, abs=1e-3)


def test_questions(model: Path, photos: Path, collection: str) -> None:
    index_folders(collection, [photos], model=model)
    embedder = Embedder.load(model, device="cpu")
    opened = lingvis.Collection.open(collection)
    paths = sorted(photos.iterdir())
    images = embedder.encode_images(paths)
    english = embedder.encode_texts(["a red dog"], "en")[0]
    german = embedder.encode_texts(["das rote Haus am Strand"], "de")[0]

    def check(query: np.ndarray[tuple[int], np.dtype[np.float32]], hits: list[Hit]) -> None:
        scores = images @ (query / np.linalg.norm(query))
        order = np.argsort(-scores)
        assert [hit.path for hit in hits] == [str(paths[place]) for place in order]
        np.testing.assert_allclose([hit.score for hit in hits], scores[order], atol=3e-3)

    check(english, opened.search("a red dog", lang="en"))
    check(german, opened.search("das rote Haus am Strand"))
    check(english + german, opened.search(["a red dog", "das rote Haus am Strand"]))

    def translate(texts: Sequence[str], source: str, target: str) -> list[str]:
        if (source, target) != ("en", "de"):
            raise UserError(f"no pair {source}-{target}")
        return ["das rote Haus am Strand" for _ in texts]

    check(english + german, opened.search("a red dog", lang="en", translator=translate))
    with pytest.raises(UserError, match="no pair de-en"):
        opened.search("das rote Haus am Strand", lang="de", translator=translate)
    check(images[2], opened.search(image=paths[2]))
    check(0.3 * english + 0.7 * images[2], opened.search("a red dog", image=paths[2], weight=0.3))
    assert opened.language_of("ein roter Hund läuft am Strand") == "de"
    first = opened.search(image=paths[2])
    alike = opened.similar(first[0].id, k=3)
    assert [hit.path for hit in alike] == [hit.path for hit in first[1:4]]
    assert [hit.rank for hit in alike] == [1, 2, 3]
    assert [hit.rank for hit in opened.similar(first[0].id, k=2, offset=1)] == [2, 3]
    assert opened.search("a", where=Filter(folder=str(photos / "none"))) == []
    mistakes: list[tuple[Callable[[], object], str]] = [
        (lambda: opened.search("  "), "nothing to search for"),
        (lambda: opened.search(), "nothing to search for"),
        (lambda: opened.search("a", lang="xx"), "was not trained on language 'xx'; choose one of: de, en"),
        (lambda: opened.search("a", k=0), "k must be at least 1, got 0"),
        (lambda: opened.search("a", offset=-1), "offset must be at least 0, got -1"),
        (lambda: opened.search("a", image=paths[0], weight=1.5), "weight must be between .* got 1.5"),
        (lambda: opened.search(image="nothing.jpg"), "no such file"),
        (lambda: opened.similar("'"), "has no picture"),
    ]
    for wrong, sentence in mistakes:
        with pytest.raises(UserError, match=sentence):
            wrong()


def test_a_collection_finds_its_model_again(
    model: Path, photos: Path, collection: str, tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(model, tmp_path / "copy"))
    index_folders(collection, [photos], model=copy)
    copy.rename(tmp_path / "elsewhere")
    opened = lingvis.Collection.open(collection)
    assert len(opened) == opened.statistics().pictures == 5
    with pytest.raises(UserError, match=r"no longer at .*copy; name its folder as `model`"):
        opened.search("dog")
    assert lingvis.Collection.open(collection, model=tmp_path / "elsewhere").search("dog")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a dog is running on the beach", "en"),
        ("ein Hund läuft am Strand entlang", "de"),
        ("un chien court sur la plage", "fr"),
        ("一只狗在海滩上跑", "zh-Hans"),
        ("كلب يجري على الشاطئ", "ar"),
        ("ein", "de"),
        ("123 !", "en"),
        ("\ud800", "en"),
    ],
)
def test_languages_are_told_apart(text: str, expected: str) -> None:
    assert LanguageDetector(["en", "de", "fr", "zh-Hans", "zh-Hant", "ar", "tlh"])(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("red", "en"),
        ("ئىككى بالا", "ug"),
        ("كلب يجري على الشاطئ", "ar"),
        ("བྱིས་པ", "bo"),  # py3langid does not know it
        ("ᠪᠢᠴᠢᠬᠠᠨ", "mn"),
        ("狗", "zh"),
        ("犬が走る", "ja"),
        ("ხე", "en"),  # none of the model's
    ],
)
def test_scripts_tell_languages_apart(text: str, expected: str) -> None:
    assert LanguageDetector(["en", "ar", "ug", "bo", "mn", "zh", "ja"])(text) == expected


def test_one_language_or_unknown_ones_need_no_guessing() -> None:
    assert LanguageDetector(["fr"])("a dog is running") == "fr"
    assert LanguageDetector(["tlh", "qya"])("a dog is running") == "tlh"


def test_the_command_line(
    model: Path, photos: Path, collection: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (photos / "bad.jpg").write_bytes(b"")
    collections.index(collection, photos, model=model)
    assert "5 pictures; 5 added, 0 updated, 0 unchanged, 0 pruned" in (told := capsys.readouterr().out)
    assert f"broken, skipped: {photos / 'bad.jpg'}: the file is empty" in told
    collections.index(collection, photos, prune=True, json=True)
    assert json.loads(capsys.readouterr().out)["unchanged"] == 5
    collections.search(collection, "ein Hund", k=2, offset=1, json=True)
    shown = json.loads(capsys.readouterr().out)
    assert [hit["rank"] for hit in shown] == [2, 3]
    assert list(shown[0])[:3] == ["rank", "score", "path"]
    assert shown[0]["format"] == "png" and Path(shown[0]["path"]).parent == photos
    collections.search(collection, image=photos / "003.png", k=1, folder=photos, format="PNG")
    rank, score, path = capsys.readouterr().out.split()
    assert (rank, path) == ("1", str(photos / "003.png")) and float(score) > 0.99
    collections.search(collection, "dog", after="2100-01-01")
    assert capsys.readouterr() == ("", "nothing found\n")
    changed = datetime.fromtimestamp((photos / "003.png").stat().st_mtime)
    for before, found in ((f"{changed:%Y-%m-%d}", 5), (f"{changed - timedelta(days=1):%Y-%m-%d}", 0)):
        collections.search(collection, "dog", before=before, json=True)
        assert len(json.loads(capsys.readouterr().out)) == found
    with pytest.raises(UserError, match=r"`after` May is not allowed; write a date as 2024-05-01"):
        collections.search(collection, "dog", after="May")


def test_watching_tells_of_changes(
    model: Path, photos: Path, collection: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[int, int, int, int]] = []
    changes: list[Callable[[], object]] = [
        lambda: None,
        lambda: make_pictures(photos, 1, first=70),
        (photos / "000.png").unlink,
    ]
    steps = iter(changes)

    def change(_: float) -> None:
        step = next(steps, None)
        if step is None:
            raise KeyboardInterrupt
        step()

    monkeypatch.setattr("lingvis.collection.writer.indexer.time.sleep", change)
    with pytest.raises(KeyboardInterrupt):
        lingvis.Collection(collection, model=model).watch(
            [photos], prune=True, report=lambda report: told.append(counts(report))
        )
    assert told == [(5, 0, 0, 0), (1, 0, 5, 0), (0, 0, 5, 1)]

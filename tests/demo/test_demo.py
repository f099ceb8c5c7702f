"""The demo's whole path on few scenes, its questions, its own check and the page that it ends with."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lingvis.cli import main
from lingvis.collection.collection import Collection
from lingvis.collection.stores.open import open_store
from lingvis.collection.stores.records import Item
from lingvis.data.dataset import Dataset
from lingvis.data.scenes import LANGUAGES
from lingvis.demo.check import check_server
from lingvis.demo.photographs import QUERIES, gather_photographs
from lingvis.demo.queries import LANGUAGES as QUERY_LANGUAGES
from lingvis.demo.run import run_demo
from lingvis.demo.server import CheckError, serving
from lingvis.features.store import FeatureStore
from lingvis.model.embedder import Embedder
from lingvis.model.stored import StoredImages

SCENES, UNSEEN, PHOTOGRAPHS = 80, 16, 12
COMMAND = [sys.executable, "-c", "from lingvis.cli import main; main()"]


@dataclass(frozen=True)
class Demo:
    """A finished demo: its folder and its report."""

    out: Path
    report: dict[str, Any]

    @property
    def texts(self) -> list[str]:
        return [question["text"] for question in self.report["queries"]]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    out = tmp_path_factory.mktemp("made") / "demo"
    gather_photographs(out / "photographs")
    for photo in sorted((out / "photographs").glob("*.jpg"))[PHOTOGRAPHS:]:  # the rest would take a while
        photo.unlink()
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("LINGVIS_TOKEN", "the token of another server")
        environment.setenv("http_proxy", "http://127.0.0.1:9")
        return Demo(out, run_demo(out, scenes=SCENES, check=True).as_json())


def test_every_language_is_measured_and_pictures_encode_live_as_stored(demo: Demo) -> None:
    assert list(demo.report["languages"]) == list(LANGUAGES)
    steps = ["photographs", "scenes", "features", "train", "evaluate", "index", "search", "check"]
    assert list(demo.report["seconds"]) == steps
    page = (demo.out / "page" / "index.html").read_text(encoding="utf-8")
    assert all(f'id="lang-{lang}"' in page for lang in LANGUAGES)
    model = Embedder.load(demo.out / "model")
    store = FeatureStore.open(demo.out / "scenes" / "features" / model.features.name)
    names = store.names[:5]
    live = model.encode_images([demo.out / "scenes" / "images" / name for name in names])
    np.testing.assert_allclose(live, StoredImages(model, store).encode(names), atol=2e-3)
    assert model.encode_images([]).shape == (0, model.dim)
    assert model.encode_texts([], lang="en").shape == (0, model.dim)


def test_questions_and_answers_are_of_scenes_that_the_model_has_not_seen(demo: Demo) -> None:
    rows = {row.image: row for row in Dataset.open(demo.out / "scenes").rows}
    unseen = {f"{row.split}/{row.image}" for row in rows.values() if row.split != "train"}
    stored = {row.path for row in open_store(str(demo.out / "scenes.lv")).files()}
    assert stored == {str((demo.out / "unseen" / name).resolve()) for name in unseen}
    assert demo.report["collection"] == {"pictures": UNSEEN, "added": UNSEEN}
    assert f"{len(QUERY_LANGUAGES)} searches" in demo.report["checked"]

    photographs = demo.report["photographs"]
    assert photographs["pictures"] == photographs["added"] == PHOTOGRAPHS
    assert [(query["lang"], query["text"]) for query in photographs["queries"]] == list(QUERIES)
    assert all(
        "creativecommons" in hit["caption"] or "domain" in hit["caption"]
        for query in photographs["queries"]
        for hit in query["hits"]
    )

    questions = demo.report["queries"]
    assert [question["lang"] for question in questions] == list(QUERY_LANGUAGES)
    collection = Collection.open(demo.out / "scenes.lv")
    for question in questions:
        row = rows[question["picture"]]
        assert row.split == "test" and question["text"] == row.parallel[question["lang"]]
        hits = collection.search(question["text"], k=3)
        assert [hit["path"] for hit in question["hits"]] == [
            "/".join(Path(hit.path).parts[-2:]) for hit in hits
        ]
        for hit in question["hits"]:
            assert hit["caption"] == rows[Path(hit["path"]).name].parallel["en"]


def test_nothing_is_done_twice_and_a_demo_may_move(demo: Demo, tmp_path: Path) -> None:
    model = demo.out / "model" / "model.safetensors"
    before = model.stat().st_mtime_ns
    again = run_demo(demo.out, scenes=SCENES).as_json()
    assert again["languages"] == demo.report["languages"] and again["queries"] == demo.report["queries"]
    assert again["collection"] == {"pictures": UNSEEN, "added": 0}
    assert model.stat().st_mtime_ns == before
    assert "train" not in again["seconds"] and "checked" not in again

    moved = shutil.copytree(demo.out, tmp_path / "moved")
    there = run_demo(moved, scenes=SCENES).as_json()
    assert there["collection"] == {"pictures": UNSEEN, "added": UNSEEN}, "no row of the old place is left"
    assert there["queries"] == demo.report["queries"]
    assert there["photographs"] == demo.report["photographs"] and again["photographs"]["added"] == 0


def test_the_check_finds_a_server_that_answers_wrongly(demo: Demo, tmp_path: Path) -> None:
    own = Collection.open(demo.out / "scenes.lv")
    copy = shutil.copytree(demo.out / "scenes.lv", tmp_path / "copy.lv")
    best = own.search(demo.texts[0], k=1)[0]
    store = open_store(str(copy))
    [item] = store.items([best.id])

    def store_instead(changed: Item) -> None:
        with store.writing():
            store.upsert([changed])

    def complaint(expected: str) -> str:
        """What the check says; a server may be a moment behind the store."""
        deadline, said = time.monotonic() + 20, ""
        while expected not in said and time.monotonic() < deadline:
            try:
                said = ", ".join(check_server(port, own, demo.texts))
            except CheckError as error:
                said = str(error)
        return said

    store_instead(replace(item, embedding=-item.embedding))
    with serving(copy) as port:
        wrong = f"at /api/search for {demo.texts[0]!r}; {best.path} with {best.score:.4f} was expected"
        assert wrong in complaint(wrong)
        store_instead(replace(item, thumbnail=item.thumbnail + b"x"))
        wrong = f"a thumbnail of {best.path} that differs"
        assert wrong in complaint(wrong)
        with store.writing():
            store.delete([best.id])
        wrong = f"returns {UNSEEN - 1} at /api/collection in pictures; {UNSEEN} was expected"
        assert wrong in complaint(wrong)
        store_instead(item)
        right = ", ".join(demo.report["checked"])
        assert complaint(right) == right
    assert "does not answer at /api/health" in complaint("does not answer")


def test_a_server_that_cannot_start_ends_the_demo_with_a_sentence(
    demo: Demo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "uvicorn.py").write_text("raise ImportError('not here', name='uvicorn')")
    monkeypatch.setenv(
        "PYTHONPATH", str(tmp_path)
    )  # for the server's process, as if uvicorn were not installed
    with pytest.raises(SystemExit) as end:
        main(["demo", "--scenes", str(SCENES), "--out", str(demo.out), "--no-serve"])
    sentence = "the server did not start: serving needs uvicorn; run: pip install 'lingvis[serve]'"
    out, err = capsys.readouterr()
    assert end.value.code == 1 and out == "" and err.endswith(f"\nlingvis: {sentence}\n")


def test_the_demo_ends_with_the_search_page_until_ctrl_c(demo: Demo) -> None:
    with (
        _port_taken(8000),
        subprocess.Popen(
            [*COMMAND, "demo", "--scenes", str(SCENES), "--out", demo.out], stdout=subprocess.PIPE, text=True
        ) as process,
    ):
        assert process.stdout is not None
        printed = ""
        while (found := re.search(r"http://127\.0\.0\.1:(\d+)/", printed)) is None:
            line = process.stdout.readline()
            assert line, printed
            printed += line
        assert found[1] != "8000"
        connection = http.client.HTTPConnection("127.0.0.1", int(found[1]), timeout=10)
        connection.request("GET", "/")
        assert b"static/app.js" in connection.getresponse().read()
        connection.request("GET", "/api/collection")
        assert json.loads(connection.getresponse().read())["pictures"] == PHOTOGRAPHS
        connection.close()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 0
    assert f"page of results: {demo.out / 'page' / 'index.html'}" in printed
    for question in demo.report["queries"]:
        first = question["hits"][0]
        answer = f"  1  {first['score']:.4f}  {first['path']}  {first['caption']}\n"
        assert re.search(
            rf"\n{question['lang']}  {re.escape(question['text'])}.*\n{re.escape(answer)}", printed
        )


@contextlib.contextmanager
def _port_taken(port: int) -> Iterator[None]:
    """Somebody listens at the port: this test, or whoever was there before."""
    with socket.socket() as listener:
        with contextlib.suppress(OSError):
            listener.bind(("127.0.0.1", port))
            listener.listen()
        yield

"""The demo's whole path on few scenes, and the page it serves."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import numpy as np

import lingvis
from lingvis.data.scenes import LANGUAGES
from lingvis.features.store import FeatureStore
from lingvis.jobs.demo import run_demo
from lingvis.stored import StoredEmbedder


def test_the_demo_measures_every_language_and_does_nothing_twice(tmp_path: Path) -> None:
    report = run_demo(tmp_path, scenes=90)
    assert list(report["languages"]) == list(LANGUAGES)
    assert set(report["seconds"]) == {"scenes", "features", "train", "evaluate"}
    page = (tmp_path / "page" / "index.html").read_text(encoding="utf-8")
    assert all(f'id="lang-{lang}"' in page for lang in LANGUAGES)
    model = (tmp_path / "model" / "model.safetensors").stat().st_mtime_ns
    _pictures_encoded_live_equal_the_stored_ones(tmp_path)
    again = run_demo(tmp_path, scenes=90)
    assert again["languages"] == report["languages"]
    assert (tmp_path / "model" / "model.safetensors").stat().st_mtime_ns == model


def _pictures_encoded_live_equal_the_stored_ones(folder: Path) -> None:
    model = lingvis.load(folder / "model")
    store = FeatureStore.open(folder / "scenes" / "features" / model.features["name"])
    names = store.names[:5]
    live = model.encode_images([folder / "scenes" / "images" / name for name in names])
    stored = StoredEmbedder(model, store).embed_images(names)
    np.testing.assert_allclose(live, stored, atol=2e-3)
    assert model.encode_images([]).shape == (0, model.dim)
    assert model.encode_texts([], lang="en").shape == (0, model.dim)


def test_the_page_is_served_on_the_loopback_until_ctrl_c(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<!doctype html><p>hello", encoding="utf-8")
    script = "import sys; from pathlib import Path; from lingvis.jobs.demo import serve_page; "
    script += "serve_page(Path(sys.argv[1]), port=0)"
    process = subprocess.Popen(
        [sys.executable, "-c", script, tmp_path], stdout=subprocess.PIPE, text=True, env=os.environ
    )
    assert process.stdout is not None
    found = re.search(r"http://127\.0\.0\.1:\d+/", process.stdout.readline())
    assert found is not None
    with urllib.request.urlopen(found[0], timeout=10) as answer:
        assert answer.read() == b"<!doctype html><p>hello"
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=10) == 0

"""Hits in a notebook, and queries by pictures in memory."""

from __future__ import annotations

import base64
import io
import pickle
import re
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from lingvis import Collection, Filter, Hit, UserError
from lingvis.collection.notebook import Hits
from lingvis.collection.stores.records import PictureInfo


def hit(path: Path, caption: str | None = None) -> Hit:
    info = PictureInfo("id", str(path), "h", 1, 1, 8, 8, "png", datetime(2026, 1, 1), caption)
    return Hit(1, 0.5, info)


def test_hits_are_shown_as_escaped_thumbnails(tmp_path: Path) -> None:
    name = '<b> "x" & y.png'
    Image.new("RGB", (400, 100), "red").save(tmp_path / name)
    html = Hits([hit(tmp_path / name, "<script>alert(1)</script>"), hit(tmp_path / "gone.png")])._repr_html_()
    assert "<script" not in html and "<b>" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html and "&lt;b&gt; &quot;x&quot; &amp; y.png" in html
    assert html.count("<img") == 1 and html.count("the file cannot be read") == 1 and "0.500" in html
    uri = re.search(r'src="data:image/jpeg;base64,([^"]+)"', html)
    assert uri is not None
    with Image.open(io.BytesIO(base64.b64decode(uri[1]))) as thumbnail:
        assert thumbnail.size == (200, 50)
    assert "no pictures" in Hits()._repr_html_()
    assert pickle.loads(pickle.dumps(Hits([hit(tmp_path)]))) == [hit(tmp_path)]


def test_pictures_in_memory_search_like_their_files(model: Path, photos: Path, tmp_path: Path) -> None:
    collection = Collection.create(tmp_path / "photos.lv", model, device="cpu")
    collection.add([photos])
    path = photos / "003.png"
    expected = collection.search(image=path, k=5)
    assert isinstance(expected, Hits) and isinstance(collection.similar(expected[0].id), Hits)
    with path.open("rb") as file:
        pixels = np.asarray(Image.open(path))
        for image in (path.read_bytes(), file, Image.open(path), pixels):
            hits = collection.search(image=image, k=5)
            assert [each.id for each in hits] == [each.id for each in expected]
            np.testing.assert_allclose(
                [each.score for each in hits], [each.score for each in expected], atol=1e-6
            )
    assert collection.search(image=pixels, where=Filter(min_size=10**9)) == []
    for bad in (b"no picture", pixels / 255):
        with pytest.raises(UserError, match="picture"):
            collection.search(image=bad)


def test_public_names_need_no_torch() -> None:
    script = (
        "import sys, lingvis; lingvis.Filter, lingvis.Hit, lingvis.UserError; print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"

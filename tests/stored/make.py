"""Write a sample of this version: `python -m tests.stored.make NAME` makes tests/stored/NAME.

A release adds one; later versions must open every sample, see test_stored.py. It has a small model in float16 and in int8,
and a collection of six pictures, three of them with a caption.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import lingvis
from lingvis.collection.collection import Collection

from ..collection.conftest import make_model

HERE = Path(__file__).parent
COLOURS = {"red": (220, 20, 20), "green": (20, 200, 40), "blue": (30, 40, 220)}
QUERIES = [("a red dog on the beach", "en"), ("das Haus", "de")]


def make_photos(folder: Path) -> None:
    """Six pictures: a dark and a bright one of each colour; the bright ones have a caption."""
    folder.mkdir(parents=True)
    for name, colour in COLOURS.items():
        for shade in (1, 2):
            values = np.full((24, 32, 3), colour, dtype=np.uint8) // (3 - shade)
            values[: 8 * shade] //= 2
            Image.fromarray(values).save(folder / f"{name}-{shade}.png")
        (folder / f"{name}-2.en.txt").write_text(f"the {name} house", encoding="utf-8")


def expected(home: Path) -> dict[str, Any]:
    """The answers of this version to the queries, by pictures and by captions."""
    collection = Collection.open(home / "collection.lv", model=home / "model", device="cpu")
    searches = []
    for text, lang in QUERIES:
        for captions in (False, True):
            hits = collection.search(text, lang=lang, captions=captions, k=6)
            found = [
                {"name": Path(hit.path).name, "score": round(hit.score, 6), "caption": hit.info.caption}
                for hit in hits
            ]
            searches.append({"text": text, "lang": lang, "captions": captions, "hits": found})
    model = lingvis.load(home / "model", device="cpu")
    texts = model.encode_texts([text for text, _ in QUERIES], [lang for _, lang in QUERIES])
    return {
        "lingvis": lingvis.__version__,
        "searches": searches,
        "texts": np.round(texts, 6).tolist(),
        "images": np.round(model.encode_images(sorted((home / "photos").glob("*.png"))), 6).tolist(),
    }


def main(name: str) -> None:
    """Make a sample in a neutral place, so that no path of this machine is stored, and move it here."""
    with tempfile.TemporaryDirectory() as place:
        home = Path(place).resolve()
        make_photos(home / "photos")
        whole = make_model(home / "float32")
        lingvis.compress(whole, home / "model", weights="float16")
        lingvis.compress(whole, home / "model-int8", weights="int8")
        shutil.rmtree(whole)
        Collection(home / "collection.lv", model=home / "model", device="cpu").add([home / "photos"])
        values = json.dumps(expected(home), ensure_ascii=False, indent=1)
        (home / "expected.json").write_text(values + "\n", encoding="utf-8")
        shutil.copytree(home, HERE / name, ignore=shutil.ignore_patterns("lock", "*-wal", "*-shm"))


if __name__ == "__main__":
    main(*sys.argv[1:])

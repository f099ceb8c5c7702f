"""A dataset small enough to train on in seconds."""

from __future__ import annotations

import importlib
import json
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from lingvis.data.dataset import Dataset, write_rows
from lingvis.data.rows import Region, Row
from lingvis.features.store import write_store
from lingvis.text.segment import words
from lingvis.text.vectors.store import VECTORS, VectorsOrigin, write_vectors
from lingvis.text.vectors.table import WordTable

os.environ.setdefault("HF_HUB_OFFLINE", "1")
# A shell starts background jobs with Ctrl-C ignored, and the commands of tests would inherit it.
signal.signal(signal.SIGINT, signal.default_int_handler)

COLOURS = {"red": "rot", "green": "grün", "blue": "blau", "grey": "grau", "pink": "rosa", "brown": "braun"}
THINGS = {"dog": "Hund", "cat": "Katze", "house": "Haus", "tree": "Baum", "car": "Auto", "ball": "Ball"}
FEATURES = "toy-grid"
VECTOR_DIM = 6

# Folders and modules whose tests train models, start servers and browsers, or kill processes: not in `make check`.
SLOW = (
    "cli/test_cli.py",
    "cli/test_damage.py",
    "cli/test_without_torch.py",
    "collection",
    "data/test_picture_limits.py",
    "data/test_scenes.py",
    "demo",
    "features/test_decoding.py",
    "features/test_detectors",
    "features/test_extract.py",
    "fuzz",
    "model/onnx",
    "model/test_hostile.py",
    "new_language/test_add",
    "new_language/test_glosses.py",
    "new_language/test_routes.py",
    "pretrained",
    "ray",
    "recipes/test_losses.py",
    "serve",
    "stored",
    "studies",
    "test_docs.py",
    "test_untrusted.py",
    "training/test_chunks.py",
    "training/test_distilled",
    "training/test_graphs.py",
    "training/test_live.py",
    "training/test_one_language.py",
    "training/test_processes.py",
    "training/test_resume.py",
    "training/test_run.py",
    "training/test_task.py",
    "training/test_teachers.py",
    "training/test_transfer.py",
    "training/test_translated.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of SLOW."""
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here) and str(item.path.relative_to(here)).startswith(SLOW):
            item.add_marker(pytest.mark.slow)


def make_toy_dataset(folder: Path) -> Path:
    """36 pictures of a coloured thing, captions in English and German, features that tell colour and thing."""
    (folder / "images").mkdir(parents=True)
    generator = np.random.default_rng(0)
    rows, sets = [], []
    for c, (colour, farbe) in enumerate(COLOURS.items()):
        for t, (thing, ding) in enumerate(THINGS.items()):
            name = f"{colour}-{thing}.png"
            Image.new("RGB", (8, 8), (c * 40, t * 40, 0)).save(folder / "images" / name)
            captions = {
                "en": (f"A {colour} {thing}.", f"the {thing} is {colour}"),
                "de": (f"Ein {ding} ist {farbe}.",),
            }
            split = ("train", "val", "test")[max(0, (c + t) % 4 - 1)]
            rows.append(
                Row.model_validate({"image": name, "split": split, "captions": captions}, strict=False)
            )
            vector = np.zeros((4, 12))
            vector[:2, c] = 1
            vector[2:, 6 + t] = 1
            sets.append(vector + generator.normal(0, 0.05, vector.shape))
    write_rows(folder / "captions.jsonl", rows)
    write_store(
        folder / "features" / FEATURES, [row.image for row in rows], sets, kind="grid", backbone="toy"
    )
    return folder


@pytest.fixture(scope="session")
def toy_dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_toy_dataset(tmp_path_factory.mktemp("data") / "toy")


def make_rich_dataset(folder: Path) -> Path:
    """The toy dataset with 12 rows of sentences alone, word vectors and regions, as the larger recipes ask for.

    A region says what is to be seen, but not in pictures of balls; "braun" has no vector; sentences without
    pictures are about things in new colours, some in one language only.
    """
    make_toy_dataset(folder)
    seen = []
    for row in Dataset.open(folder).rows:
        colour, thing = Path(row.image).stem.split("-")
        region = Region(box=(0.0, 0.0, 8.0, 8.0), label=thing, attribute=colour, score=0.9)
        seen.append(row.model_copy(update={"regions": () if thing == "ball" else (region,)}))
    write_rows(folder / "captions.jsonl", seen)
    lines = []
    for number, (thing, ding) in enumerate([*THINGS.items()] * 2):
        english, german = f"a purple {thing} {number}", f"ein lila {ding} {number}"
        captions = {"en": [english]} if number % 3 == 0 else {"en": [english], "de": [german]}
        lines.append(json.dumps({"id": f"t{number}", "captions": captions, "parallel": {"en": english}}))
    (folder / "text-only.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    dataset = Dataset.open(folder)
    generator = np.random.default_rng(1)
    tables = {}
    for lang in dataset.languages:
        texts = [text for row in dataset.rows for text in row.captions[lang]]
        found = sorted({word for text in texts for word in words(text, lang)} - {"braun"})
        tables[lang] = WordTable(found, generator.normal(size=(len(found), VECTOR_DIM)).astype(np.float32))
    origins = {lang: VectorsOrigin(source="random", sentences=lang) for lang in tables}
    write_vectors(folder / VECTORS / "captions", tables, origins, dict.fromkeys(tables, 0))
    return folder


@pytest.fixture(scope="session")
def rich_dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_rich_dataset(tmp_path_factory.mktemp("data") / "rich")


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT of two thin layers with random weights, saved as a user's own model would be."""
    transformers: Any = importlib.import_module("transformers")
    folder = tmp_path_factory.mktemp("bert")
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", "##s", "a", "the", "is", "ein", "ist"]
    words = [word.lower() for pair in ({**COLOURS, **THINGS}).items() for word in pair]
    (folder / "vocab.txt").write_text("\n".join(dict.fromkeys([*pieces, *words])), encoding="utf-8")
    transformers.BertTokenizerFast(vocab=str(folder / "vocab.txt")).save_pretrained(str(folder))
    config = transformers.BertConfig(
        vocab_size=40, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=16
    )
    transformers.BertModel(config).save_pretrained(str(folder))
    return folder

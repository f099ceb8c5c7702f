"""`lingvis vectors` on a small dataset with sentences that have no picture."""

from __future__ import annotations

import importlib
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lingvis.cli import main
from lingvis.data.dataset import Dataset
from lingvis.text.vectors.run import training_sentences
from lingvis.text.vectors.store import WordVectors


@pytest.fixture
def dataset(toy_dataset: Path, tmp_path: Path) -> Path:
    """The toy dataset and one row without a picture; "a zebra" is caption and parallel sentence at once."""
    folder = tmp_path / "toy"
    shutil.copytree(toy_dataset, folder)
    row = {
        "id": "1",
        "captions": {"en": ["a zebra", "Stripes!"]},
        "parallel": {"en": "a zebra", "de": "Ein Zebra", "fr": "un zèbre"},
    }
    (folder / "text-only.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    return folder


def call(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> Any:
    main(["vectors", *map(str, arguments), "--json"])
    return json.loads(capsys.readouterr().out)


def failure(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    with pytest.raises(SystemExit) as caught:
        main(["vectors", *map(str, arguments)])
    assert caught.value.code == 2
    return capsys.readouterr().err


def train_captions(dataset: Path, lang: str) -> list[str]:
    lines = (dataset / "captions.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if row["split"] == "train"]
    return [text for row in rows for text in row["captions"][lang]]


def test_sentences_are_those_of_train_and_without_a_picture(dataset: Path) -> None:
    found = training_sentences(Dataset.open(dataset), ["en", "de"])
    assert found == {
        "en": [*train_captions(dataset, "en"), "a zebra", "Stripes!"],
        "de": [*train_captions(dataset, "de"), "Ein Zebra"],
    }


def test_train_once(dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small = ("train", dataset, "--dim", "8", "--epochs", "2")
    made = call(capsys, *small)
    assert made["changed"] and made["dim"] == 8
    assert list(made["languages"]) == ["en", "de"]
    expected = {word for text in train_captions(dataset, "en") for word in text.lower().strip(".").split()}
    vectors = WordVectors.open(dataset / "vectors" / "captions")
    assert set(vectors.table("en").words) == expected | {"zebra", "stripes"}
    assert np.abs(vectors.table("de").values).max(axis=1).min() > 0
    before = (vectors.path / "de.safetensors").stat().st_mtime_ns
    assert not call(capsys, *small)["changed"]
    main(["vectors", *map(str, small)])
    assert "up to date" in capsys.readouterr().out
    assert (vectors.path / "de.safetensors").stat().st_mtime_ns == before
    # Other captions of val are nothing to the vectors; other settings and training sentences are.
    captions = dataset / "captions.jsonl"
    text = captions.read_text(encoding="utf-8")
    captions.write_text(text.replace('"val", "captions": {"en": ["A', '"val", "captions": {"en": ["My'))
    assert captions.read_text(encoding="utf-8") != text
    assert not call(capsys, *small)["changed"]
    assert "other sentences, files or settings" in failure(capsys, *small, "--seed", "1")
    captions.write_text(text.replace("A red dog.", "A red fox."))
    assert "delete the folder" in failure(capsys, *small)
    assert call(capsys, *small, "--name", "other", "--lang", "de")["languages"].keys() == {"de"}
    shown = call(capsys, "show", dataset)
    assert {name: list(entry["languages"]) for name, entry in shown.items()} == {
        "captions": ["en", "de"],
        "other": ["de"],
    }
    main(["vectors", "show", str(dataset)])
    assert "skip-gram" in capsys.readouterr().out


def test_import_keeps_needed_words(dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    english, german = tmp_path / "en.vec", tmp_path / "de.bin"
    english.write_text("4 6\nRed 1 0 0 0 0 0\ndog 0 1 0 0 0 0\nuseless 9 9 9 9 9 9\nzebra 0 0 1 0 0 1\n")
    fasttext: Any = importlib.import_module("gensim.models.fasttext")
    model = fasttext.FastText(
        [["Hund", "Haus", "Schiff"]], vector_size=6, min_count=1, bucket=50, epochs=1, workers=1
    )
    fasttext.save_facebook_model(model, str(german))
    pairs = (f"en={english}", f"de={german}")
    made = call(capsys, "import", dataset, "mine", *pairs)
    vectors = WordVectors.open(dataset / "vectors" / "mine")
    assert vectors.table("en").words == ["red", "dog", "zebra"]
    assert vectors.lookup(["zebra"], "en")[0].tolist() == [[0, 0, 1, 0, 0, 1]]
    assert made["languages"]["en"]["missing"] == 17 - 3  # six colours, six things, a, the, is, zebra, stripes
    assert made["languages"]["de"]["missing"] == 0  # subwords serve every word
    house = model.wv.get_vector("Haus")
    assert vectors.lookup(["haus"], "de")[0][0] == pytest.approx(house, abs=1e-3)
    assert not call(capsys, "import", dataset, "mine", *pairs)["changed"]
    assert call(capsys, "import", dataset, "small", *pairs, "--dim", "2")["dim"] == 2
    # Another file of the same name and length is another origin.
    english.write_text(english.read_text().replace("useless 9", "useless 8"))
    assert "other sentences, files or settings" in failure(capsys, "import", dataset, "mine", *pairs)
    english.write_text("dog 70000 1 1 1 1 1\n")
    found = failure(capsys, "import", dataset, "large", *pairs)
    assert "the vector of 'dog' from en.vec has a number above 65504" in found


def test_mistakes_end_in_a_sentence(
    dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    two, three = tmp_path / "two.vec", tmp_path / "three.vec"
    two.write_text("dog 1 2\nhund 1 2\n")
    three.write_text("hund 1 2 3\n")
    assert "LANG=FILE" in failure(capsys, "import", dataset, "x")
    assert "LANG=FILE" in failure(capsys, "import", dataset, "x", "two.vec")
    assert "LANG=FILE" in failure(capsys, "import", dataset, "x", f"en={two}", f"en={two}")
    assert "no file of word vectors" in failure(capsys, "import", dataset, "x", "en=absent.vec")
    assert "several sizes (en 2, de 3)" in failure(capsys, "import", dataset, "x", f"en={two}", f"de={three}")
    assert "none of the 17 words" in failure(capsys, "import", dataset, "x", f"en={three}")
    assert "choose among: de, en" in failure(capsys, "import", dataset, "x", f"es={two}")
    assert "choose a size from 1 to 1" in failure(capsys, "import", dataset, "x", f"de={three}", "--dim", "2")
    assert "plain folder name" in failure(capsys, "train", dataset, "--name", "../x")
    assert "Must be >= 1" in failure(capsys, "train", dataset, "--dim", "0")
    assert "no dataset folder" in failure(capsys, "show", tmp_path / "absent")
    assert not (dataset / "vectors").exists()

"""Which words are taken from files and stored vectors, and the text that is written."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from lingvis.errors import UserError
from lingvis.text.alignment.run import align
from lingvis.text.alignment.tables import read_table
from lingvis.text.alignment.write import write_vectors_text
from lingvis.text.vectors.read import read_vectors
from lingvis.text.vectors.store import VectorsOrigin, write_vectors
from lingvis.text.vectors.table import WordTable


@pytest.mark.parametrize("header", ["", "4 2\n"])
def test_first_words_of_text(tmp_path: Path, header: str) -> None:
    file = tmp_path / "a.vec"
    file.write_text(f"{header}Hund 1 2\nhund 3 4\nkatze 5 6\nmaus 7 8\n", encoding="utf-8")
    table = read_table(str(file), 2)
    assert table.words == ["hund", "katze"]
    assert table.values.tolist() == [[1, 2], [5, 6]]
    assert read_table(str(file), 99).words == ["hund", "katze", "maus"]


def test_first_words_of_a_model(tmp_path: Path) -> None:
    fasttext = pytest.importorskip("gensim.models.fasttext")
    sentences = [["Hund"] * 9 + ["katze"] * 5 + ["maus"] * 2 + ["hund"] * 3]
    model = fasttext.FastText(sentences, vector_size=4, min_count=1, epochs=1, bucket=50, workers=1)
    file = tmp_path / "a.bin"
    fasttext.save_facebook_model(model, str(file))
    table = read_table(str(file), 2)
    assert table.words == ["hund", "katze"]
    assert table.values == pytest.approx(read_vectors(file, ["hund", "katze"]).values)


def test_stored_words(tmp_path: Path) -> None:
    own = {"de": WordTable(["hund", "katze"], np.array([[1, 2], [3, 4]], dtype=np.float32))}
    folder = tmp_path / "data" / "vectors" / "own"
    write_vectors(folder, own, {"de": VectorsOrigin(source="test", sentences="")}, {"de": 0})
    table = read_table(f"{folder}:de", 1)
    assert table.words == ["hund"] and table.values.tolist() == [[1, 2]]
    with pytest.raises(UserError, match="has no vectors in 'fr'; it has: de"):
        read_table(f"{folder}:fr", 1)
    with pytest.raises(UserError, match="DATASET/vectors/NAME:LANG"):
        read_table(str(folder), 1)


def test_text_is_read_back(tmp_path: Path) -> None:
    values = np.random.default_rng(0).standard_normal((1100, 3)).astype(np.float32)  # more than two blocks
    table = WordTable([f"ü{n}" for n in range(1100)], values)
    turn = np.array([[0, 1, 0], [0, 0, 2], [1, 0, 0]], dtype=np.float32)
    write_vectors_text(tmp_path / "a.vec", table, turn)
    found = read_table(str(tmp_path / "a.vec"), 2000)
    assert found.words == table.words
    expected = np.stack([values[:, 1], 2 * values[:, 2], values[:, 0]], axis=1)
    assert found.values == pytest.approx(expected, rel=1e-4)


def test_align_takes_files_and_returns_what_it_wrote(tmp_path: Path) -> None:
    chance = np.random.default_rng(0)
    source = chance.standard_normal((40, 6)).astype(np.float32)
    turn = np.linalg.qr(chance.standard_normal((6, 6)))[0].astype(np.float32)
    write_vectors_text(tmp_path / "s.vec", WordTable([f"s{n}" for n in range(40)], source))
    write_vectors_text(tmp_path / "t.vec", WordTable([f"t{n}" for n in range(40)], source @ turn.T))
    (tmp_path / "st.txt").write_text("".join(f"s{n} t{n}\n" for n in range(40)), encoding="utf-8")
    report = align(
        tmp_path / "s.vec", tmp_path / "t.vec", tmp_path / "st.txt", str(tmp_path / "map"),
        method="procrustes", held_out=0.5, device="cpu",
    )  # fmt: skip
    assert (report.fitted_pairs, report.held_out_words, report.dim) == (20, 20, 6)
    assert report.maps["procrustes"].csls == 100 > report.maps["identity"].csls
    assert report.maps["identity"].objective is None
    stored = json.loads((tmp_path / "map" / "report.json").read_text(encoding="utf-8"))
    assert stored == report.as_json()
    assert stored["source"] == {"vectors": str(tmp_path / "s.vec"), "words": 40}
    assert list(stored["maps"]["identity"]) == ["nn", "csls", "seconds"]

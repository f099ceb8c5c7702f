"""Word vectors: files of others, our store, PCA and training, each against a naive reference."""

from __future__ import annotations

import gzip
import importlib
import os
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from lingvis.errors import UserError
from lingvis.text.tokenizers.base import Vocabulary
from lingvis.text.vectors.fasttext_bin import read_fasttext_bin
from lingvis.text.vectors.pca import reduce
from lingvis.text.vectors.read import read_vectors
from lingvis.text.vectors.store import VectorsOrigin, WordVectors, names, write_vectors
from lingvis.text.vectors.table import WordTable
from lingvis.text.vectors.text_format import read_text_vectors
from lingvis.text.vectors.training import train_vectors, usual_epochs
from lingvis.training.start.words import words_start
from lingvis.training.validate import load_recipe

VEC = "5 3\nthe 1 2 3 \nHund 0.5 -1 2e-1 \nhund 9 9 9 \nＣａｔ 4 5 6 \nnbsp\u00a0word 7 7 7 \n"
SENTENCES = [
    ["ein", "hund", "läuft", "im", "park"],
    ["ein", "hündchen", "läuft", "im", "garten"],
    ["zwei", "katzen", "schlafen", "im", "gartenhaus"],
    ["日本", "犬", "གཡོགས", "كىچىك"],
] * 3


def as_dict(table: WordTable) -> dict[str, list[float]]:
    return {word: values.tolist() for word, values in zip(table.words, table.values, strict=True)}


@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("packed", [True, False])
def test_text_keeps_wanted_words_in_our_spelling(tmp_path: Path, header: bool, packed: bool) -> None:
    text = (VEC if header else VEC.partition("\n")[2]).encode()
    file = tmp_path / ("a.vec.gz" if packed else "a.vec")
    file.write_bytes(gzip.compress(text) if packed else text)
    table = read_vectors(file, {"hund", "cat", "nbsp word", "absent"})
    assert table.words == ["hund", "cat", "nbsp word"]  # the first of Hund and hund
    assert table.values.dtype == np.float32
    expected = [[0.5, -1, 0.2], [4, 5, 6], [7, 7, 7]]
    assert np.array_equal(table.values, np.array(expected, dtype=np.float32))


def test_text_word_with_spaces_is_no_fault(tmp_path: Path) -> None:
    file = tmp_path / "glove.txt"
    file.write_text("dog 1 2\r\n. . . 3 4\r\nat name@domain.com 5 6\r\n\r\ncat 7 8\r\n", newline="")
    assert as_dict(read_text_vectors(file, ["cat", "dog"])) == {"dog": [1, 2], "cat": [7, 8]}


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"2 3\na 1 2 3\nb 1 2\n", "line 3: 2 numbers"),
        (b"a 1 2 3\nb 1 2 3 4\n", "line 2: 4 numbers"),
        (b"a 1 2\n\nb 1 two\n", "line 3: something other than a number"),
        (b"a 1 nan\n", "line 1: a number that is not finite"),
        (b"a 1 2\nb 1 1e99\n", "line 2: a number that is not finite"),
        (b"a 1 2\n\xff\xfe 1 2\n", "line 2: a word that is not UTF-8"),
        (b"a  1 2\n", "line 1: something other than a number"),
        (b"9 2\na 1 2\nb 3 4\n", "2 words where its first line says 9"),
        (b"a\nb\n", "line 1: 0 numbers"),
        (b"9 2\n", "0 words"),
        (b"", "no vectors"),
    ],
)
def test_text_malformed(tmp_path: Path, content: bytes, sentence: str) -> None:
    file = tmp_path / "bad.vec"
    file.write_bytes(content)
    with pytest.raises(UserError, match=sentence):
        read_text_vectors(file, {"a", "b"})


@pytest.mark.parametrize("content", [b"a 1 2\n", gzip.compress(VEC.encode())[:-9]], ids=["plain", "cut"])
def test_text_bad_gzip(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "bad.vec.gz"
    file.write_bytes(content)
    with pytest.raises(UserError, match="cannot be unpacked"):
        read_text_vectors(file, {"a"})


@pytest.fixture(scope="module")
def fasttext_bin(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """A model that gensim wrote, and gensim's own reading of it."""
    fasttext: Any = importlib.import_module("gensim.models.fasttext")
    file = tmp_path_factory.mktemp("bin") / "tiny.bin"
    model = fasttext.FastText(
        [["Hund", "hund", "Hund", *sentence] for sentence in SENTENCES],
        vector_size=7, min_count=1, min_n=2, max_n=4, bucket=97, epochs=2, workers=1,
    )  # fmt: skip
    fasttext.save_facebook_model(model, str(file))
    return file, fasttext.load_facebook_vectors(str(file))


def test_bin_equals_gensim(fasttext_bin: tuple[Path, Any]) -> None:
    file, reference = fasttext_bin
    known = ["läuft", "gartenhaus", "日本", "གཡོགས", "كىچىك"]
    unknown = ["hundehütte", "犬小屋", "x"]
    found = as_dict(read_fasttext_bin(file, [*known, *unknown, "hund"]))
    for word in [*known, *unknown]:
        assert found[word] == pytest.approx(reference.get_vector(word).tolist(), abs=1e-6), word
    assert all(word in reference.key_to_index for word in known)
    assert not any(word in reference.key_to_index for word in unknown)
    # "Hund" is more frequent, so it comes first in the file, and its subwords have the capital.
    assert found["hund"] == pytest.approx(reference.get_vector("Hund").tolist(), abs=1e-6)
    assert not np.allclose(reference.get_vector("Hund"), reference.get_vector("hund"), atol=1e-4)


def test_bin_without_subwords_does_not_invent_words(tmp_path: Path) -> None:
    fasttext: Any = importlib.import_module("gensim.models.fasttext")
    model = fasttext.FastText(
        SENTENCES, vector_size=4, min_count=1, min_n=0, max_n=0, bucket=0, epochs=1, workers=1
    )
    fasttext.save_facebook_model(model, str(tmp_path / "plain.bin"))
    table = read_fasttext_bin(tmp_path / "plain.bin", ["hund", "hundehütte"])
    assert table.words == ["hund"]
    assert table.values[0] == pytest.approx(model.wv.vectors_vocab[model.wv.key_to_index["hund"]])


def test_bin_rejects_unreadable_files(fasttext_bin: tuple[Path, Any], tmp_path: Path) -> None:
    data = fasttext_bin[0].read_bytes()
    file = tmp_path / "a.bin"

    def sentence(content: bytes) -> str:
        file.write_bytes(content)
        with pytest.raises(UserError) as caught:
            read_fasttext_bin(file, ["hund"])
        return str(caught.value)

    assert "not a fastText model" in sentence(b"3000000 300\n" + bytes(100))
    assert "not a fastText model" in sentence(data[:4] + struct.pack("<i", 99) + data[8:])
    kind = 8 + 7 * 4
    assert "classifier" in sentence(data[:kind] + struct.pack("<i", 3) + data[kind + 4 :])
    # The flag in front of the matrix: its sizes, found by their bytes, come right behind it.
    words = len(fasttext_bin[1])
    flag = data.index(struct.pack("<qq", words + 97, 7)) - 1
    assert "quantised" in sentence(data[:flag] + b"\1" + data[flag + 1 :])
    for size in (0, 6, 30, 80, 130, flag + 3, flag + 17 + 4 * 7 * words):
        assert "is cut off" in sentence(data[:size]), size
    matrix, size = flag + struct.calcsize("<?qq"), 4 * 7 * words
    numbers = np.full(7 * words, np.inf, "<f4").tobytes()
    found = sentence(data[:matrix] + numbers + data[matrix + size :])
    assert "a.bin has a number that is not finite in the vector of 'hund'; download it again" in found


def naive_pca(vectors: NDArray[np.float64], dim: int) -> NDArray[np.float64]:
    """One axis after another by power iteration, each taken out of the covariance when found."""
    centred = vectors - vectors.mean(axis=0)
    covariance = sum(np.outer(row, row) for row in centred) / len(centred)
    coordinates = []
    for _ in range(dim):
        axis = np.ones(vectors.shape[1])
        for _ in range(500):
            axis = covariance @ axis
            axis /= np.linalg.norm(axis)
        axis *= np.sign(axis[np.abs(axis).argmax()])
        covariance = covariance - (axis @ covariance @ axis) * np.outer(axis, axis)
        coordinates.append(centred @ axis)
    return np.stack(coordinates, axis=1)


def test_pca_equals_power_iteration() -> None:
    generator = np.random.default_rng(0)
    spread = np.diag([5.0, 3.0, 2.0, 1.0, 0.5]) @ np.linalg.qr(generator.normal(size=(5, 5)))[0]
    vectors = (generator.normal(size=(200, 5)) @ spread + 10).astype(np.float32)
    reduced = reduce(vectors, 3)
    assert reduced.dtype == np.float32
    assert np.allclose(reduced, naive_pca(vectors.astype(np.float64), 3), atol=1e-3)
    assert np.allclose(reduced.mean(axis=0), 0, atol=1e-4)
    kept = np.linalg.eigvalsh(np.cov(vectors.T.astype(np.float64)))[::-1][:3]
    assert np.allclose(reduced.var(axis=0, ddof=1), kept, rtol=1e-4)


def test_pca_to_the_full_size_keeps_distances() -> None:
    vectors = np.random.default_rng(1).normal(size=(9, 4)).astype(np.float32)
    reduced = reduce(vectors, 4)
    for one in range(9):
        for other in range(9):
            expected = np.linalg.norm(vectors[one] - vectors[other])
            assert np.linalg.norm(reduced[one] - reduced[other]) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(("shape", "dim"), [((9, 4), 5), ((3, 4), 4), ((9, 4), 0)])
def test_pca_rejects_impossible_sizes(shape: tuple[int, int], dim: int) -> None:
    with pytest.raises(UserError, match=f"choose a size from 1 to {min(shape)}"):
        reduce(np.ones(shape, dtype=np.float32), dim)


def test_a_language_of_few_known_words_starts_from_fewer_directions() -> None:
    """PCA in each language on its own: 20 English words, 3 German ones and one without a vector."""
    recipe = load_recipe("mule", ["text.words.vector_dim=5", "data.vectors=captions"])
    vocabulary = Vocabulary(29, 0, 4, (0, 1, 2, 3, 4), languages=("en", "de"), blocks=((5, 25), (25, 29)))
    values = np.random.default_rng(2).normal(size=(29, 8)).astype(np.float32)
    values[[0, 1, 2, 3, 4, 26]] = 0
    start = words_start(recipe, vocabulary, values)["vectors"]
    assert start.shape == (29, 5)
    np.testing.assert_allclose(start[5:25], naive_pca(values[5:25].astype(np.float64), 5), atol=1e-3)
    german = values[[25, 27, 28]]
    for one, other in ((0, 1), (0, 2), (1, 2)):
        distance = np.linalg.norm(start[[25, 27, 28]][one] - start[[25, 27, 28]][other])
        assert distance == pytest.approx(np.linalg.norm(german[one] - german[other]), rel=1e-4)
    assert not start[25:, 3:].any()
    assert not start[[0, 1, 2, 3, 4, 26]].any()
    values[25:] = 0
    assert not words_start(recipe, vocabulary, values)["vectors"][25:].any()


def make_store(folder: Path) -> WordVectors:
    tables = {
        "de": WordTable(["hund", "läuft"], np.array([[1, 2, 3], [4, 5, 6.5]], dtype=np.float32)),
        "zh": WordTable(["犬"], np.array([[-1, 0, 0.25]], dtype=np.float32)),
    }
    origins = dict.fromkeys(tables, VectorsOrigin(source="a.vec", sentences="abc", file="123"))
    return write_vectors(folder, tables, origins, {"de": 7, "zh": 0})


def test_store_round_trip_and_lookup(tmp_path: Path) -> None:
    written = make_store(tmp_path / "vectors" / "mine")
    vectors = WordVectors.open(tmp_path / "vectors" / "mine")
    assert vectors.manifest == written.manifest
    assert (vectors.languages, vectors.dim) == (["de", "zh"], 3)
    assert names(tmp_path) == ["mine"]
    assert len({file.stat().st_mode for file in vectors.path.iterdir()}) == 1  # readable by the same people
    assert vectors.manifest.languages["de"].missing == 7
    values, found = vectors.lookup(["läuft", "absent", "hund", "läuft"], "de")
    assert values.dtype == np.float32
    assert values.tolist() == [[4, 5, 6.5], [0, 0, 0], [1, 2, 3], [4, 5, 6.5]]
    assert found.tolist() == [True, False, True, True]
    assert vectors.lookup([], "zh")[0].shape == (0, 3)
    assert vectors.lookup(["hund", "犬"], "zh")[1].tolist() == [False, True]


def test_store_reports_what_is_wrong(tmp_path: Path) -> None:
    folder = tmp_path / "vectors" / "mine"
    with pytest.raises(UserError, match="lingvis vectors train"):
        WordVectors.open(folder)
    make_store(folder)
    with pytest.raises(UserError, match="has no vectors in 'fr'; it has: de, zh"):
        WordVectors.open(folder).lookup(["chien"], "fr")
    with pytest.raises(UserError, match="available: mine"):
        WordVectors.open(folder.parent / "other")
    file = folder / "de.safetensors"
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    with pytest.raises(UserError, match=r"de\.safetensors does not match its checksum"):
        WordVectors.open(folder).lookup(["hund"], "de")
    assert WordVectors.open(folder).lookup(["犬"], "zh")[1].all()
    file.unlink()
    with pytest.raises(UserError, match="damaged"):
        WordVectors.open(folder).lookup(["hund"], "de")
    (folder / "manifest.json").write_text('{"format": 2}')
    with pytest.raises(UserError, match="damaged"):
        WordVectors.open(folder)


@pytest.mark.parametrize("number", [65520.0, -7e4, np.inf, np.nan])
def test_store_rejects_numbers_beyond_float16(tmp_path: Path, number: float) -> None:
    values = np.array([[1, 65504], [number, 0]], dtype=np.float32)  # the largest of float16, and a larger one
    origins = {"de": VectorsOrigin(source="a.vec", sentences="abc")}
    with pytest.raises(UserError, match=r"the vector of 'läuft' from a\.vec has a number above 65504"):
        write_vectors(tmp_path / "x", {"de": WordTable(["hund", "läuft"], values)}, origins, {"de": 0})
    assert not (tmp_path / "x").exists()
    kept = write_vectors(tmp_path / "x", {"de": WordTable(["hund"], values[:1])}, origins, {"de": 0})
    assert kept.lookup(["hund"], "de")[0].tolist() == [[1, 65504]]


def test_training_brings_words_of_one_place_together() -> None:
    generator = np.random.default_rng(0)
    places = [["berg", "tal", "schnee", "fels"], ["meer", "strand", "welle", "boot"]]
    sentences = [list(generator.permutation(places[number % 2])) for number in range(1000)]
    passes: list[int] = []
    table = train_vectors(sentences, dim=16, epochs=40, seed=0, on_epoch=lambda: passes.append(1))
    assert len(passes) == 40
    assert sorted(table.words) == sorted(places[0] + places[1])
    unit = table.values / np.linalg.norm(table.values, axis=1, keepdims=True)
    same = np.array([[(a in places[0]) == (b in places[0]) for b in table.words] for a in table.words])
    scores = unit @ unit.T
    assert scores[same].min() > scores[~same].max() + 0.3


def test_a_seed_gives_the_same_vectors_in_another_process() -> None:
    def describe(seed: int) -> str:
        table = train_vectors(SENTENCES, dim=4, epochs=2, seed=seed)
        return f"{table.words} {table.values.tobytes().hex()}"

    script = (
        "from lingvis.text.vectors.training import train_vectors;"
        f"table = train_vectors({SENTENCES!r}, dim=4, epochs=2, seed=3);"
        "print(table.words, table.values.tobytes().hex())"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "12345"}  # words must not be ordered by their hash
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stderr == ""
    assert done.stdout.strip() == describe(3)
    assert describe(3) != describe(4)


def test_usual_epochs() -> None:
    assert [usual_epochs(words) for words in (0, 1000, 300_000, 600_000, 10**7)] == [15, 15, 10, 5, 3]

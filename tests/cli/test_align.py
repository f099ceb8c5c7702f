"""`lingvis align` on small files: what it writes, prints and rejects."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from lingvis.cli import main
from lingvis.files import write_json
from lingvis.text.alignment import prepare
from lingvis.text.vectors.read import read_vectors
from lingvis.text.vectors.store import VectorsOrigin, write_vectors
from lingvis.text.vectors.table import WordTable

WORDS, DIM = 60, 8


def values() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    chance = np.random.default_rng(0)
    source = chance.standard_normal((WORDS, DIM)).astype(np.float32)
    turn = np.linalg.qr(chance.standard_normal((DIM, DIM)))[0].astype(np.float32)
    return source, source @ turn.T


def write_vec(file: Path, words: list[str], rows: np.ndarray[Any, Any]) -> str:
    lines = [f"{len(words)} {DIM}"]
    lines += [" ".join([word, *map(str, row)]) for word, row in zip(words, rows.tolist(), strict=True)]
    text = ("\n".join(lines) + "\n").encode()
    file.write_bytes(gzip.compress(text) if file.suffix == ".gz" else text)
    return str(file)


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str, str]:
    """Source and target vectors, the second packed and in another order, and a dictionary of all words."""
    source, target = values()
    one = write_vec(tmp_path / "s.vec", [f"S{n}" for n in range(WORDS)], source)
    other = write_vec(tmp_path / "t.vec.gz", [f"t{n}" for n in range(WORDS)][::-1], target[::-1])
    dictionary = tmp_path / "st.csv"
    dictionary.write_text("source,target\n" + "".join(f"s{n},t{n}\n" for n in range(WORDS)), encoding="utf-8")
    return one, other, str(dictionary)


def call(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> Any:
    main(["align", *map(str, arguments), "--device", "cpu", "--json"])
    return json.loads(capsys.readouterr().out)


def failure(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    with pytest.raises(SystemExit) as caught:
        main(["align", *map(str, arguments)])
    assert caught.value.code == 2
    return capsys.readouterr().err


@pytest.mark.parametrize("method", ["procrustes", "rcsls"])
def test_a_map_is_fitted_measured_and_written(
    files: tuple[str, str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str], method: str
) -> None:
    out = tmp_path / "map"
    report = call(capsys, *files, "--out", out, "--method", method, "--held-out", "0.25")
    assert report["pairs"] == {"fitted": 45, "held_out": 15, "held_out_words": 15}
    assert list(report["maps"]) == ["identity", "procrustes", "rcsls"][: 3 if method == "rcsls" else 2]
    assert report["maps"]["procrustes"]["csls"] == 100 > report["maps"]["identity"]["csls"]
    assert json.loads((out / "report.json").read_text(encoding="utf-8")) == report
    assert sorted(entry.name for entry in out.iterdir()) == [
        "map.safetensors", "report.json", "source.vec", "target.vec",
    ]  # fmt: skip
    source, target = values()
    matrix = load_file(out / "map.safetensors")["matrix"]
    mapped = read_vectors(out / "source.vec", [f"s{n}" for n in range(WORDS)])
    assert mapped.words == [f"s{n}" for n in range(WORDS)]
    assert mapped.values == pytest.approx(prepare(source) @ matrix.T, abs=1e-5)
    kept = read_vectors(out / "target.vec", [f"t{n}" for n in range(WORDS)])
    assert kept.values[::-1] == pytest.approx(prepare(target[::-1])[::-1], abs=1e-5)
    if method == "procrustes":
        assert matrix @ matrix.T == pytest.approx(np.eye(DIM), abs=1e-5)
    # The same command again gives the same map; another seed asks other words.
    first = (out / "map.safetensors").read_bytes()
    call(capsys, *files, "--out", out, "--method", method, "--held-out", "0.25")
    assert (out / "map.safetensors").read_bytes() == first


def test_table_for_people(
    files: tuple[str, str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["align", *files, "--out", str(tmp_path / "map"), "--spectral", "--device", "cpu", "--words", "50"])
    out = capsys.readouterr().out
    # Of both files the first 50 words: s0 to s49 and t59 down to t10.
    assert "32 pairs fitted, 8 held-out words" in out
    assert "procrustes" in out and "100.0" in out and "rcsls" in out


def test_stored_vectors_and_a_dictionary_from_sentences(
    toy_dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "toy"
    shutil.copytree(toy_dataset, folder)
    rows = []
    for number in range(WORDS * 4):
        chosen = [number % WORDS, (7 * number + 3) % WORDS, (11 * number + number // WORDS) % WORDS]
        rows.append({"id": str(number), "parallel": {
            "en": " ".join(f"s{n}" for n in chosen), "de": " ".join(f"t{n}" for n in reversed(chosen))}})  # fmt: skip
    (folder / "text-only.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    source, target = values()
    tables = {
        "en": WordTable([f"s{n}" for n in range(WORDS)], source),
        "de": WordTable([f"t{n}" for n in range(WORDS)], target),
    }
    origins = dict.fromkeys(tables, VectorsOrigin(source="test", sentences=""))
    stored = write_vectors(folder / "vectors" / "own", tables, origins, dict.fromkeys(tables, 0)).path
    report = call(
        capsys, f"{stored}:en", f"{stored}:de", "--parallel", folder, "--langs", "en", "de",
        "--out", tmp_path / "map", "--method", "procrustes",
    )  # fmt: skip
    assert report["pairs"]["fitted"] > 30
    assert report["maps"]["procrustes"]["nn"] == 100
    langs, out = ("--parallel", folder, "--langs"), ("--out", tmp_path / "m")
    missing = failure(capsys, f"{stored}:fr", f"{stored}:de", *langs, "en", "de", *out)
    assert "has no vectors in 'fr'; it has: de, en" in missing
    strange = failure(capsys, f"{stored}:en", f"{stored}:de", *langs, "fr", "de", *out)
    assert "sentences in both fr and de" in strange


def test_mistakes_end_in_a_sentence(
    files: tuple[str, str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target, dictionary = files
    out = ("--out", str(tmp_path / "map"))
    assert "no word vectors at nowhere.vec" in failure(capsys, "nowhere.vec", target, dictionary, *out)
    assert "cannot be read" in failure(capsys, source, target, tmp_path / "none.csv", *out)
    assert "needs a dictionary or parallel sentences" in failure(capsys, source, target, *out)
    assert "needs a dictionary or parallel sentences" in failure(
        capsys, source, target, "--parallel", tmp_path, *out
    )
    bad = tmp_path / "bad.vec"
    bad.write_text("2 8\na 1 2 3 4 5 6 7 8\nb 1 2 3\n", encoding="utf-8")
    assert "line 3: 3 numbers after the word" in failure(capsys, str(bad), target, dictionary, *out)
    (tmp_path / "bad.bin").write_bytes(b"\0" * 200)
    assert "not a fastText model" in failure(capsys, str(tmp_path / "bad.bin"), target, dictionary, *out)
    (tmp_path / "cut.vec.gz").write_bytes(Path(target).read_bytes()[:300])
    assert "cannot be unpacked" in failure(capsys, str(tmp_path / "cut.vec.gz"), target, dictionary, *out)
    small = write_vec(tmp_path / "small.vec", ["s1", "s2"], np.ones((2, DIM)))
    assert "only " in failure(capsys, small, target, dictionary, *out)
    three = tmp_path / "three.csv"
    three.write_text("a,b,c\n", encoding="utf-8")
    assert "three.csv, line 1: 3 columns" in failure(capsys, source, target, three, *out)
    assert "leaves no word" in failure(capsys, *files, "--held-out", "0.001", *out)
    assert failure(capsys, *files, "--held-out", "1", *out)
    assert "not supported" in failure(capsys, *files, "--device", "meta", *out)
    assert not (tmp_path / "map").exists()
    # Nothing of somebody else's is replaced.
    write_json(tmp_path / "map" / "other.json", {})
    assert "do not belong to a map" in failure(capsys, *files, *out)
    assert (tmp_path / "map" / "other.json").exists()

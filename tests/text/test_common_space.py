"""Word vectors of all languages in one space: rotated back by dictionaries induced from captions."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from lingvis.data.dataset import Dataset, write_rows
from lingvis.data.rows import Row
from lingvis.errors import UserError
from lingvis.text.alignment.common_space import align_vectors
from lingvis.text.vectors.store import VECTORS, VectorsOrigin, WordVectors, write_vectors
from lingvis.text.vectors.table import WordTable

from ..command import lingvis

WORDS, DIM = 40, 8
LETTERS = "abcdefgh"
MEANINGS = [f"{LETTERS[number // 8]}{LETTERS[number % 8]}" for number in range(WORDS)]


def rotation(seed: int) -> NDArray[np.float32]:
    matrix = np.random.default_rng(seed).normal(size=(DIM, DIM))
    return np.linalg.qr(matrix)[0].astype(np.float32)


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """Pictures with three words in three languages; the vectors of a language are those of English, turned."""
    generator = np.random.default_rng(0)
    (tmp_path / "images").mkdir()
    rows = []
    for picture in range(120):
        chosen = generator.choice(WORDS, 3, replace=False)
        captions: dict[str, tuple[str, ...]] = {
            lang: (" ".join(f"{lang}{MEANINGS[word]}" for word in chosen),) for lang in ("en", "de", "fr")
        }
        (tmp_path / "images" / f"{picture}.png").touch()
        rows.append(Row(image=f"{picture}.png", split="train", captions=captions))
    write_rows(tmp_path / "captions.jsonl", rows)
    english = generator.normal(size=(WORDS, DIM)).astype(np.float32)
    tables = {}
    for seed, lang in enumerate(("en", "de", "fr")):
        turned = english @ rotation(seed)
        tables[lang] = WordTable([f"{lang}{meaning}" for meaning in MEANINGS], turned)
    origins = {lang: VectorsOrigin(source="random", sentences=lang) for lang in tables}
    write_vectors(tmp_path / VECTORS / "captions", tables, origins, dict.fromkeys(tables, 0))
    return tmp_path


def test_translations_lie_at_one_place_afterwards(dataset: Path) -> None:
    before = {file.name: file.read_bytes() for file in (dataset / VECTORS / "captions").iterdir()}
    found = align_vectors(dataset, space="de")
    assert found.result.changed and found.result.vectors.languages == ["en", "de", "fr"]
    assert list(found.rotations) == ["en", "fr"]
    assert all(each.pairs > 30 and each.accuracy == 100 for each in found.rotations.values())
    stored = WordVectors.open(dataset / VECTORS / "aligned")
    tables = {lang: torch.from_numpy(stored.table(lang).values) for lang in stored.languages}
    for lang in ("en", "fr"):
        torch.testing.assert_close(tables[lang], tables["de"], rtol=0, atol=2e-3)
    old = WordVectors.open(dataset / VECTORS / "captions")
    for lang, table in tables.items():
        lengths = torch.from_numpy(old.table(lang).values).norm(dim=1)
        torch.testing.assert_close(table.norm(dim=1), lengths, rtol=2e-3, atol=0)
    # They were far apart before.
    apart = [old.table(lang).values - old.table(lang).values.mean(axis=0) for lang in ("en", "de")]
    assert abs(apart[0] - apart[1]).mean() > 0.5
    assert {file.name: file.read_bytes() for file in (dataset / VECTORS / "captions").iterdir()} == before
    assert not align_vectors(Dataset.open(dataset), space="de").result.changed


def test_other_sentences_are_not_written_over(dataset: Path) -> None:
    align_vectors(dataset)
    rows = Dataset.open(dataset).rows
    write_rows(dataset / "captions.jsonl", rows[:100])
    with pytest.raises(UserError, match="made from other sentences, files or settings; choose another name"):
        align_vectors(dataset)


def test_too_few_translations_name_the_language(dataset: Path) -> None:
    rows = Dataset.open(dataset).rows
    few = [
        row.model_copy(update={"captions": {"en": row.captions["en"], "de": row.captions["de"]}})
        for row in rows[3:]
    ]
    write_rows(dataset / "captions.jsonl", [*rows[:3], *few])
    with pytest.raises(UserError, match=r"language fr: .*, or leave the language out of the word vectors"):
        align_vectors(dataset)


def test_missing_vectors_name_the_command_that_makes_them(dataset: Path) -> None:
    with pytest.raises(UserError, match=r"make some with: lingvis vectors align .* --source captions$"):
        WordVectors.open(dataset / VECTORS / "aligned")
    with pytest.raises(UserError, match=r"lingvis vectors train .* && lingvis vectors align "):
        WordVectors.open(dataset / "none" / VECTORS / "aligned")


def test_the_command_prints_what_it_rotated(dataset: Path) -> None:
    printed = json.loads(lingvis("vectors", "align", dataset, "--json").stdout)
    assert printed["changed"] and set(printed["rotations"]) == {"de", "fr"}
    assert printed["rotations"]["de"]["accuracy"] == 100
    bad = lingvis("vectors", "align", dataset, "--space", "xx", check=2)
    assert "choose one of: de, en, fr" in bad.stderr

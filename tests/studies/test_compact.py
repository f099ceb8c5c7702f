"""The study of compact embeddings against naive loops, on drawn scenes."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from lingvis.data.dataset import Dataset
from lingvis.data.scenes import make_scenes
from lingvis.errors import UserError
from lingvis.evaluation.run import evaluate
from lingvis.features.extract import extract
from lingvis.model.embedder import Embedder
from lingvis.model.stored import StoredImages
from lingvis.training.run import train
from studies.compact.distractors import AREA, count_before, encode_distractors
from studies.compact.report import compact_table, prefix_lines
from studies.compact.run import main, measure_compact
from studies.records import RUNS, read
from studies.tables.results import plots, retrieval
from studies.tables.results.records import Results

ROOT = Path(__file__).parents[2]
SMALL = [
    "training.epochs=1",
    "training.batch_size=16",
    "training.sampling.passes=1",
    "training.sampling.text_only=0.0",
    "data.text_only=false",
    "data.features=efficientnet-lite0-pixels",
    "image.backbone.network=efficientnet-lite0",
    "image.backbone.size=64",
    "image.encoder.dim=16",
    "text.encoder.dim=16",
    "similarity.dim=0",
    "text.words.dim=8",
    "text.words.buckets=500",
]
COUNTS = [0, 3, 40]
DIMS = [5, 8]


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compact") / "scenes"
    make_scenes(folder, scenes=80, languages=("en", "de"), captions_per_language=2)
    extract(folder, kind="pixels", device="cpu")
    return folder


@pytest.fixture(scope="module")
def run(scenes: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compact") / "small"
    train("lingvis", scenes, folder, overrides=SMALL, device="cpu")
    return folder


@pytest.fixture(scope="module")
def record(run: Path, scenes: Path) -> dict[str, Any]:
    return measure_compact(run, scenes, split="val", dims=DIMS, distractors=COUNTS[1:], seed=3, device="cpu")


def train_names(dataset: Dataset) -> list[str]:
    return [row.image for row in dataset.rows if row.split == "train"]


def shorten(form: str, dim: int, directions: Any, vector: Any) -> Any:
    """One embedding in float64."""
    values = vector.astype(np.float64)
    values = directions[:dim] @ values if form == "SVD" else values[:dim]
    return values / np.sqrt((values**2).sum())


def stored_as(form: str, values: Any) -> Any:
    """One embedding of a picture as it is stored."""
    if form.endswith("int8"):
        scale = max(abs(value) for value in values) / 127
        return np.array([round(value / scale) * scale for value in values])
    if form.endswith("signs"):
        return np.array([1.0 if value >= 0 else -1.0 for value in values]) / len(values) ** 0.5
    return values


def test_every_row_is_that_of_a_naive_loop(run: Path, scenes: Path, record: dict[str, Any]) -> None:
    model, dataset = Embedder.load(run, device="cpu"), Dataset.open(scenes)
    stored = StoredImages.open(model, dataset)
    added = encode_distractors(stored, train_names(dataset), COUNTS[-1], seed=3).numpy()
    train_emb = stored.encode(train_names(dataset)).astype(np.float64)
    directions = np.linalg.eigh(train_emb.T @ train_emb)[1].T[::-1]
    expected_rows = len(COUNTS) * (len(DIMS) * 4 + 3)  # at full length the SVD changes nothing
    assert len(record["rows"]) == expected_rows
    assert {row["dim"] for row in record["rows"]} == {*DIMS, 16}
    for row in record["rows"]:
        for lang in ("en", "de"):
            captions = dataset.captions("val", [lang])
            form, dim = row["form"], row["dim"]
            texts = model.encode_texts(captions.texts, lang)
            pictures = [
                stored_as(form, shorten(form, dim, directions, each))
                for each in stored.encode(captions.images)
            ]
            others = [
                stored_as(form, shorten(form, dim, directions, each)) for each in added[: row["distractors"]]
            ]
            sentences = [shorten(form, dim, directions, each) for each in texts]
            lowest, highest = 0, 0  # the last digits of a score may decide between two neighbours
            for sentence, own in zip(sentences, captions.image_of, strict=True):
                wrong = [each for number, each in enumerate(pictures) if number != own]
                gaps = [(each - pictures[own]) @ sentence for each in [*wrong, *others]]
                for k in (1, 5, 10):
                    lowest += sum(gap > -1e-5 for gap in gaps) < k
                    highest += sum(gap > 1e-5 or abs(gap) < 1e-9 for gap in gaps) < k  # ties: against
            total = 3 * len(sentences) / 100
            assert lowest / total - 1e-3 <= row["t2i"][lang] <= highest / total + 1e-3
            assert highest - lowest <= 2
        assert row["mean_t2i"] == pytest.approx(np.mean(list(row["t2i"].values())), abs=1e-3)


def test_the_full_length_without_distractors_is_the_plain_evaluation(
    run: Path, scenes: Path, record: dict[str, Any]
) -> None:
    report = evaluate(run, scenes, split="val", device="cpu")
    (row,) = [
        row
        for row in record["rows"]
        if (row["form"], row["dim"], row["distractors"]) == ("first values", 16, 0)
    ]
    assert row["mR"] == {lang: pytest.approx(each.mR, abs=1e-3) for lang, each in report.languages.items()}
    assert row["bytes"] == 64


def test_distractors_are_parts_of_other_pictures(run: Path, scenes: Path) -> None:
    model, dataset = Embedder.load(run, device="cpu"), Dataset.open(scenes)
    stored = StoredImages.open(model, dataset)
    names = train_names(dataset)[:4]
    state = torch.get_rng_state()
    first = encode_distractors(stored, names, 10, seed=1)
    assert torch.equal(torch.get_rng_state(), state)  # nobody else's random numbers change
    assert torch.equal(encode_distractors(stored, names, 10, seed=1), first)
    assert not torch.equal(encode_distractors(stored, names, 10, seed=2), first)
    torch.testing.assert_close(first.norm(dim=1), torch.ones(10))
    whole = torch.from_numpy(stored.encode(names))
    assert float((first[:, None] - whole).norm(dim=-1).min()) > 1e-4  # parts, no whole pictures
    assert 0 < AREA < 1


def test_the_scan_counts_every_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("studies.compact.distractors.SENTENCES_BLOCK", 4)
    monkeypatch.setattr("studies.compact.distractors.DISTRACTORS_BLOCK", 7)
    random = torch.Generator().manual_seed(0)
    texts = torch.randn(9, 5, generator=random, dtype=torch.float64)
    others = torch.randn(30, 5, generator=random, dtype=torch.float64)
    limits = torch.randn(9, generator=random, dtype=torch.float64)
    expected = [
        sum(float(other @ text) >= float(limit) for other in others)
        for text, limit in zip(texts, limits, strict=True)
    ]
    assert count_before(texts, limits, others).tolist() == expected
    assert count_before(texts, limits, others[:0]).tolist() == [0] * 9


def test_models_of_stored_vectors_have_no_distractors(scenes: Path, tmp_path: Path) -> None:
    extract(scenes, kind="grid", device="cpu")
    small = ["training.epochs=1", "image.encoder.dim=8", "text.encoder.dim=8", "text.tokenizer.min_count=1"]
    train("vse_infinity_grid", scenes, tmp_path / "grid", overrides=small, device="cpu")
    with pytest.raises(UserError, match="model grid takes stored vectors of kind grid"):
        measure_compact(tmp_path / "grid", scenes, split="val", distractors=[3], device="cpu")
    record = measure_compact(tmp_path / "grid", scenes, split="val", dims=[4], distractors=[0], device="cpu")
    assert {row["distractors"] for row in record["rows"]} == {0}
    assert {row["dim"] for row in record["rows"]} == {4, 8}


def test_training_pictures_are_not_measured(run: Path, scenes: Path) -> None:
    with pytest.raises(UserError, match="split is train"):
        measure_compact(run, scenes, split="train", device="cpu")


def test_the_command_appends_a_record_without_matplotlib(
    run: Path, scenes: Path, record: dict[str, Any], tmp_path: Path
) -> None:
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from studies.compact.run import main\n"
        f"main([{str(scenes)!r}, '--run', {str(run)!r}, '--dims', '5', '8', '--distractors', '3', '40',"
        f" '--seed', '3', '--device', 'cpu', '--out', {str(tmp_path / 'compact')!r}])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (written,) = read(tmp_path / "compact" / RUNS)
    assert written["rows"] == record["rows"]
    assert (written["seed"], written["split"], written["protocol"]) == (3, "val", "all")
    assert written["hardware"]["cpu"]
    assert compact_table(record) in done.stdout
    results = Results(tmp_path)
    assert compact_table(record) in retrieval.compact(results)
    plots.draw(results, tmp_path / "images")
    assert (tmp_path / "images" / "compact.png").stat().st_size > 0


def test_tables_and_plots_say_what_is_missing(record: dict[str, Any], tmp_path: Path) -> None:
    assert retrieval.compact(Results(tmp_path)) == "Not measured yet."
    lines = prefix_lines(record)
    assert list(lines) == COUNTS
    assert all([dim for dim, _ in line] == [*DIMS, 16] for line in lines.values())
    for fewer, more in pairwise(COUNTS):  # more pictures never help
        assert all(a >= b for (_, a), (_, b) in zip(lines[fewer], lines[more], strict=True))
    with pytest.raises(SystemExit):
        main([str(tmp_path), "--run", str(tmp_path), "--dims", "0"])

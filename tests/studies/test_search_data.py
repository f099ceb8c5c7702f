"""Made-up vectors, recall against exact search, sentences, and memory as the study of search measures it."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from lingvis.collection.query.language import LanguageDetector
from lingvis.errors import UserError
from studies.search import data as search_data
from studies.search.data import Clustered, least_scores, make_items, recall, row_of
from studies.search.memory import PeakMemory, folder_mb, memory_mb
from studies.search.model import PHRASES, sentences


@pytest.fixture
def vectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(search_data, "CHUNK", 300)
    Clustered(1000, 32).write(tmp_path / "vectors.npy")
    return tmp_path / "vectors.npy"


def test_vectors_have_unit_length_and_are_reproducible(vectors: Path) -> None:
    stored = np.load(vectors)
    assert stored.shape == (1000, 32) and stored.dtype == np.float16
    np.testing.assert_allclose(np.linalg.norm(stored.astype(np.float32), axis=1), 1, atol=2e-3)
    np.testing.assert_array_equal(stored, np.concatenate(list(Clustered(1000, 32).chunks())))
    other = np.concatenate(list(Clustered(1000, 32, seed=1).chunks()))
    assert not np.isclose(stored, other).all(axis=1).any()
    assert len(np.unique(stored, axis=0)) == 1000


def test_vectors_are_clustered_and_queries_lie_farther_off() -> None:
    made = Clustered(2000, 1024)
    stored = np.concatenate(list(made.chunks())).astype(np.float32)
    among = stored @ stored.T
    np.fill_diagonal(among, -1)
    asked = made.queries(100) @ stored.T
    assert np.median(among.max(axis=1)) > 0.6  # a neighbour in the same cluster
    assert np.median(among) < 0.2
    assert 0.4 < np.median(asked.max(axis=1)) < np.median(among.max(axis=1)) - 0.1


def test_least_score_is_that_of_the_tenth_best(vectors: Path) -> None:
    queries = Clustered(1000, 32).queries(5)
    scores = queries @ np.load(vectors).astype(np.float32).T
    naive = [sorted(row, reverse=True)[9] for row in scores.tolist()]
    np.testing.assert_allclose(least_scores(vectors, queries, 10), naive, atol=1e-6)


def test_recall_counts_right_rows_once(vectors: Path) -> None:
    queries = Clustered(1000, 32).queries(4)
    least = least_scores(vectors, queries, 10)
    order = np.argsort(-(queries @ np.load(vectors).astype(np.float32).T), axis=1)
    best, worst = order[:, :10], order[:, -10:]
    assert recall(vectors, queries, list(best), least, 10) == 1
    assert recall(vectors, queries, list(worst), least, 10) == 0
    half = [np.concatenate([row[:5], bad[:5]]) for row, bad in zip(best, worst, strict=True)]
    assert recall(vectors, queries, half, least, 10) == 0.5
    again = [np.repeat(row[:2], 5) for row in best]
    assert recall(vectors, queries, again, least, 10) == 0.2
    assert recall(vectors, queries, [row[:9] for row in best], least, 10) == 0.9


def test_items_carry_their_number_and_a_picture() -> None:
    items = make_items(np.eye(3, dtype=np.float16), 1998)
    assert [row_of(item.info.id) for item in items] == [1998, 1999, 2000]
    assert len({item.info.path for item in items}) == 3
    np.testing.assert_array_equal(items[1].embedding, [0, 1, 0])
    assert Image.open(io.BytesIO(items[0].thumbnail)).format == "JPEG"


def test_sentences_are_distinct_and_of_the_given_languages() -> None:
    everything = sentences(list(PHRASES), 10_000)
    assert len(everything) == len(set(everything)) >= 210
    german = sentences(["de-AT", "xx"], 10_000)
    assert len(german) == 24
    assert set(german) < set(everything)
    detector = LanguageDetector(list(PHRASES))
    assert {detector(sentence) for sentence in everything[:200]} == set(PHRASES)
    with pytest.raises(UserError, match=r"queries for a model of xx; use a model of any of: ar, cs"):
        sentences(["xx"], 10)


def test_memory_counts_a_process_and_its_children() -> None:
    script = "x = bytearray(60_000_000); x[::4096] = b'1' * len(x[::4096]); print(flush=True); input()"
    before = memory_mb([os.getpid()])
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        with PeakMemory([os.getpid()]) as memory:
            pass
        alone = memory_mb([child.pid])
        child.communicate(b"\n")
    assert 60 < alone < 120
    assert memory.peak - before > 55
    assert memory_mb([child.pid]) == 0


def test_disk_space_counts_files_at_any_depth(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    for name in ("a/1", "a/b/2"):
        (tmp_path / name).write_bytes(os.urandom(1_000_000))
    assert folder_mb(tmp_path) == pytest.approx(2, abs=0.05)

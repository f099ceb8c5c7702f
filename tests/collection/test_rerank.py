"""The first results in an order that a second model takes part in: SCAN over a real collection."""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

import lingvis
from lingvis.cli.commands.collections import search
from lingvis.collection.query.query import Query
from lingvis.collection.query.vectors import QueryVectors
from lingvis.collection.rerank.base import RerankContext
from lingvis.collection.rerank.cache import PictureCache
from lingvis.collection.rerank.second_model import SecondModel, joint_scores
from lingvis.collection.stores.records import Hit
from lingvis.errors import UserError
from lingvis.features.kinds import Kind
from lingvis.model.embedder import Embedder

from .conftest import make_model, make_pictures
from .indexing import index_folders

TEXTS = ["a red dog on the beach", "the house"]
QUESTION = "a red house"


def make_scan(run: Path, *, recipe_name: str = "scan_t2i", kind: Kind = "grid") -> Path:
    """Cross attention with random weights, English alone."""
    return make_model(run, image_seed=7, text_seed=8, recipe_name=recipe_name, kind=kind, words={"en": TEXTS})


@pytest.fixture(scope="module")
def scan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_scan(tmp_path_factory.mktemp("models") / "scan")


@pytest.fixture
def opened(model: Path, tmp_path: Path, collection: str) -> lingvis.Collection:
    make_pictures(tmp_path / "photos", 7)
    index_folders(collection, [tmp_path / "photos"], model=model)
    return lingvis.Collection.open(collection)


@lru_cache
def loaded(run: Path) -> Embedder:
    return Embedder.load(run, device="cpu")


def score(run: Path, path: Path | str, text: str = QUESTION) -> float:
    """One picture, one sentence, straight from the model."""
    embedder = loaded(run)
    return float(
        embedder.scores(embedder.encode_images([path]), embedder.encode_texts([text], lang="en"))[0, 0]
    )


def paths(hits: list[Hit]) -> list[str]:
    return [hit.path for hit in hits]


def joint(
    hits: list[Hit], run: Path, *texts: str, shown: Mapping[str, Path] = MappingProxyType({})
) -> dict[str, float]:
    """Paths with what both models make of them: z-scores over the hits, one picture after the other.

    shown: what is looked at in place of a path.
    """
    files = [shown.get(hit.path, hit.path) for hit in hits]
    first = [hit.score for hit in hits]
    second = [statistics.mean(score(run, file, text) for text in texts or (QUESTION,)) for file in files]
    return {
        hit.path: sum((each[n] - statistics.mean(each)) / statistics.pstdev(each) for each in (first, second))
        / 2
        for n, hit in enumerate(hits)
    }


@pytest.mark.parametrize("recipe", ["scan_t2i", "scan_i2t"])
def test_the_order_and_the_scores_are_those_of_both_models(
    opened: lingvis.Collection, recipe: str, tmp_path: Path
) -> None:
    run = make_scan(tmp_path / "run", recipe_name=recipe)
    plain = opened.search(QUESTION, lang="en")
    hits = opened.search(QUESTION, lang="en", rerank=SecondModel.load(run))
    expected = joint(plain, run)
    assert {hit.path: hit.score for hit in hits} == pytest.approx(
        expected, abs=0.05
    )  # kept in half precision
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert paths(hits) != paths(plain)
    assert [hit.rank for hit in hits] == list(range(1, 8))
    several = opened.search([QUESTION, "the dog"], lang="en", rerank=SecondModel.load(run))
    found = opened.search([QUESTION, "the dog"], lang="en")
    assert {hit.path: hit.score for hit in several} == pytest.approx(
        joint(found, run, QUESTION, "the dog"), abs=0.05
    )


def test_scores_that_are_all_equal_leave_the_order_to_the_other_model() -> None:
    equal, other = np.full(3, 0.3, np.float32), np.array([1, 3, 2], np.float32)
    expected = (other - 2) / np.sqrt(2 / 3) / 2
    np.testing.assert_allclose(joint_scores(equal, other), expected, rtol=1e-6)
    np.testing.assert_allclose(joint_scores(other, equal), expected, rtol=1e-6)
    np.testing.assert_array_equal(joint_scores(equal[:1], other[:1]), [0.0])


def test_only_the_first_are_reordered_and_pages_do_not_overlap(
    opened: lingvis.Collection, scan: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SecondModel, "block", 4)
    reranker = SecondModel.load(scan)
    plain = opened.search(QUESTION, lang="en")
    whole = opened.search(QUESTION, lang="en", rerank=reranker)
    assert reranker.effort.pictures == 4
    expected = joint(plain[:4], scan)
    first = sorted(expected, key=lambda path: -expected[path])
    assert paths(whole) == [*first, *paths(plain)[4:]]
    assert first != paths(plain)[:4]
    assert [hit.score for hit in whole[4:]] == [hit.score for hit in plain[4:]]
    pages = [
        hit
        for offset in (0, 3, 6)
        for hit in opened.search(QUESTION, lang="en", k=3, offset=offset, rerank=reranker)
    ]
    assert pages == whole


def test_each_content_is_computed_once(
    opened: lingvis.Collection, scan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask(reranker: SecondModel) -> tuple[int, dict[str, float]]:
        hits = opened.search(QUESTION, lang="en", rerank=reranker)
        return reranker.effort.computed, {Path(hit.path).name: hit.score for hit in hits}

    cache, photos = tmp_path / "kept", tmp_path / "photos"
    first = SecondModel.load(scan, cache=cache)
    computed, scores = ask(first)
    assert computed == first.effort.pictures == 7
    assert ask(first) == (0, scores)
    with monkeypatch.context() as patch:  # a later process needs no backbone
        patch.setattr("lingvis.collection.rerank.pictures.ImageEmbedder", None)
        assert ask(SecondModel.load(scan, cache=cache)) == (0, scores)

    os.utime(photos / "001.png", (5, 5))  # touched, the same content
    assert ask(first) == (0, scores)
    make_pictures(tmp_path / "other", 1, first=50)[0].rename(photos / "000.png")  # another content
    computed, changed = ask(first)
    assert computed == 1
    expected = joint(opened.search(QUESTION, lang="en"), scan)
    assert changed == pytest.approx({Path(path).name: value for path, value in expected.items()}, abs=0.05)
    assert abs(changed["000.png"] - scores["000.png"]) > 0.1

    files = sorted(cache.rglob("*.npy"))
    assert len(files) == 8
    files[0].write_bytes(files[0].read_bytes()[:100])  # damaged: computed again, and mended
    files[1].write_bytes(b"")
    assert ask(SecondModel.load(scan, cache=cache)) in ((1, changed), (2, changed))
    assert ask(SecondModel.load(scan, cache=cache)) == (0, changed)
    other = SecondModel.load(make_scan(tmp_path / "other_run", recipe_name="scan_i2t"), cache=cache)
    assert ask(other)[0] == 0  # the same image side
    weights = Embedder.load(scan, device="cpu")
    weights.model.image.encoder.linear.bias.data += 1  # type: ignore[union-attr, operator]
    assert ask(SecondModel(weights, cache=cache))[0] == 7


def test_a_cache_that_cannot_be_written_does_no_harm(
    opened: lingvis.Collection, scan: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("no folder")
    reranker = SecondModel.load(scan, cache=tmp_path / "file")
    hits = opened.search(QUESTION, lang="en", rerank=reranker)
    assert len(hits) == reranker.effort.computed == 7
    assert opened.search(QUESTION, lang="en", rerank=reranker) == hits
    assert reranker.effort.computed == 0  # in memory


def test_files_that_are_gone_are_judged_by_their_thumbnails(
    opened: lingvis.Collection, scan: Path, tmp_path: Path
) -> None:
    reranker = SecondModel.load(scan)
    plain = opened.search(QUESTION, lang="en")
    opened.search(QUESTION, lang="en", rerank=reranker)
    gone, damaged = tmp_path / "photos" / "002.png", tmp_path / "photos" / "003.png"
    gone.unlink()
    damaged.write_bytes(b"no picture")
    hits = opened.search(QUESTION, lang="en", rerank=reranker)
    assert reranker.effort.computed == 2
    shown = {}
    for hit in hits:
        if hit.path in (str(gone), str(damaged)):
            shown[hit.path] = tmp_path / f"{hit.id}.jpg"
            shown[hit.path].write_bytes(opened.thumbnail(hit.id) or b"")
    assert len(shown) == 2
    expected = joint(plain, scan, shown=shown)
    assert {hit.path: hit.score for hit in hits} == pytest.approx(expected, abs=0.05)
    opened.search(QUESTION, lang="en", rerank=reranker)
    assert reranker.effort.computed == 0
    vectors = QueryVectors([])
    context = RerankContext(Query([QUESTION]), ["en"], vectors, lambda id: None, lambda ids: {})
    left = reranker.order(hits, context)
    assert {hit.path for hit in left} == set(expected) - {str(gone), str(damaged)}
    assert reranker.order([], context) == []


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (
            {"text": "das Haus", "lang": "de"},
            "the query is in de, but the re-ranking model scan was trained on en",
        ),
        (
            {"text": "a dog", "lang": "en", "image": "x.png"},
            "`rerank` compares pictures with words; give words",
        ),
        ({"text": " "}, "give words, and no `image`"),
        ({"text": "a dog", "lang": "en", "captions": True}, "`captions` searches captions; leave one"),
        ({"text": "a dog", "lang": "en", "k": 0}, "k must be at least 1, got 0"),
    ],
)
def test_what_cannot_be_reranked_is_refused(
    opened: lingvis.Collection, scan: Path, asked: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(UserError) as caught:
        opened.search(**asked, rerank=SecondModel.load(scan))
    assert sentence in str(caught.value)


def test_two_orders_at_once_are_refused(opened: lingvis.Collection, scan: Path) -> None:
    with pytest.raises(UserError, match="`rerank` and `consistency` learned both"):
        opened.search(
            QUESTION,
            lang="en",
            translator=lambda text, source, target: text,
            consistency="learned",
            rerank=SecondModel.load(scan),
        )


def test_models_of_regions_are_refused(tmp_path: Path) -> None:
    run = make_scan(tmp_path / "run", kind="region")
    with pytest.raises(UserError, match="model run compares regions, and the pictures of a collection have"):
        SecondModel.load(run)


def test_no_collection_is_filled_by_a_model_without_an_index(
    scan: Path, photos: Path, collection: str
) -> None:
    with pytest.raises(UserError, match=r"no index supports.*lingvis search \.\.\. --rerank RUN"):
        index_folders(collection, [photos], model=scan)
    assert not Path(collection).exists()


def test_a_model_of_one_vector_reranks_too(opened: lingvis.Collection, model: Path) -> None:
    plain = opened.search(QUESTION, lang="en")
    again = opened.search(QUESTION, lang="en", rerank=SecondModel.load(model))
    assert paths(again) == paths(plain)
    np.testing.assert_allclose([hit.score for hit in again], list(joint(plain, model).values()), atol=0.05)


def test_the_command_line_tells_what_it_took(
    opened: lingvis.Collection, scan: Path, collection: str, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = opened.search(QUESTION, lang="en", k=3, rerank=SecondModel.load(scan))
    search(collection, QUESTION, lang="en", k=3, rerank=scan, json=True)
    printed = json.loads(capsys.readouterr().out)
    assert [hit["path"] for hit in printed["hits"]] == paths(expected)
    took = printed["rerank"]
    assert (took["model"], took["pictures"], took["computed"]) == (str(scan), 7, 7)
    assert took["picture_seconds"] > 0 and took["score_seconds"] > 0
    search(collection, QUESTION, lang="en", k=3, rerank=scan)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[-1] for line in lines] == paths(expected)
    search(collection, QUESTION, lang="en", k=3, rerank=scan, json=True)
    assert json.loads(capsys.readouterr().out)["rerank"]["computed"] == 0  # kept in the collection's folder
    with Image.open(expected[0].path) as image:
        assert image.size == (48, 32)
    assert len(list((Path(collection) / "rerank").rglob("*.npy"))) == 7
    assert len(lingvis.Collection.open(collection)) == 7  # and no harm to it


@pytest.mark.parametrize("damage", ["pipe", "shape", "type", "nan", "header"])
def test_a_damaged_file_of_the_cache_is_ignored(tmp_path: Path, damage: str) -> None:
    whole = np.arange(4, dtype=np.float16)
    PictureCache(tmp_path, 4).put("ab12", whole)
    np.testing.assert_array_equal(PictureCache(tmp_path, 4).get("ab12"), whole)
    (file,) = tmp_path.glob("ab/*")
    file.unlink()
    if damage == "pipe":
        os.mkfifo(file)
    elif damage == "header":
        file.write_bytes(b"\x93NUMPY\x01\x00\x10\x00" + b"(" * 16)
    else:
        changed: dict[str, NDArray[Any]] = {
            "shape": whole[:3],
            "type": whole.astype(np.float64),
            "nan": whole * np.float16("nan"),
        }
        np.save(file, changed[damage])
    cache = PictureCache(tmp_path, 4)
    assert cache.get("ab12") is None
    cache.put("ab12", whole)  # also where no file can be written
    np.testing.assert_array_equal(cache.get("ab12"), whole)

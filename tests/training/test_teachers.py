"""Trained models teach another one with the sentences that they find for pictures without captions."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from lingvis.data.dataset import Dataset
from lingvis.errors import UserError
from lingvis.evaluation.run import evaluate
from lingvis.features.store import FeatureStore
from lingvis.model.embedder import Embedder
from lingvis.model.stored import StoredImages
from lingvis.terms import Origin
from lingvis.training.prepare import prepare
from lingvis.training.run import train
from lingvis.training.sources.collect import collect_sentences
from lingvis.training.sources.teachers import SENTENCES_PER_PICTURE, _best
from lingvis.training.start.words import vocabulary_sentences
from lingvis.training.validate import load_recipe
from lingvis.types import Clock

from .origins import NO_PSEUDO, described, of
from .test_one_language import SMALL

ALONE = [*SMALL, *NO_PSEUDO, "training.epochs=1", "training.sampling.passes=2"]


@pytest.fixture(scope="module")
def teachers(one_language: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    found = [tmp_path_factory.mktemp("teachers") / str(seed) for seed in (0, 1)]
    for seed, run in enumerate(found):
        train("lingvis_sparse", one_language, run, overrides=[*ALONE, f"training.seed={seed}"], device="cpu")
    return found


def taught(teachers: list[Path], *more: str) -> list[str]:
    runs = ", ".join(f"'{run}'" for run in teachers)
    return [
        *SMALL,
        "training.epochs=1",
        "training.sampling.passes=2",
        "pseudo.name=teachers",
        f"pseudo.runs=[{runs}]",
        "terms.matching.weight=0.5",
        "terms.pseudo.name=distillation",
        "terms.pseudo.weight=0.5",
        "terms.pseudo.temperature=0.05",
        *more,
    ]


def test_the_best_sentences_are_found_and_the_scores_are_the_mean(
    one_language: Path,
    teachers: list[Path],
) -> None:
    opened = Dataset.open(one_language)
    sentences = collect_sentences(load_recipe("lingvis_sparse", taught(teachers)), opened, ["en", "de"])
    (scores_of,) = sentences.pair_values
    sources = [StoredImages.open(Embedder.load(run, device="cpu"), opened) for run in teachers]
    image_emb = [source.encode(sentences.images) for source in sources]
    alone = opened.text_only()
    for place in range(len(described(sentences)), len(sentences.images)):
        scores = {}
        for row in alone:
            said = [(lang, text) for lang, texts in row.captions.items() for text in texts]
            vectors = np.concatenate(
                [
                    source.model.encode_texts([text for _, text in said], [lang for lang, _ in said])
                    for source in sources
                ],
                1,
            ).sum(axis=0)
            scores[row.id] = float(np.concatenate([each[place] for each in image_emb]) @ vectors) / float(
                np.linalg.norm(vectors)
            )
        best = sorted(scores, key=lambda each: -scores[each])[:SENTENCES_PER_PICTURE]
        expected = {(lang, text) for row in alone if row.id in best for lang, (text,) in row.captions.items()}
        found = sentences.rows(Origin.PSEUDO)
        mine = found[sentences.groups[found] == place]
        assert {(sentences.langs[n], sentences.texts[n]) for n in mine} == expected
        some = int(mine[0])
        wanted = np.mean(
            [
                each[place] @ source.model.encode_texts([sentences.texts[some]], [sentences.langs[some]])[0]
                for each, source in zip(image_emb, sources, strict=True)
            ]
        )
        got = scores_of.values(np.array([place]), np.array([0, some]))
        assert got.tolist() == [
            [0.0, pytest.approx(wanted, abs=2e-3)]
        ]  # half precision; a human caption has none


def test_the_highest_scores_come_first() -> None:
    scores = np.random.default_rng(0).permuted(np.tile(np.arange(4000, dtype=np.float32), (7, 1)), axis=1)
    expected = [
        sorted(range(4000), key=lambda column: -row[column])[:SENTENCES_PER_PICTURE] for row in scores
    ]
    assert _best(scores).tolist() == expected
    few = scores[:, :3]
    assert _best(few).tolist() == [sorted(range(3), key=lambda column: -row[column]) for row in few]


def test_a_step_has_one_found_sentence_a_picture_and_asks_for_the_teachers_scores(
    one_language: Path,
    teachers: list[Path],
    tmp_path: Path,
) -> None:
    opened, store = Dataset.open(one_language), FeatureStore.open(one_language / "features" / "toy-grid")
    totals = []
    for weight in (0.5, 0.25):
        weights = [f"terms.matching.weight={1 - weight}", f"terms.pseudo.weight={weight}"]
        values = taught(teachers, "training.precision=float32", *weights)
        recipe = load_recipe("lingvis_sparse", values)
        run = prepare(recipe, opened, store, tmp_path, torch.device("cpu"))
        task, sampler = run.task, run.sampler
        rows = sampler.epoch(0, 0)[0]
        with torch.no_grad():
            loss = task.eval().loss(rows, Clock())
        totals.append(float(loss.total))
    sentences = collect_sentences(recipe, opened, ["en", "de"])
    found = rows[sentences.origin[rows] == Origin.PSEUDO]
    assert sorted(sentences.groups[found]) == list(range(len(described(sentences)), len(sentences.images)))
    drawn = {
        tuple(each[sentences.origin[each] == Origin.PSEUDO]) for n in range(4) for each in sampler.epoch(0, n)
    }
    assert len(drawn) > 1  # another one of the found sentences each time
    images = np.unique(sentences.groups[found])
    (scores_of,) = sentences.pair_values
    wanted = scores_of.values(images, found)
    with torch.no_grad():
        batch = task._batches.cut(rows)
        step = task._encode(batch, Clock())
        image_emb = step.image_emb[[batch.tensors.images.tolist().index(image) for image in images]]
        text_emb = step.of(Origin.PSEUDO).text_emb
        own, others = image_emb @ text_emb.T / 0.05, wanted / 0.05
        missed = [-(others.softmax(dim) * own.log_softmax(dim)).sum(dim).mean() for dim in (0, 1)]
        distilled = float(torch.stack(missed).mean())
    assert totals[0] - totals[1] == pytest.approx(0.25 * (distilled - float(loss.matching)), rel=1e-2)


def test_a_taught_model_learns_and_is_loaded_again(
    one_language: Path, teachers: list[Path], tmp_path: Path
) -> None:
    config = train(
        "lingvis_sparse",
        one_language,
        tmp_path / "run",
        overrides=taught(teachers, "training.epochs=8"),
        device="cpu",
    ).config
    found = evaluate(tmp_path / "run", one_language, split="val", device="cpu").languages
    mean = sum(each.mR for each in found.values()) / len(found)
    assert mean == pytest.approx(config.training.validation_mR)
    assert mean > sum(each.chance for each in found.values()) / len(found)


def test_a_found_sentence_counts_once_for_the_vocabulary(one_language: Path, teachers: list[Path]) -> None:
    opened, recipe = Dataset.open(one_language), load_recipe("lingvis_sparse", taught(teachers))
    sentences = collect_sentences(recipe, opened, ["en", "de"])
    texts, langs = vocabulary_sentences(recipe, opened, sentences)
    behind = of(sentences, Origin.PSEUDO)
    assert len(behind) > len(set(behind))  # the same for several pictures
    said = [pair for pair in zip(texts, langs, strict=True) if pair in behind and pair[1] == "en"]
    people = of(sentences, Origin.HUMAN)
    assert len(said) == len({pair for pair in behind if pair[1] == "en"}) + sum(p in behind for p in people)


def test_things_said_in_no_language_of_the_run_are_not_found(
    one_language: Path, teachers: list[Path], tmp_path: Path
) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    for part in ("images", "features", "captions.jsonl"):
        (folder / part).symlink_to(one_language / part)
    lines = (one_language / "text-only.jsonl").read_text(encoding="utf-8")
    foreign = "".join(
        json.dumps({"id": f"f{n}", "captions": {"fr": ["un chien"]}}) + "\n"
        for n in range(2 * SENTENCES_PER_PICTURE)
    )
    (folder / "text-only.jsonl").write_text(foreign + lines, encoding="utf-8")
    found = [
        collect_sentences(load_recipe("lingvis_sparse", taught(teachers)), Dataset.open(each), ["en", "de"])
        for each in (one_language, folder)
    ]
    assert of(found[0], Origin.PSEUDO) == of(found[1], Origin.PSEUDO)
    (folder / "text-only.jsonl").write_text(foreign, encoding="utf-8")
    with pytest.raises(UserError, match=r"has none in en, de; add some to text-only\.jsonl"):
        collect_sentences(load_recipe("lingvis_sparse", taught(teachers)), Dataset.open(folder), ["en", "de"])


def test_a_teacher_needs_its_weights_and_one_vector_a_picture(
    one_language: Path, teachers: list[Path], tmp_path: Path
) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(teachers[0], broken)
    (broken / "model.safetensors").unlink()
    with pytest.raises(UserError, match=r"has no model\.safetensors"):
        train("lingvis_sparse", one_language, tmp_path / "run", overrides=taught([broken]), device="cpu")
    small = [
        "data.features=toy-grid",
        "image.encoder.dim=8",
        "text.encoder.dim=8",
        "text.tokenizer.min_count=1",
    ]
    scan = tmp_path / "scan"
    train("scan_t2i", one_language, scan, overrides=[*small, "training.epochs=1"], device="cpu")
    with pytest.raises(UserError, match="teacher scan has no single vector"):
        train("lingvis_sparse", one_language, tmp_path / "run", overrides=taught([scan]), device="cpu")


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["terms.pseudo.weight=0.0"], "no term learns from their scores"),
        (["pseudo.runs=[]"], "names no teacher"),
        (["data.text_only=false", "training.sampling.text_only=0.0"], "data.text_only is false"),
        (["pseudo.name=detectors"], "unknown key pseudo.runs; allowed: detections"),
        (["pseudo.runs=['nowhere']"], "nowhere"),
        (["data.languages=['en', 'de', 'zh']"], "does not know zh"),
    ],
)
def test_wrong_values_get_a_sentence(
    more: list[str],
    sentence: str,
    one_language: Path,
    teachers: list[Path],
    tmp_path: Path,
) -> None:
    with pytest.raises(UserError, match=sentence):
        train(
            "lingvis_sparse", one_language, tmp_path / "run", overrides=taught(teachers, *more), device="cpu"
        )

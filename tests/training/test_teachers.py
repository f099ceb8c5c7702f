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
from lingvis.model.stored import StoredEmbedder
from lingvis.training.build import load_recipe
from lingvis.training.lessons import find_lessons
from lingvis.training.run import prepare, train
from lingvis.training.start import vocabulary_sentences
from lingvis.training.teachers import FOUND, _best
from lingvis.types import Clock

from .test_one_language import SMALL

ALONE = [*SMALL, "pseudo.weight=0.0", "training.epochs=1", "training.sampling.passes=2"]


@pytest.fixture(scope="module")
def teachers(one_language: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    found = [tmp_path_factory.mktemp("teachers") / str(seed) for seed in (0, 1)]
    for seed, run in enumerate(found):
        train("lingvis_sparse", one_language, run, overrides=[*ALONE, f"training.seed={seed}"], device="cpu")
    return found


def taught(teachers: list[Path], *more: str) -> list[str]:
    runs = ", ".join(f"'{run}'" for run in teachers)
    distilled = ["pseudo.objective.name=distilled", "pseudo.objective.temperature=0.05"]
    return [*ALONE, "pseudo.weight=0.5", f"pseudo.teachers=[{runs}]", *distilled, *more]


def test_the_best_sentences_are_found_and_the_scores_are_the_mean(
    one_language: Path,
    teachers: list[Path],
) -> None:
    opened = Dataset.open(one_language)
    lessons = find_lessons(load_recipe("lingvis_sparse", taught(teachers)), opened, ["en", "de"])
    assert lessons.taught is not None
    models = [StoredEmbedder.open(Embedder.load(run, device="cpu"), opened) for run in teachers]
    image_emb = [model.embed_images(lessons.images) for model in models]
    alone = opened.text_only()
    for place in range(len(lessons.captions.images), len(lessons.images)):
        scores = {}
        for row in alone:
            said = [(lang, text) for lang, texts in row.captions.items() for text in texts]
            vectors = np.concatenate(
                [
                    model.embed_texts([text for _, text in said], [lang for lang, _ in said])
                    for model in models
                ],
                1,
            ).sum(axis=0)
            scores[row.id] = float(np.concatenate([each[place] for each in image_emb]) @ vectors) / float(
                np.linalg.norm(vectors)
            )
        best = sorted(scores, key=lambda each: -scores[each])[:FOUND]
        expected = {(lang, text) for row in alone if row.id in best for lang, (text,) in row.captions.items()}
        mine = np.flatnonzero(lessons.groups[lessons.pseudo :] == place) + lessons.pseudo
        assert {(lessons.langs[n], lessons.texts[n]) for n in mine} == expected
        some = int(mine[0])
        wanted = np.mean(
            [
                each[place] @ model.embed_texts([lessons.texts[some]], [lessons.langs[some]])[0]
                for each, model in zip(image_emb, models, strict=True)
            ]
        )
        got = lessons.taught.images[place] @ lessons.taught.texts[lessons.taught.rows[some - lessons.pseudo]]
        assert got == pytest.approx(wanted, abs=1e-5)


def test_the_highest_scores_come_first() -> None:
    scores = np.random.default_rng(0).permuted(np.tile(np.arange(4000, dtype=np.float32), (7, 1)), axis=1)
    expected = [sorted(range(4000), key=lambda column: -row[column])[:FOUND] for row in scores]
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
        values = taught(teachers, "training.precision=float32", f"pseudo.weight={weight}")
        recipe = load_recipe("lingvis_sparse", values)
        _, task, sampler = prepare(recipe, opened, store, tmp_path, torch.device("cpu"))
        rows = sampler.epoch(0, 0)[0]
        with torch.no_grad():
            loss = task.eval().loss(rows, Clock())
        totals.append(float(loss.total))
    lessons = find_lessons(recipe, opened, ["en", "de"])
    found = rows[rows >= lessons.pseudo]
    assert sorted(lessons.groups[found]) == list(range(len(lessons.captions.images), len(lessons.images)))
    drawn = {tuple(each[each >= lessons.pseudo]) for n in range(4) for each in sampler.epoch(0, n)}
    assert len(drawn) > 1  # another one of the found sentences each time
    images = np.unique(lessons.groups[found])
    assert lessons.taught is not None
    wanted = (
        lessons.taught.images[images] @ lessons.taught.texts[lessons.taught.rows[found - lessons.pseudo]].T
    )
    with torch.no_grad():
        image_emb, text_emb, _ = task._encode(found, images)
        own, others = image_emb @ text_emb.T / 0.05, torch.from_numpy(wanted) / 0.05
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
    )
    found = evaluate([tmp_path / "run"], one_language, split="val", device="cpu").as_json()["languages"]
    mean = sum(each["mR"] for each in found.values()) / len(found)
    assert mean == pytest.approx(config["training"]["validation_mR"])
    assert mean > sum(each["chance"] for each in found.values()) / len(found)


def test_a_found_sentence_counts_once_for_the_vocabulary(one_language: Path, teachers: list[Path]) -> None:
    opened, recipe = Dataset.open(one_language), load_recipe("lingvis_sparse", taught(teachers))
    lessons = find_lessons(recipe, opened, ["en", "de"])
    texts, langs = vocabulary_sentences(recipe, opened, lessons)
    behind = list(zip(lessons.texts[lessons.pseudo :], lessons.langs[lessons.pseudo :], strict=True))
    assert len(behind) > len(set(behind))  # the same for several pictures
    said = [pair for pair in zip(texts, langs, strict=True) if pair in behind and pair[1] == "en"]
    people = list(zip(lessons.captions.texts, lessons.captions.langs, strict=True))
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
        json.dumps({"id": f"f{n}", "captions": {"fr": ["un chien"]}}) + "\n" for n in range(2 * FOUND)
    )
    (folder / "text-only.jsonl").write_text(foreign + lines, encoding="utf-8")
    found = [
        find_lessons(load_recipe("lingvis_sparse", taught(teachers)), Dataset.open(each), ["en", "de"])
        for each in (one_language, folder)
    ]
    assert found[0].texts[found[0].pseudo :] == found[1].texts[found[1].pseudo :]
    (folder / "text-only.jsonl").write_text(foreign, encoding="utf-8")
    with pytest.raises(UserError, match=r"has none in en, de; add some to text-only\.jsonl"):
        find_lessons(load_recipe("lingvis_sparse", taught(teachers)), Dataset.open(folder), ["en", "de"])


def test_a_teacher_needs_its_weights_and_one_vector_a_picture(
    one_language: Path, teachers: list[Path], tmp_path: Path
) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(teachers[0], broken)
    (broken / "model.safetensors").unlink()
    with pytest.raises(UserError, match="lacks its"):
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
        (["pseudo.objective.name=contrastive", "pseudo.objective.temperature=0.1"], "belong together"),
        (["pseudo.teachers=[]"], "belong together"),
        (["data.text_only=false", "training.sampling.text_only=0.0"], "find sentences without a picture"),
        (["pseudo.weight=0.0"], "pseudo.weight is 0; set it above 0"),
        (["pseudo.detections=global"], "leave one of them out"),
        (
            ["terms.sentences.objective.name=distilled", "terms.sentences.objective.temperature=0.1"],
            "only captions of",
        ),
        (["pseudo.teachers=['nowhere']"], "nowhere"),
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

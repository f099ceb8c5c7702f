"""Queries with their translations or translated: numbers, what is embedded, and sentences for mistakes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from lingvis.cli import main
from lingvis.data.dataset import Dataset
from lingvis.errors import UserError
from lingvis.evaluation.clc.learned import LearnedConsistency
from lingvis.evaluation.clc.mean import MeanConsistency
from lingvis.evaluation.clc.options import QueryOptions, choose_query_method
from lingvis.evaluation.clc.queries import ConsistentQueries, TranslatedQueries
from lingvis.evaluation.clc.translations import machine_translations, parallel_translations
from lingvis.evaluation.evaluate import evaluate_models, measure, score_pools
from lingvis.evaluation.protocols import EvaluationProtocol
from lingvis.evaluation.report.examples import examples
from lingvis.evaluation.report.page import write_page
from lingvis.evaluation.report.table import columns, heading, rows, summary
from lingvis.evaluation.scorers import EVERY

PARALLEL = EvaluationProtocol(name="mine", summary="", splits=("test", "val"), sources=("parallel",))
CAPTIONS = EvaluationProtocol(name="plain", summary="")
LANGS = ("en", "de", "fr")
WORDS = {"en": "one of", "de": "eins von", "fr": "une de"}


@pytest.fixture
def parallel(tmp_path: Path) -> Dataset:
    """30 images to test and 30 to validate; image 3 has no German sentence."""
    folder = tmp_path / "parallel"
    (folder / "images").mkdir(parents=True)
    lines = []
    for number in range(60):
        name = f"{number}.png"
        Image.new("RGB", (8, 8)).save(folder / "images" / name)
        same = {lang: f"{words} {number}" for lang, words in WORDS.items() if (lang, number) != ("de", 3)}
        captions = {"en": [f"a {number}", f"b {number}"], "de": [f"c {number}"]}
        split = "test" if number < 30 else "val"
        lines.append(
            json.dumps({"image": name, "split": split, "captions": captions, "parallel": same}) + "\n"
        )
    (folder / "captions.jsonl").write_text("".join(lines), encoding="utf-8")
    return Dataset.open(folder)


def mean_of(dataset: Dataset, languages: Sequence[str] = LANGS) -> ConsistentQueries:
    return ConsistentQueries(
        MeanConsistency(languages),
        parallel_translations(dataset),
        {"consistency": "mean", "translations": "parallel"},
    )


def test_every_language_is_scored_by_the_mean_over_its_translations(parallel: Dataset, hashed: Any) -> None:
    model = hashed(languages=LANGS, noise=2.5)
    report = evaluate_models([model], parallel, protocol=PARALLEL, queries=mean_of(parallel)).as_json()
    plain = evaluate_models([hashed(languages=LANGS, noise=2.5)], parallel, protocol=PARALLEL).as_json()
    assert len(model.asked_texts) == len(set(model.asked_texts)) == 30 + 29 + 30
    assert len(model.asked_images) == 30

    judge = hashed(languages=LANGS, noise=2.5)
    for lang, found in report["languages"].items():
        numbers = [number for number in range(30) if (lang, number) != ("de", 3)]
        images = judge.encode([f"{number}.png" for number in numbers])
        hits = 0
        for place, number in enumerate(numbers):
            there = [each for each in LANGS if (each, number) != ("de", 3)]
            sentences = judge.encode_texts([f"{WORDS[each]} {number}" for each in there], there)
            hits += int(np.argmax((images @ sentences.T).mean(axis=1)) == place)
        assert found["t2i"]["R@1"] == pytest.approx(100 * hits / len(numbers))
        assert found["read_in"] == list(LANGS)
        assert found["single"] == {key: plain["languages"][lang][key] for key in ("i2t", "t2i", "mR", "rsum")}
        assert found["mR"] > found["single"]["mR"]
    assert report["single"] == {"A": pytest.approx(plain["A"]), "HA": None}
    assert report["reading"] == {
        "consistency": "mean", "translations": "parallel", "languages": list(LANGS),
    }  # fmt: skip


def test_a_language_that_the_model_does_not_know_is_read_through_its_translations(
    parallel: Dataset, hashed: Any
) -> None:
    model = hashed(languages=["en", "fr"])
    reading = mean_of(parallel, ["en", "fr"])
    found = evaluate_models(
        [model], parallel, protocol=PARALLEL, languages=["de"], queries=reading
    ).as_json()["languages"]["de"]
    assert {lang for lang, _ in model.asked_texts} == {"en", "fr"}
    assert (found["single"], found["zero_shot"], found["read_in"]) == (None, False, ["en", "fr"])


def test_translated_queries_are_scored_in_the_other_language(parallel: Dataset, hashed: Any) -> None:
    model = hashed(languages=["en"], noise=2.5)
    reading = TranslatedQueries("en", parallel_translations(parallel), {"translations": "parallel"})
    measured = evaluate_models([model], parallel, protocol=PARALLEL, queries=reading)
    english = evaluate_models(
        [hashed(languages=["en"], noise=2.5)], parallel, protocol=PARALLEL, languages=["en"]
    ).as_json()
    found = measured.as_json()["languages"]
    assert list(found) == ["en", "de", "fr"]
    assert found["fr"]["t2i"] == english["languages"]["en"]["t2i"]
    assert {lang for lang, _ in model.asked_texts} == {"en"}
    assert [each["read_in"] for each in found.values()] == [["en"]] * 3
    assert found["fr"]["single"] is None
    assert found["en"]["single"]["mR"] == found["en"]["mR"]
    assert "queries translated to en by parallel" in heading(measured)


def test_a_missing_translation_cannot_be_scored(parallel: Dataset, hashed: Any) -> None:
    reading = TranslatedQueries("de", parallel_translations(parallel), {"translations": "parallel"})
    with pytest.raises(UserError, match="1 of 30 sentences in en have no translation in de"):
        evaluate_models([hashed()], parallel, protocol=PARALLEL, queries=reading).as_json()


def test_a_translator_serves_captions_and_may_lack_a_pair(parallel: Dataset, hashed: Any) -> None:
    asked: list[tuple[str, str, int]] = []

    def translator(texts: Sequence[str], source: str, target: str) -> list[str]:
        if "fr" in (source, target):
            raise UserError(f"no pair {source}-{target}")
        asked.append((source, target, len(texts)))
        return ["" if text == "a 7" else f"{source}>{target} {text}" for text in texts]

    model = hashed(languages=LANGS)
    reading = ConsistentQueries(MeanConsistency(LANGS), machine_translations(translator), {})
    found = score_pools([model], parallel, protocol=CAPTIONS, languages=["en", "de"], queries=reading)
    assert asked == [("en", "de", 60), ("de", "en", 30)]
    report = measure(found).as_json()["languages"]
    assert report["en"]["read_in"] == ["en", "de"]
    pool = found.pools[0]
    images = model.encode(pool.images)
    for text in (pool.texts.index("a 7"), pool.texts.index("b 7")):
        both = [(pool.texts[text], "en"), (f"en>de {pool.texts[text]}", "de")]
        there = both[:1] if pool.texts[text] == "a 7" else both
        expected = images @ model.encode_texts(*(list(each) for each in zip(*there, strict=True))).T
        np.testing.assert_allclose(
            found.scorers[0].block(EVERY, np.asarray([text]))[:, 0], expected.mean(axis=1), atol=1e-6
        )


def test_a_translator_without_any_pair_is_reported(parallel: Dataset, hashed: Any) -> None:
    def nothing(texts: Sequence[str], source: str, target: str) -> list[str]:
        raise UserError("apertium is not installed")

    reading = ConsistentQueries(MeanConsistency(LANGS), machine_translations(nothing), {})
    with pytest.raises(UserError, match="apertium is not installed"):
        evaluate_models([hashed()], parallel, protocol=CAPTIONS, languages=["en"], queries=reading).as_json()
    silent = ConsistentQueries(
        MeanConsistency(["de", "fr"]), machine_translations(lambda texts, *_: [""] * len(texts)), {}
    )
    with pytest.raises(UserError, match="no sentence in en has a translation in any of: de, fr"):
        evaluate_models([hashed()], parallel, protocol=CAPTIONS, languages=["en"], queries=silent).as_json()
    some = machine_translations(lambda texts, *_: [*texts[:-1], " "])
    with pytest.raises(UserError, match="1 of 60 sentences in en have no translation in any of: de, fr"):
        evaluate_models(
            [hashed()],
            parallel,
            protocol=CAPTIONS,
            languages=["en"],
            queries=ConsistentQueries(MeanConsistency(["de", "fr"]), some, {}),
        ).as_json()
    short = machine_translations(lambda texts, *_: [*texts[1:]])
    with pytest.raises(ValueError, match="returned 59 sentences for 60"):
        evaluate_models(
            [hashed()],
            parallel,
            protocol=CAPTIONS,
            languages=["en"],
            queries=ConsistentQueries(MeanConsistency(LANGS), short, {}),
        ).as_json()


def choose(
    options: QueryOptions, dataset: Dataset, model: Any, protocol: EvaluationProtocol = PARALLEL
) -> Any:
    return choose_query_method(
        options, [model], dataset, protocol=protocol, split="test", languages=["en", "fr"]
    )


def test_learned_consistency_sees_validation_alone_and_is_kept(
    parallel: Dataset, hashed: Any, tmp_path: Path
) -> None:
    model = hashed(languages=LANGS, noise=2.5)
    reading = choose(QueryOptions(consistency="learned", save_in=tmp_path), parallel, model)
    assert set(model.asked_images) == {f"{number}.png" for number in range(30, 60)}
    kept = LearnedConsistency.load(tmp_path)
    assert kept.languages == reading.consistency.languages == LANGS
    np.testing.assert_array_equal(kept.hidden, reading.consistency.hidden)
    fitted = reading.description["fit"]
    assert (fitted["split"], fitted["steps"]) == ("val", 30)
    assert fitted["loss_after"] < fitted["loss_before"]
    report = evaluate_models([model], parallel, protocol=PARALLEL, queries=reading).as_json()
    assert json.loads(json.dumps(report)) == report
    assert report["reading"]["fit"] == fitted


def test_a_protocol_of_a_fixed_size_learns_on_any_validation_set(parallel: Dataset, hashed: Any) -> None:
    fixed = EvaluationProtocol(
        name="fixed", summary="", sources=("parallel",), images=30, captions=1, folds=3
    )
    reading = choose(
        QueryOptions(consistency="learned"), parallel.without(["59.png"]), hashed(languages=LANGS), fixed
    )
    report = evaluate_models(
        [hashed(languages=LANGS)], parallel, protocol=fixed, languages=["en"], queries=reading
    ).as_json()
    assert report["languages"]["en"]["images"] == 30


def test_queries_as_they_are_need_no_reading(parallel: Dataset, hashed: Any) -> None:
    assert choose(QueryOptions(), parallel, hashed()) is None


def test_mistakes_end_in_a_sentence(parallel: Dataset, hashed: Any) -> None:
    model = hashed(languages=LANGS)
    captions = choose(QueryOptions(consistency="mean"), parallel, model, CAPTIONS)
    with pytest.raises(
        UserError, match=r"60 of 60 sentences in en .* `protocol` parallel, or name a `translator`"
    ):
        evaluate_models([model], parallel, protocol=CAPTIONS, languages=["en"], queries=captions).as_json()
    with pytest.raises(UserError, match=r"needs two languages .* found: en; trained on: en"):
        choose(QueryOptions(consistency="mean"), parallel, hashed(languages=["en"]))
    with pytest.raises(UserError, match=r"not trained on 'es'; it was trained on: de, en, fr"):
        choose(QueryOptions(translate_to="es"), parallel, model)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--consistency", "mean", "--translate-to", "en"], "choose one of the two"),
        (["--translator", "apertium"], "--translator has no effect without --consistency or --translate-to"),
        (
            ["--consistency", "mean", "--save-consistency"],
            "--save-consistency stores the learned consistency of one model",
        ),
        (
            ["--consistency", "learned", "--save-consistency", "--with", "other"],
            "got learned and 2 models",
        ),
        (["--consistency", "learned", "--split", "val"], "measure another split"),
        (["--consistency", "median"], "mean"),
        (
            ["--translate-to", "en", "--translator", "babel"],
            "unknown translator 'babel'; choose one of: apertium",
        ),
    ],
)
def test_the_command_rejects_contradictions_before_it_reads_anything(
    options: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["evaluate", "nowhere", "nothing", *options])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert "Traceback" not in said


def test_the_table_and_the_page_say_how_queries_were_read(
    parallel: Dataset, hashed: Any, tmp_path: Path
) -> None:
    found = score_pools(
        [hashed(languages=LANGS, noise=2.5)], parallel, protocol=PARALLEL, queries=mean_of(parallel)
    )
    report = measure(found)
    assert columns(report)[-1] == "single mR"
    assert [row[-1] for row in rows(report)] == [
        f"{each.single.mR:.1f}" for each in report.languages.values() if each.single is not None
    ]
    assert heading(report).endswith("mean consistency over en, de, fr with translations by parallel")
    assert report.single is not None and f"single A {report.single['A']:.1f}" in summary(report)
    drawn = examples(found)
    for question in drawn.same:
        assert question.together is not None
        assert question.together.query == question.queries[0].query
        number = int(question.image[:-4])
        scores = found.scorers[0].block(EVERY, np.asarray([number]))[:, 0]
        # Pictures of the same score come first; the same product in another block may differ in the last digit.
        assert question.together.rank == int((scores > scores[number] - 1e-6).sum())
    path = tmp_path / "page.html"
    write_page(path, report, drawn)
    text = path.read_text(encoding="utf-8")
    assert "A without translations" in text
    assert text.count('class="query-in"><b>all</b>') == 3
    assert "row named all" in text
    assert "mean consistency over en, de, fr" in text

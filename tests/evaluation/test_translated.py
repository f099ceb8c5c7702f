"""Protocols with machine translations: which sentences are measured, and that they never pass for human ones."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from lingvis.data.dataset import Dataset
from lingvis.errors import UserError
from lingvis.evaluation.compare import compare_models
from lingvis.evaluation.evaluate import evaluate_models, measure, score_pools
from lingvis.evaluation.pools import languages_in, pools
from lingvis.evaluation.protocols import PROTOCOLS, EvaluationProtocol, find_protocol
from lingvis.evaluation.report.examples import examples
from lingvis.evaluation.report.page import write_page
from lingvis.evaluation.report.table import TRANSLATED, rows, summary

IMAGES = 6


def make(folder: Path, row: Any) -> Dataset:
    (folder / "images").mkdir(parents=True)
    lines = []
    for number in range(IMAGES):
        Image.new("RGB", (8, 8)).save(folder / "images" / f"{number}.png")
        lines.append(json.dumps({"image": f"{number}.png", "split": "test", **row(number)}) + "\n")
    (folder / "captions.jsonl").write_text("".join(lines), encoding="utf-8")
    return Dataset.open(folder)


def from_english(count: int, lang: str, number: int) -> dict[str, Any]:
    made = [f"{lang} machine {which} of {number}" for which in range(count)]
    return {"en": {"translator": "x", "captions": made}}


def human(lang: str, count: int, number: int) -> list[str]:
    return [f"{lang} human {which} of {number}" for which in range(count)]


@pytest.fixture
def multi30k(tmp_path: Path) -> Dataset:
    """Multi30K as SMALR has it: en and de with five captions, fr with one, cs missing; zh and de translated."""
    return make(
        tmp_path / "multi30k",
        lambda number: {
            "captions": {
                "en": human("en", 7, number),
                "de": human("de", 5, number),
                "fr": human("fr", 1, number),
            },
            "translated": {lang: from_english(5, lang, number) for lang in ("zh", "de", "cs", "pt")},
        },
    )


def smaller(name: str) -> EvaluationProtocol:
    return dataclasses.replace(PROTOCOLS[name], images=IMAGES)


def test_smalr_on_multi30k(multi30k: Dataset) -> None:
    protocol = smaller("smalr-multi30k")
    found = {pool.lang: pool for pool in pools(multi30k, protocol, "test", ["en", "de", "fr", "zh"])}
    assert {lang: (pool.source, len(pool.texts)) for lang, pool in found.items()} == {
        "en": ("captions", 5 * IMAGES),
        "de": ("captions", 5 * IMAGES),
        "fr": ("captions", IMAGES),
        "zh": ("translated", 5 * IMAGES),
    }
    assert found["en"].texts[:5] == human("en", 5, 0)
    assert found["zh"].texts[5] == "zh machine 0 of 1"
    assert found["zh"].image_of.tolist() == [number for number in range(IMAGES) for _ in range(5)]
    # Czech is a human language of the protocol: its machine translations do not take the place of captions.
    assert languages_in(multi30k, protocol, "test") == ["en", "de", "fr", "zh"]
    with pytest.raises(
        UserError, match="no captions in cs in split test, which protocol smalr-multi30k needs"
    ):
        pools(multi30k, protocol, "test", ["cs"])
    with pytest.raises(UserError, match="protocol smalr-multi30k has no language pt"):
        pools(multi30k, protocol, "test", ["pt"])
    with pytest.raises(UserError, match="needs 1000 images with captions, found 6"):
        pools(multi30k, PROTOCOLS["smalr-multi30k"], "test", ["en"])


def test_smalr_on_coco(tmp_path: Path) -> None:
    dataset = make(
        tmp_path / "coco",
        lambda number: {
            "captions": {
                "en": human("en", 6, number),
                "zh": human("zh", 1 + number % 2, number),
                "ja": human("ja", 5, number),
            },
            "translated": {"de": from_english(5, "de", number)},
        },
    )
    protocol = smaller("smalr-coco")
    found = pools(dataset, protocol, "test", ["en", "zh", "ja", "de"])
    assert [(pool.lang, pool.source, len(pool.texts)) for pool in found] == [
        ("en", "captions", 30),
        ("zh", "captions", 9),
        ("ja", "captions", 30),
        ("de", "translated", 30),
    ]
    assert PROTOCOLS["smalr-coco"].human == ("en", "zh", "ja")
    assert set(PROTOCOLS["smalr-coco"].languages) == set(PROTOCOLS["smalr-multi30k"].languages)


def test_xtd10_takes_japanese_captions_and_translations_otherwise(tmp_path: Path) -> None:
    written = PROTOCOLS["xtd10"].languages
    assert len(written) == 11
    dataset = make(
        tmp_path / "xtd10",
        lambda number: {
            "captions": {"ja": human("ja", 1, number), "it": human("it", 1, number)},
            "parallel": {lang: f"{lang} translation of {number}" for lang in written if lang != "ja"},
        },
    )
    found = pools(dataset, smaller("xtd10"), "test")
    assert [pool.lang for pool in found] == list(written)
    assert {pool.lang: pool.source for pool in found} == {
        lang: "captions" if lang == "ja" else "parallel" for lang in written
    }
    by_lang = {pool.lang: pool.texts for pool in found}
    assert by_lang["ja"][3] == "ja human 0 of 3" and by_lang["it"][3] == "it translation of 3"


def test_machine_translations_are_marked_and_not_in_the_mean_of_human_languages(
    multi30k: Dataset, hashed: Any, tmp_path: Path
) -> None:
    model = hashed(languages=["en", "de", "fr", "zh"], noise=2.5)
    scored = score_pools(
        [model], multi30k, protocol=smaller("smalr-multi30k"), languages=["en", "de", "fr", "zh"]
    )
    report = measure(scored)
    scores = {lang: each.mR for lang, each in report.languages.items()}
    assert pytest.approx((scores["en"] + scores["de"] + scores["fr"]) / 3) == report.HA
    assert pytest.approx(sum(scores.values()) / 4) == report.A
    assert {lang: each["sentences"] for lang, each in report.as_json()["languages"].items()} == {
        "en": "captions", "de": "captions", "fr": "captions", "zh": "translated",
    }  # fmt: skip
    assert [row[0] for row in rows(report)] == ["en", "de", "fr", "zh†"]
    assert TRANSLATED in summary(report)
    write_page(tmp_path / "page.html", report, examples(scored))
    assert (
        '<h2>zh <span class="soft">machine translations</span></h2>' in (tmp_path / "page.html").read_text()
    )
    plain = evaluate_models([model], multi30k, languages=["en"])
    assert TRANSLATED not in summary(plain)


def test_machine_sentences_of_a_language_beside_its_human_ones(multi30k: Dataset, hashed: Any) -> None:
    model = hashed(languages=["de", "zh"], noise=2.5)
    machine = evaluate_models([model], multi30k, protocol="translated", languages=["de"])
    people = evaluate_models([model], multi30k, protocol="all", languages=["de"])
    assert (machine.languages["de"].sentences, people.languages["de"].sentences) == ("translated", "captions")
    asked = [text for lang, text in model.asked_texts if lang == "de"]
    assert sum("machine" in text for text in asked) == sum("human" in text for text in asked) == 5 * IMAGES
    assert languages_in(multi30k, find_protocol("translated"), "test") == ["zh", "de", "cs", "pt"]
    assert languages_in(multi30k, find_protocol("all"), "test") == ["en", "de", "fr", "zh", "cs", "pt"]


def test_a_comparison_says_where_sentences_are_machine_made(multi30k: Dataset, hashed: Any) -> None:
    comparison = compare_models(
        {"one": hashed(), "two": hashed(seed=1)},
        multi30k,
        protocol=find_protocol("all"),
        split="test",
        languages=["de", "zh"],
    ).as_json()
    assert {lang: each["sentences"] for lang, each in comparison["languages"].items()} == {
        "de": "captions", "zh": "translated",
    }  # fmt: skip


def test_a_dataset_of_translations_alone_is_measured(tmp_path: Path) -> None:
    dataset = make(tmp_path / "d", lambda number: {"translated": {"de": from_english(1, "de", number)}})
    (pool,) = pools(dataset, find_protocol("all"), "test")
    assert (pool.lang, pool.source) == ("de", "translated")
    with pytest.raises(UserError, match="no captions in any language in split test"):
        pools(dataset, find_protocol("coco-5k"), "test")

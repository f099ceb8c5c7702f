"""Few annotations in one language: what is put away, what carries the other languages, and that they are learnt."""

from __future__ import annotations

from pathlib import Path

import pytest

from lingvis.data.dataset import Dataset, write_rows
from lingvis.errors import UserError
from lingvis.evaluation.run import evaluate
from lingvis.model.build import build_tokenizer
from lingvis.terms.base import AUTHORED, Origin
from lingvis.training.run import train
from lingvis.training.sources import Sentences
from lingvis.training.sources.collect import collect_sentences
from lingvis.training.start.words import vocabulary_sentences
from lingvis.training.validate import load_recipe

from ..conftest import COLOURS, THINGS
from .origins import NO_PSEUDO, described, of, pseudo

SMALL = [
    "data.features=toy-grid",
    "data.images=0.5",
    "training.batch_size=16",
    "image.encoder.dim=24",
    "image.encoder.hidden=12",
    "text.encoder.dim=24",
    "text.words.dim=16",
    "text.words.buckets=500",
]
NO_TEXT_ONLY = ["data.text_only=false", "training.sampling.text_only=0.0"]


def lessons(folder: Path, *overrides: str, languages: tuple[str, ...] = ("en", "de")) -> Sentences:
    return collect_sentences(
        load_recipe("lingvis_sparse", [*SMALL, *overrides]), Dataset.open(folder), list(languages)
    )


def test_captions_of_other_languages_are_put_away(one_language: Path) -> None:
    found = lessons(one_language)
    rows = {row.image: row for row in Dataset.open(one_language).rows}
    assert len(described(found)) == 10  # half of 19
    assert {lang for _, lang in of(found, Origin.HUMAN)} == {"en"}
    authored = {text for text, _ in of(found, *AUTHORED)}
    assert not authored & {text for row in rows.values() for text in row.captions["de"]}
    # Detectors speak of the other half, in both languages, and say nothing where they saw nothing.
    said = pseudo(found)
    others = [image for image, row in rows.items() if row.split == "train" and image not in described(found)]
    seen = [image for image in others if not image.endswith("-ball.png")]
    assert set(said) == {(image, lang) for image in seen for lang in ("en", "de")}
    for image in seen:
        colour, thing = image.removesuffix(".png").split("-")
        assert said[image, "en"] == f"{colour} {thing}"
        assert said[image, "de"] == f"{COLOURS[colour]} {THINGS[thing]}"


def test_pictures_that_nobody_described_get_captions_by_detectors(one_language: Path, tmp_path: Path) -> None:
    rows = Dataset.open(one_language).rows
    bare, german = [row.image for row in rows if row.split == "train" and "ball" not in row.image][:2]
    folder = tmp_path / "data"
    folder.mkdir()
    for part in ("images", "features", "labels", "text-only.jsonl"):
        (folder / part).symlink_to(one_language / part)
    changes = {bare: {}, german: {"de": ("Nur auf Deutsch.",)}}
    write_rows(
        folder / "captions.jsonl",
        [row.model_copy(update={"captions": changes.get(row.image, row.captions)}) for row in rows],
    )
    found = lessons(folder, "data.images=1.0")  # all that have English captions
    assert len(described(found)) == 17
    assert set(found.images[17:]) == {bare, german}
    assert {image for image, _ in pseudo(found)} == {bare, german}
    assert "Nur auf Deutsch." not in found.texts


def test_a_language_without_table_is_left_to_sentences_with_a_line(
    rich_dataset: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = lessons(rich_dataset)
    assert {lang for _, lang in pseudo(found)} == {"en"}
    assert "de" in {lang for _, lang in of(found, *AUTHORED)}
    assert "note: no pseudo captions in de, which have no table of labels" in capsys.readouterr().err
    with pytest.raises(UserError, match="no labels in de"):  # other recipes ask for all tables
        lessons(rich_dataset, "data.annotated_languages=[]")
    with pytest.raises(UserError, match=r'no sentence to learn de from.*data\.languages=\["en"\]'):
        lessons(rich_dataset, *NO_TEXT_ONLY)


def test_annotated_languages_are_among_the_languages(one_language: Path) -> None:
    with pytest.raises(UserError, match="annotated_languages names fr, but the languages are en, de"):
        lessons(one_language, 'data.annotated_languages=["fr"]')
    with pytest.raises(UserError, match="a language is repeated"):
        lessons(one_language, 'data.annotated_languages=["en", "en"]')


def test_letters_of_a_language_that_nobody_wrote_captions_in(one_language: Path) -> None:
    """ "gefärbt" stands in sentences without pictures alone; of English, captions are enough as ever."""

    def letters(*overrides: str) -> set[str]:
        recipe = load_recipe("lingvis_sparse", [*SMALL, *overrides])
        opened = Dataset.open(one_language)
        tokenizer = build_tokenizer(recipe)
        tokenizer.fit(*vocabulary_sentences(recipe, opened, lessons(one_language, *overrides)))
        return set(tokenizer.alphabet.characters)  # type: ignore[attr-defined]

    assert "ä" in letters()
    assert "ä" in letters(*NO_PSEUDO)
    assert "ä" not in letters(*NO_TEXT_ONLY)
    assert "ä" not in letters("data.annotated_languages=[]")
    texts, langs = vocabulary_sentences(
        load_recipe("lingvis_sparse", SMALL), Dataset.open(one_language), lessons(one_language)
    )
    kept = [text for text, lang in zip(texts, langs, strict=True) if lang == "en"]
    assert len(kept) == 20 + len(
        [image for image in lessons(one_language).images[10:] if "ball" not in image]
    )


@pytest.mark.parametrize("carried", [[], NO_PSEUDO, NO_TEXT_ONLY], ids=["both", "sentences", "detectors"])
def test_a_language_without_annotation_is_learnt(
    carried: list[str], one_language: Path, tmp_path: Path
) -> None:
    """German captions are measured and never learnt from: those of the training pictures are new to the model."""
    plain = [
        "image.augment.name=none",
        "text.augment.name=none",
        "image.encoder.dropout=0.0",
        "text.encoder.dropout=0.0",
    ]
    made = train(
        "lingvis_sparse",
        one_language,
        tmp_path / "run",
        overrides=[*SMALL, *plain, "training.epochs=10", "training.sampling.passes=4", *carried],
    )
    assert made.embedder.languages == ["en", "de"]
    german = evaluate(tmp_path / "run", one_language, split="train", languages=["de"]).languages["de"]
    assert german.images == 19
    assert german.chance < 30
    assert german.mR > 50

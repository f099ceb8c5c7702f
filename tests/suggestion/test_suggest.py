"""`lingvis suggest` as a user runs it: the pictures, the reasons, and the errors when there are none."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from lingvis.cli import main
from lingvis.data.dataset import Dataset, write_rows
from lingvis.data.sparse import named_images
from lingvis.errors import UserError
from lingvis.features.store import FeatureStore, write_store
from lingvis.suggestion.run import picture_vectors, suggest
from lingvis.training.run import train

from ..conftest import FEATURES, THINGS, make_toy_dataset

KNOWN = ("dog", "cat")  # things whose pictures have captions


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy dataset in which only dogs and cats are described, cats in German alone."""
    folder = make_toy_dataset(tmp_path_factory.mktemp("suggest") / "toy")
    rows = []
    for row in Dataset.open(folder).rows:
        thing = Path(row.image).stem.split("-")[1]
        kept = {"dog": ("en", "de"), "cat": ("de",)}.get(thing, ())
        captions = {lang: row.captions[lang] for lang in kept} if row.split == "train" else row.captions
        rows.append(row.model_copy(update={"captions": captions}))
    write_rows(folder / "captions.jsonl", rows)
    return folder


@pytest.fixture(scope="module")
def run(dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of dogs and cats."""
    out = tmp_path_factory.mktemp("model") / "run"
    small = ["training.batch_size=8", "image.encoder.dim=24", "text.encoder.dim=24", "training.epochs=2"]
    words = ["text.tokenizer.min_count=1", "text.words.dim=16", 'data.languages=["en", "de"]']
    train("vsepp", dataset, out, overrides=[f"data.features={FEATURES}", *small, *words])
    return out


def command(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    code = 0
    try:
        main(["suggest", *map(str, words)])
    except SystemExit as left:
        code = int(left.code or 0)
    told = capsys.readouterr()
    return code, told.out, told.err


def things(images: list[str]) -> list[str]:
    return [Path(image).stem.split("-")[1] for image in images]


def test_only_pictures_of_train_without_captions(dataset: Path) -> None:
    found = suggest(Dataset.open(dataset), 100)
    images = [each.image for each in found.pictures]
    train = [row for row in Dataset.open(dataset).rows if row.split == "train"]
    assert sorted(images) == sorted(row.image for row in train if not row.captions)
    assert (found.known, found.candidates, found.asked) == (
        len(train) - len(images),
        len(images),
        100,
    )
    assert not set(things(images)) & set(KNOWN)
    # Nobody has described a cat in English.
    english = suggest(dataset, 100, lang="en")
    assert set(things([each.image for each in english.pictures])) == set(THINGS) - {"dog"}
    assert english.candidates > found.candidates


def test_vectors_are_means_of_a_pictures_own(tmp_path: Path) -> None:
    sets = [np.full((size, 3), size, np.float32) + np.arange(size)[:, None] for size in (1, 4, 2)]
    write_store(tmp_path / "store", ["a", "b", "c"], sets)
    means = picture_vectors(FeatureStore.open(tmp_path / "store"), ["c", "a", "b"])
    np.testing.assert_allclose(means, np.array([[2.5], [1.0], [5.5]]) * np.ones(3))
    assert means.dtype == np.float32


def test_the_list_is_what_training_takes(
    dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "next.txt"
    code, out, err = command(capsys, dataset, "-n", 4, "--out", file, "--seed", 3)
    assert (code, err) == (0, "")
    assert f"{file}: 4 of " in out
    code, printed, _ = command(capsys, dataset, "-n", 4, "--seed", 3)
    assert printed == file.read_text(encoding="utf-8")
    everything = make_toy_dataset(tmp_path / "annotated")  # where somebody has described them
    split = named_images(Dataset.open(everything).captions("train"), file)
    assert sorted(split.captions.images) == sorted(printed.split())


def test_scores_and_reasons_for_programs(
    dataset: Path, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = command(capsys, dataset, "-n", 99, "--model", run, "--json")
    assert code == 0
    found = json.loads(out)
    assert "note: only " in err and "all of them are suggested" in err
    assert (found["model"], found["features"], found["lang"], found["asked"]) == ("run", FEATURES, None, 99)
    assert len(found["pictures"]) == found["candidates"]
    unsure = [each["uncertainty"] for each in found["pictures"]]
    assert min(unsure) == 0 and 0.9 < max(unsure) <= 1
    assert all(-1 <= each["typicality"] <= 1.0001 and each["alike"] >= 1 for each in found["pictures"])
    surest = found["pictures"][int(np.argmin(unsure))]
    assert "less sure of it than of 0% of the pictures without captions" in surest["reason"]
    _, out, _ = command(capsys, dataset, "-n", 1, "--json")
    (first,) = json.loads(out)["pictures"]
    assert first["uncertainty"] is None
    assert re.fullmatch(r"one of \d+ alike, none of them annotated or suggested before", first["reason"])


def test_the_page_stands_alone(dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "next.html"
    code, out, _ = command(capsys, dataset, "-n", 3, "--page", page)
    assert code == 0
    text = page.read_text(encoding="utf-8")
    assert text.count("data:image/jpeg;base64,") == 3
    for name in out.split():
        assert text.count(f'alt="{name}"') == 1
    assert not re.findall(r'(?:src|href)="(?!data:)', text)
    assert "http" not in text.replace("http-equiv", "")


def test_a_picture_that_cannot_be_read_has_an_empty_place(dataset: Path, tmp_path: Path) -> None:
    from lingvis.suggestion import Suggestion, Suggestions
    from lingvis.suggestion.page import write_page

    (tmp_path / "a<b.png").write_bytes(b"no picture")
    found = Suggestions("d", "f", None, "de", 0, 1, 1, 1, [Suggestion("a<b.png", 1, 0, 1.0, None)])
    write_page(tmp_path / "page.html", found, tmp_path)
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert '<span class="none">' in text and "a&lt;b.png" in text and "a<b" not in text
    assert "no other picture is similar" in text


def test_mistakes_end_in_a_sentence(
    dataset: Path, run: Path, toy_dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = command(capsys, toy_dataset, "-n", 5)
    assert (code, out) == (2, "")
    assert "has captions for each of its 19 pictures, so there is none to suggest" in err
    opened = Dataset.open(dataset)
    with pytest.raises(UserError, match="model run was not trained on fr, only on de, en"):
        suggest(opened, 5, model=run, lang="fr")
    with pytest.raises(UserError, match="`count` must be at least 1, got 0"):
        suggest(opened, 0)
    with pytest.raises(UserError, match="bad language code 'German' for `lang`"):
        suggest(opened, 5, lang="German")
    with pytest.raises(UserError, match="no feature store at"):
        suggest(opened, 5, features="other")
    bare = Dataset(
        dataset,
        [row.model_copy(update={"captions": {}} if row.split == "train" else {}) for row in opened.rows],
    )
    with pytest.raises(
        UserError, match="has none there in de, en; give no `model` for the first suggestions"
    ):
        suggest(bare, 5, model=run)
    other = make_toy_dataset(tmp_path / "two")
    (other / "features" / "more").symlink_to(other / "features" / FEATURES)
    with pytest.raises(UserError, match=f"name one of them in `features`: more, {FEATURES}"):
        suggest(Dataset.open(other), 5)
    (other / "features").rename(other / "elsewhere")
    with pytest.raises(UserError, match="has no features; make some with: lingvis features extract"):
        suggest(Dataset.open(other), 5)

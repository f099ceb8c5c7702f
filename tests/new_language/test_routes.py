"""Routes to a language: each learns it, the best is kept, and nothing that the model knew moves."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from lingvis.data.dataset import Dataset
from lingvis.errors import UserError
from lingvis.model.embedder import Embedder
from lingvis.model.stored import StoredImages
from lingvis.new_language.run import add_language

from .conftest import make_dataset


@pytest.fixture(scope="module")
def greek(
    spelled_run: Path, dataset: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, dict[str, Any]]:
    out = tmp_path_factory.mktemp("added") / "with-el"
    return out, add_language(spelled_run, "el", dataset, out, device="cpu")


def test_every_route_learns_and_the_best_is_kept(greek: tuple[Path, dict[str, Any]]) -> None:
    _, report = greek
    found = {each["route"]: each for each in report["routes"]}
    assert list(found) == ["characters", "mapped", "distilled", "both", "glossed"]
    assert "no picture is described in known languages alone" in found.pop("glossed")["reason"]
    for route, each in found.items():
        assert each["mR"] > report["before"] + 15, route
    assert found[report["route"]]["mR"] == max(each["mR"] for each in found.values())
    assert report["after"] > report["before"] + 20


def test_nothing_that_the_model_knew_moves(
    spelled_run: Path, dataset: Path, greek: tuple[Path, dict[str, Any]]
) -> None:
    out, report = greek
    assert report["pictures_same"] and report["old_sentences_same"]
    assert report["old"]["en"]["before"] == report["old"]["en"]["after"]
    before, after = load_file(spelled_run / "model.safetensors"), load_file(out / "model.safetensors")
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)
    old, new = (Embedder.load(each, device="cpu") for each in (spelled_run, out))
    opened = Dataset.open(dataset)
    names = [row.image for row in opened.rows]
    sides = [StoredImages.open(each, opened) for each in (old, new)]
    assert np.array_equal(sides[0].encode(names), sides[1].encode(names))
    texts = [text for row in opened.rows for text in row.captions["en"]]
    assert np.array_equal(old.encode_texts(texts, "en"), new.encode_texts(texts, "en"))
    mixed = new.encode_texts(["a red dog", "ένα κόκκινο σκυλί", "the cat"], ["en", "el", "en"])
    assert np.array_equal(mixed[[0, 2]], old.encode_texts(["a red dog", "the cat"], "en"))
    assert np.array_equal(mixed[1:2], new.encode_texts(["ένα κόκκινο σκυλί"], "el"))
    assert np.abs(mixed[1:2] - old.encode_texts(["ένα κόκκινο σκυλί"], "el")).max() > 0.01


def test_the_folder_says_what_it_holds(spelled_run: Path, greek: tuple[Path, dict[str, Any]]) -> None:
    out, report = greek
    loaded, old = Embedder.load(out, device="cpu"), Embedder.load(spelled_run, device="cpu")
    assert loaded.languages == ["en", "el"] and loaded.name == "with-el"
    more = loaded.added["el"].values
    assert more == report["values"] > 0
    for key in ("text", "total", "test"):
        assert loaded.parameters[key] == old.parameters[key] + more
    assert loaded.parameters["image"] == old.parameters["image"]
    config = json.loads((out / "config.json").read_text())
    assert config["added"] == ["el"] and config["languages"] == ["en"]
    assert config["parameters"]["total"] == loaded.parameters["total"]
    assert loaded.added["el"].config.numbers["after"] == report["after"]
    card = (out / "card.md").read_text()
    assert "## Language el, added to spelled" in card
    assert f"| el | {report['before']:.1f} | {report['after']:.1f} |" in card
    assert card.startswith((spelled_run / "card.md").read_text())


def test_two_languages_in_turn(dataset: Path, greek: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    both = tmp_path / "both"
    report = add_language(greek[0], "de", dataset, both, route="distilled", device="cpu")
    assert set(report["old"]) == {"en", "el"} and report["old_sentences_same"]
    model, before = Embedder.load(both, device="cpu"), Embedder.load(greek[0], device="cpu")
    assert model.languages == ["en", "el", "de"]
    assert np.array_equal(model.encode_texts(["γάτα"], "el"), before.encode_texts(["γάτα"], "el"))
    assert report["after"] > report["before"]
    with pytest.raises(UserError, match="knows el already; it knows: de, el, en"):
        add_language(both, "el", dataset, tmp_path / "again", device="cpu")


def test_a_model_of_words_learns_by_letters_of_its_own(word_run: Path, dataset: Path, tmp_path: Path) -> None:
    report = add_language(word_run, "el", dataset, tmp_path / "out", device="cpu")
    found = {each["route"]: each for each in report["routes"]}
    assert found["characters"] == {"route": "characters", "reason": "the model does not spell its words"}
    for route in ("mapped", "distilled", "both"):
        assert found[route]["mR"] > report["before"] + 15, route


def test_without_any_picture(spelled_run: Path, dataset: Path, pairs: Path, tmp_path: Path) -> None:
    report = add_language(spelled_run, "el", pairs, tmp_path / "out", route="distilled", device="cpu")
    assert report["measured_on"] == "pairs" and report["with_picture"] == 0 and report["old"] == {}
    assert "no pictures" in (tmp_path / "out" / "card.md").read_text()
    # Pictures that it never saw are found by what was learnt from translations alone.
    opened = Dataset.open(dataset)
    texts = [row.captions["el"][0] for row in opened.rows]
    points = StoredImages.open(Embedder.load(spelled_run, device="cpu"), opened).encode(
        [row.image for row in opened.rows]
    )
    before, after = (
        (Embedder.load(each, device="cpu").encode_texts(texts, "el") @ points.T).argmax(axis=1)
        for each in (spelled_run, tmp_path / "out")
    )
    right = np.arange(len(texts))
    assert (after == right).mean() > (before == right).mean() + 0.2


def test_pictures_are_held_out_where_there_is_no_validation(spelled_run: Path, tmp_path: Path) -> None:
    data = make_dataset(tmp_path / "data", lambda lang, split: lang == "en" or split == "train")
    report = add_language(spelled_run, "el", data, tmp_path / "out", route="both", device="cpu")
    assert report["measured_on"] == "pictures"
    assert report["sentences"] == 2 * (24 - 2)  # 24 pictures, two of them held out


def test_few_captions_are_drawn_by_the_seed(spelled_run: Path, dataset: Path, tmp_path: Path) -> None:
    found = [
        add_language(
            spelled_run, "el", dataset, tmp_path / name, route="both", captions=20, seed=seed, device="cpu"
        )
        for name, seed in (("a", 0), ("b", 0), ("c", 1))
    ]
    assert [each["sentences"] for each in found] == [20, 20, 20]
    weights = [load_file(tmp_path / name / "added" / "el" / "words.safetensors") for name in "abc"]
    assert torch.equal(weights[0]["table.weight"], weights[1]["table.weight"])
    assert not torch.equal(weights[0]["table.weight"], weights[2]["table.weight"])


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("config.json", "is damaged"),
        ("characters.json", "the tokenizer in .* is damaged"),
        ("words.safetensors", "cannot be read"),
        ("swapped", "does not fit the config.json beside it"),
        ("gone", "is damaged"),
    ],
)
def test_damage_is_told(
    greek: tuple[Path, dict[str, Any]], tmp_path: Path, damage: str, message: str
) -> None:
    out = tmp_path / "run"
    shutil.copytree(greek[0], out)
    folder = out / "added" / "el"
    if damage == "gone":
        shutil.rmtree(folder)
    elif damage == "swapped":
        shutil.copy(out / "model.safetensors", folder / "words.safetensors")
    else:
        (folder / damage).write_text("{}" if damage.endswith("json") else "torn")
    with pytest.raises(UserError, match=message):
        Embedder.load(out, device="cpu")


def test_mistakes_cost_nothing(spelled_run: Path, dataset: Path, pairs: Path, tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.mkdir()
    for arguments, message in (
        ((spelled_run, "en", dataset, tmp_path / "out"), "knows en already"),
        ((spelled_run, "Greek", dataset, tmp_path / "out"), "bad language code 'Greek'"),
        (
            (spelled_run, "fr", dataset, tmp_path / "out"),
            r"no sentences in 'fr' to learn from .* it has: de, el, en",
        ),
        ((spelled_run, "el", dataset, taken), "exists already"),
        ((tmp_path / "none", "el", dataset, tmp_path / "out"), "no model folder"),
        ((spelled_run, "el", tmp_path / "none", tmp_path / "out"), "no dataset folder"),
    ):
        with pytest.raises(UserError, match=message):
            add_language(*arguments, device="cpu")
    with pytest.raises(UserError, match="got 5 sentences in 'el' to learn from; 20 is the least"):
        add_language(spelled_run, "el", dataset, tmp_path / "out", captions=5, device="cpu")
    with pytest.raises(UserError, match=r"no route .*no picture has a sentence in el"):
        add_language(spelled_run, "el", pairs, tmp_path / "out", route="characters", device="cpu")
    bare = make_dataset(tmp_path / "bare")
    shutil.rmtree(bare / "features")
    with pytest.raises(UserError, match="no feature store at"):
        add_language(spelled_run, "el", bare, tmp_path / "out", device="cpu")
    assert not (tmp_path / "out").exists() and not list(tmp_path.glob(".out*"))


def test_ctrl_c_leaves_nothing(
    spelled_run: Path, dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*arguments: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("lingvis.new_language.run.added_section", stop)  # the folder is all but done by then
    with pytest.raises(KeyboardInterrupt):
        add_language(spelled_run, "el", dataset, tmp_path / "out", route="distilled", device="cpu")
    assert list(tmp_path.iterdir()) == []

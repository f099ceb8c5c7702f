"""Routes to a language: each learns it, the best is kept, and nothing else in the model changes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

import lingvis
from lingvis.data.dataset import Dataset
from lingvis.errors import UserError
from lingvis.model.embedder import Embedder
from lingvis.model.stored import StoredImages
from lingvis.new_language.gather import gather
from lingvis.new_language.measure import RetrievalMeasure
from lingvis.new_language.result import AddLanguageResult
from lingvis.new_language.routes import find_routes
from lingvis.new_language.run import add_language
from lingvis.new_language.start_factory import LexicalResources
from lingvis.new_language.task import TeachingPlan
from lingvis.new_language.try_routes import RouteOutcome, try_routes
from lingvis.training.validate import load_recipe

from .conftest import SMALL, SPELLED, make_dataset


def by_route(result: AddLanguageResult) -> dict[str, RouteOutcome]:
    return {outcome.route: outcome for outcome in result.routes}


@pytest.fixture(scope="module")
def greek(
    spelled_run: Path, dataset: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, AddLanguageResult]:
    out = tmp_path_factory.mktemp("added") / "with-el"
    return out, add_language(spelled_run, "el", dataset, out, device="cpu")


def test_every_route_learns_and_the_best_is_kept(greek: tuple[Path, AddLanguageResult]) -> None:
    _, result = greek
    assert result.before is not None
    found = by_route(result)
    assert list(found) == ["characters", "mapped", "distilled", "both", "glossed"]
    assert "no picture has sentences in known languages only" in found.pop("glossed").reason
    for route, each in found.items():
        assert each.score > result.before + 15, route
    assert found[result.route].score == max(each.score for each in found.values())
    assert result.after > result.before + 20


def test_nothing_that_the_model_knew_moves(
    spelled_run: Path, dataset: Path, greek: tuple[Path, AddLanguageResult]
) -> None:
    out, result = greek
    assert result.pictures_same and result.old_sentences_same
    assert result.old["en"].before == result.old["en"].after
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


def test_the_folder_says_what_it_holds(spelled_run: Path, greek: tuple[Path, AddLanguageResult]) -> None:
    out, result = greek
    loaded, old = Embedder.load(out, device="cpu"), Embedder.load(spelled_run, device="cpu")
    assert loaded.languages == ["en", "el"] and loaded.name == "with-el"
    more = loaded.added["el"].values
    assert more == result.values > 0
    for key in ("text", "total", "test"):
        assert loaded.parameters[key] == old.parameters[key] + more
    assert loaded.parameters["image"] == old.parameters["image"]
    config = json.loads((out / "config.json").read_text())
    assert config["added"] == ["el"] and config["languages"] == ["en"]
    assert config["parameters"]["total"] == loaded.parameters["total"]
    assert loaded.added["el"].config.numbers["after"] == result.after
    card = (out / "card.md").read_text()
    assert "## Language el, added to spelled" in card
    assert f"| el | {result.before:.1f} | {result.after:.1f} |" in card
    assert card.startswith((spelled_run / "card.md").read_text())


def test_two_languages_in_turn(dataset: Path, greek: tuple[Path, AddLanguageResult], tmp_path: Path) -> None:
    both = tmp_path / "both"
    result = add_language(greek[0], "de", dataset, both, route="distilled", device="cpu")
    assert set(result.old) == {"en", "el"} and result.old_sentences_same
    model, before = Embedder.load(both, device="cpu"), Embedder.load(greek[0], device="cpu")
    assert model.languages == ["en", "el", "de"]
    assert np.array_equal(model.encode_texts(["γάτα"], "el"), before.encode_texts(["γάτα"], "el"))
    assert result.before is not None and result.after > result.before
    with pytest.raises(UserError, match="already has el; its languages: de, el, en"):
        add_language(both, "el", dataset, tmp_path / "again", device="cpu")


def test_a_model_of_words_learns_by_letters_of_its_own(word_run: Path, dataset: Path, tmp_path: Path) -> None:
    result = add_language(word_run, "el", dataset, tmp_path / "out", device="cpu")
    assert result.before is not None
    found = by_route(result)
    assert found["characters"] == RouteOutcome("characters", reason="the model does not spell its words")
    for route in ("mapped", "distilled", "both"):
        assert found[route].score > result.before + 15, route


def test_without_any_picture(spelled_run: Path, dataset: Path, pairs: Path, tmp_path: Path) -> None:
    result = add_language(spelled_run, "el", pairs, tmp_path / "out", route="distilled", device="cpu")
    assert result.measured_on == "pair folds" and result.with_picture == 0 and result.old == {}
    assert result.sentences == result.pool == 36
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


def test_few_pictures_choose_by_folds(spelled_run: Path, tmp_path: Path) -> None:
    data = make_dataset(tmp_path / "data", lambda lang, split: lang == "en" or split == "train")
    result = add_language(spelled_run, "el", data, tmp_path / "out", device="cpu")
    assert (result.measured_on, result.pool) == ("picture folds", 36)
    assert result.sentences == 2 * 24, "the chosen route learns from all of them"
    found = by_route(result)
    for route in ("characters", "mapped", "distilled", "both"):
        assert found[route].spread is not None and found[route].score > (result.before or 0), route
    assert result.after == found[result.route].score == max(each.score for each in found.values())
    card = (tmp_path / "out" / "card.md").read_text()
    assert "each held out once (cross-validation), among 36 pictures" in card
    assert "| route | mR | spread | epoch |" in card
    values = result.as_json()
    assert values["routes"][0]["spread"] == found["characters"].spread and values["pool"] == 36
    assert Embedder.load(tmp_path / "out", device="cpu").languages == ["en", "el"]


def test_few_captions_are_drawn_by_the_seed(spelled_run: Path, dataset: Path, tmp_path: Path) -> None:
    found = [
        add_language(
            spelled_run, "el", dataset, tmp_path / name, route="both", captions=20, seed=seed, device="cpu"
        )
        for name, seed in (("a", 0), ("b", 0), ("c", 1))
    ]
    assert [each.sentences for each in found] == [20, 20, 20]
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
def test_damage_is_reported(
    greek: tuple[Path, AddLanguageResult], tmp_path: Path, damage: str, message: str
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
        ((spelled_run, "en", dataset, tmp_path / "out"), "already has en"),
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
    with pytest.raises(UserError, match="unknown route 'fast'; choose one of: both, characters, distilled"):
        add_language(spelled_run, "el", dataset, tmp_path / "out", route="fast", device="cpu")
    with pytest.raises(
        UserError, match="`pivot` is 'de', and the model was not trained on it; choose one of: en"
    ):
        add_language(spelled_run, "el", dataset, tmp_path / "out", pivot="de", device="cpu")
    with pytest.raises(UserError, match="got 5 sentences in 'el' to learn from; give at least 20"):
        add_language(spelled_run, "el", dataset, tmp_path / "out", captions=5, device="cpu")
    with pytest.raises(UserError, match=r"no route .*no picture has a sentence in el"):
        add_language(spelled_run, "el", pairs, tmp_path / "out", route="characters", device="cpu")
    bare = make_dataset(tmp_path / "bare")
    shutil.rmtree(bare / "features")
    with pytest.raises(UserError, match="no feature store at"):
        add_language(spelled_run, "el", bare, tmp_path / "out", device="cpu")
    assert not (tmp_path / "out").exists() and not list(tmp_path.glob(".out*"))


def test_the_result_is_typed_and_has_a_json(greek: tuple[Path, AddLanguageResult]) -> None:
    out, result = greek
    values = result.as_json()
    assert (values["model"], values["from"], values["lang"]) == (
        "with-el",
        "spelled",
        "el",
    ) and "base" not in values
    assert list(values)[5:7] == ["route", "routes"] and list(values)[-1] == "seconds"
    assert values["old"] == {"en": {"before": result.old["en"].before, "after": result.old["en"].after}}
    assert values["routes"][0].keys() == {"route", "mR", "spread", "epoch", "seconds", "values"}
    assert values["routes"][-1].keys() == {"route", "reason"}
    stored = json.loads((out / "added" / "el" / "config.json").read_text())
    assert (
        stored["numbers"] == {key: values[key] for key in stored["numbers"]} and stored["numbers"]["seconds"]
    )
    assert (
        stored["data"] == {key: values[key] for key in stored["data"]} and stored["data"]["sentences"] == 48
    )


def test_paths_may_be_strings(spelled_run: Path, pairs: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    result = lingvis.add_language(str(spelled_run), "el", str(pairs), out, route="distilled", device="cpu")
    assert result.model == "out" and Embedder.load(out, device="cpu").languages == ["en", "el"]


def test_an_error_leaves_the_embedder_unchanged(
    spelled_run: Path, pairs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = Embedder.load(spelled_run, device="cpu")
    data = gather(Dataset(pairs, []), "el", embedder.languages)
    data = data.folds[0]
    measure = RetrievalMeasure.among_sentences(data, embedder)
    before = {name: value.clone() for name, value in embedder.model.state_dict().items()}

    def fail(*arguments: object, **options: object) -> None:
        raise RuntimeError("out of memory")

    monkeypatch.setattr("lingvis.new_language.task.fit", fail)
    with pytest.raises(RuntimeError, match="out of memory"):
        try_routes(
            embedder,
            load_recipe("lingvis_frozen", [*SMALL, *SPELLED]),
            data,
            np.zeros((0, embedder.dim), np.float32),
            measure,
            resources=LexicalResources(),
            plan=TeachingPlan(),
            routes=find_routes("distilled"),
        )
    assert embedder.languages == ["en"] and not embedder.model.training
    assert all(parameter.requires_grad for parameter in embedder.model.parameters())
    assert all(torch.equal(before[name], value) for name, value in embedder.model.state_dict().items())


def test_ctrl_c_leaves_nothing(
    spelled_run: Path, dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*arguments: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("lingvis.new_language.run.added_section", stop)  # the folder is all but done by then
    with pytest.raises(KeyboardInterrupt):
        add_language(spelled_run, "el", dataset, tmp_path / "out", route="distilled", device="cpu")
    assert list(tmp_path.iterdir()) == []

"""A language that begins with the model of another: which captions, which words, which weights, what stays as it is."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from lingvis.data.dataset import Captions, Dataset
from lingvis.data.sparse import draw_captions
from lingvis.errors import UserError
from lingvis.features.store import write_store
from lingvis.model.embedder import Embedder
from lingvis.model.folder import CHECKPOINT
from lingvis.text.alignment import prepare
from lingvis.text.vectors.store import VECTORS, VectorsOrigin, WordVectors, write_vectors
from lingvis.text.vectors.table import WordTable
from lingvis.text.words.mapped import MappedWords
from lingvis.training import prepare as prepare_module
from lingvis.training.loop import fit as loop
from lingvis.training.run import train
from lingvis.training.sampling import CaptionSampler
from lingvis.types import Clock

from ..conftest import COLOURS, THINGS, make_toy_dataset
from .tables import make_table

DIM = 8
GERMAN = {german.lower(): english for english, german in {**COLOURS, **THINGS}.items()} | {
    "ein": "a",
    "ist": "is",
    "lila": "purple",  # in no caption
}
SMALL = [
    "data.features=toy-grid",
    "training.batch_size=16",
    "image.encoder.name=residual_mlp",  # with batch norm, whose statistics have to stay too
    "image.encoder.hidden=12",
    "image.encoder.dim=24",
    "text.encoder.dim=24",
    "text.words.vector_dim=8",
    "training.sampling.least_steps=3",
    "training.epochs=2",
    "optimizer.lr=5e-3",
]
DE = 'data.languages=["de"]'


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy dataset with German word vectors that are the English ones turned round; "braun" has none."""
    folder = make_toy_dataset(tmp_path_factory.mktemp("transfer") / "toy")
    generator = np.random.default_rng(0)
    english = ["the", *GERMAN.values()]
    values = generator.normal(size=(len(english), DIM)).astype(np.float32)
    turn, _ = np.linalg.qr(generator.normal(size=(DIM, DIM)))
    german = [word for word in GERMAN if word != "braun"]
    turned = np.stack([values[english.index(GERMAN[word])] for word in german]) @ turn.T.astype(np.float32)
    tables = {"en": WordTable(english, values), "de": WordTable(german, turned)}
    origins = {lang: VectorsOrigin(source="random", sentences=lang) for lang in tables}
    write_vectors(folder / VECTORS / "captions", tables, origins, dict.fromkeys(tables, 0))
    (folder / "de-en.txt").write_text(
        "".join(f"{word}\t{GERMAN[word]}\n" for word in GERMAN), encoding="utf-8"
    )
    return folder


@pytest.fixture(scope="module")
def source(dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An English model."""
    run = tmp_path_factory.mktemp("source") / "en"
    train("translator_fs", dataset, run, overrides=[*SMALL, 'data.languages=["en"]'])
    return run


def begun_with(source: Path, *more: str) -> list[str]:
    return [*SMALL, DE, f"start.run={source}", *more]


def fitted(dataset: Path, source: Path, *more: str) -> list[str]:
    return begun_with(source, f"text.words.dictionary={dataset / 'de-en.txt'}", *more)


def weights(run: Path) -> dict[str, torch.Tensor]:
    return load_file(run / "model.safetensors")


def moved(run: Path, other: Path, names: Sequence[str]) -> set[str]:
    """Those of the named tensors that differ in any bit."""
    one, two = weights(run), weights(other)
    return {name for name in names if not torch.equal(one[name], two[name])}


@pytest.mark.parametrize("recipe", ["translator_t1", "translator_t2"])
def test_frozen_tensors_stay_bit_by_bit_and_the_others_move(
    recipe: str, dataset: Path, source: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    options = begun_with(source) if recipe == "translator_t1" else fitted(dataset, source)
    config = train(recipe, dataset, run, overrides=options).config
    tensors = weights(run)
    image = [name for name in tensors if name.startswith("image.")]
    assert {"image.encoder.norm.running_mean", "image.encoder.norm.running_var"} < set(image)
    assert moved(run, source, image) == set()
    taken = [name for name in tensors if name.startswith(("text.encoder", "text.words.special"))]
    assert moved(run, source, taken) == set(taken)
    assert config.image_fingerprint == json.loads((source / "config.json").read_text())["image_fingerprint"]
    stored = WordVectors.open(dataset / VECTORS / "captions").table("de")
    own = Embedder.load(run).model.text.words
    assert isinstance(own, MappedWords)
    rows = [own.words.index(word) for word in stored.words]
    vectors = own.vectors.detach().numpy()
    np.testing.assert_allclose(vectors[rows], prepare(stored.values), atol=1e-6)
    assert not vectors[own.words.index("braun")].any()
    trained = config.parameters["training"]
    frozen = sum(tensors[name].numel() for name in image if "running" not in name and "tracked" not in name)
    assert trained == config.parameters["total"] - frozen - own.vectors.numel()


def test_statistics_of_a_batch_norm_that_is_trained_move(dataset: Path, source: Path, tmp_path: Path) -> None:
    run, factors = tmp_path / "run", 'optimizer.factors={"text.words.vectors" = 0.0}'
    train("translator_t1", dataset, run, overrides=begun_with(source, factors))
    means = ["image.encoder.norm.running_mean", "image.encoder.norm.weight"]
    assert moved(run, source, means) == set(means)


def test_what_is_taken_is_what_training_starts_from(
    dataset: Path, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[dict[str, torch.Tensor]] = []

    def stop(task: Any, *rest: Any, **options: Any) -> None:
        started.append({name: tensor.clone() for name, tensor in task.model.state_dict().items()})
        raise Stopped

    monkeypatch.setattr(loop, "make_step", stop)
    with pytest.raises(Stopped):
        train("translator_t2", dataset, tmp_path / "run", overrides=fitted(dataset, source))
    before = weights(source)
    for name, tensor in started[0].items():
        if name.startswith(("image.", "text.encoder.", "text.words.special")):
            assert torch.equal(tensor, before[name]), name
    matrix = started[0]["text.words.translator.weight"].numpy()
    vectors = started[0]["text.words.vectors"].numpy()
    mapped = vectors @ matrix.T
    lengths = np.linalg.norm(mapped, axis=1)
    assert lengths[lengths > 0].mean() == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("method", ["procrustes", "rcsls"])
def test_a_fitted_map_brings_words_to_their_translations(
    method: str, dataset: Path, source: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    options = fitted(dataset, source, f"text.words.map={method}", "optimizer.lr=1e-9", "training.epochs=1")
    train("translator_t2", dataset, run, overrides=options)
    own, other = (Embedder.load(folder).model.text.words for folder in (run, source))
    assert isinstance(own, MappedWords) and isinstance(other, MappedWords)
    cosines = unit_rows(own.table()) @ unit_rows(other.table()).T
    for german, english in GERMAN.items():
        if german != "braun":
            nearest = other.words[int(cosines[own.words.index(german)].argmax())]
            assert nearest == english, german


def test_a_dictionary_is_induced_where_none_is_given(dataset: Path, source: Path, tmp_path: Path) -> None:
    copy = tmp_path / "data"
    copy.mkdir()
    for name in ("images", "features", VECTORS, "captions.jsonl"):
        (copy / name).symlink_to(dataset / name)
    sentences = [f"{german} {other}" for german in GERMAN for other in list(GERMAN)[:4]]
    rows = [
        {"id": str(n), "parallel": {"de": text, "en": " ".join(GERMAN[word] for word in text.split())}}
        for n, text in enumerate(sentences)
    ]
    (copy / "text-only.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    options = ["text.words.map=procrustes", "optimizer.lr=1e-9", "training.epochs=1"]
    train("translator_t2", copy, tmp_path / "given", overrides=fitted(dataset, source, *options))
    train("translator_t2", copy, tmp_path / "induced", overrides=begun_with(source, *options))
    given, induced = (
        weights(tmp_path / name)["text.words.translator.weight"] for name in ("given", "induced")
    )
    torch.testing.assert_close(induced, given, atol=1e-4, rtol=0)


def unit_rows(values: np.ndarray[Any, np.dtype[np.float32]]) -> torch.Tensor:
    return torch.nn.functional.normalize(torch.from_numpy(values), dim=1)


def test_a_model_needs_neither_its_source_nor_the_dictionary(
    dataset: Path, source: Path, tmp_path: Path
) -> None:
    first, dictionary, run = tmp_path / "first", tmp_path / "d.txt", tmp_path / "run"
    shutil.copytree(source, first)
    shutil.copy(dataset / "de-en.txt", dictionary)
    train(
        "translator_t2",
        dataset,
        run,
        overrides=[*begun_with(first), f"text.words.dictionary={dictionary}", "training.epochs=1"],
    )
    shutil.rmtree(first)
    dictionary.unlink()
    emb = Embedder.load(run).encode_texts(["ein lila Hund", "ein Hund", "ein grauer Hund"], lang="de")
    # "lila" stands in no caption and has a vector; "grauer" has none and is left out.
    assert np.abs(emb[0] - emb[1]).max() > 1e-3
    np.testing.assert_allclose(emb[2], emb[1], atol=1e-6)


def test_captions_are_drawn_once_and_few_are_among_many(dataset: Path) -> None:
    whole = Dataset.open(dataset).captions("train", ["en", "de"])
    every = {(text, whole.images[image]) for text, image in zip(whole.texts, whole.image_of, strict=True)}
    assert draw_captions(whole, 0, 3) is whole
    some = {count: pairs(draw_captions(whole, count, seed=3)) for count in (8, 20, len(whole.texts))}
    assert [len(each) for each in some.values()] == [8, 20, len(whole.texts)]
    assert some[8] < some[20] < some[len(whole.texts)] == every
    assert pairs(draw_captions(whole, 8, seed=3)) == some[8]
    assert pairs(draw_captions(whole, 8, seed=4)) != some[8]
    drawn = draw_captions(whole, 8, seed=3)
    assert sorted(set(drawn.image_of.tolist())) == list(range(len(drawn.images)))
    assert len(drawn.langs) == 8


def pairs(captions: Captions) -> set[tuple[str, str]]:
    return {
        (text, captions.images[image]) for text, image in zip(captions.texts, captions.image_of, strict=True)
    }


def test_the_vocabulary_is_that_of_the_drawn_captions(dataset: Path, tmp_path: Path) -> None:
    options = ["data.features=toy-grid", "image.encoder.dim=24", "text.encoder.dim=24", "training.epochs=1"]
    options += ["text.tokenizer.min_count=1", "data.captions=3", "training.batch_size=4", DE]
    train("vsepp", dataset, tmp_path / "run", overrides=options)
    drawn = draw_captions(Dataset.open(dataset).captions("train", ["de"]), 3, seed=0)
    spoken = {word for text in drawn.texts for word in text.lower().rstrip(".").split()}
    assert set(json.loads((tmp_path / "run" / "vocabulary.json").read_text())["words"]) == spoken


def test_an_epoch_of_few_captions_repeats_them() -> None:
    table = make_table(np.arange(10), np.zeros(10, np.int64), np.full(10, 5), images=10)
    sampler = CaptionSampler(captions=table, batch_size=4, least_steps=8)
    epoch = sampler.epoch(0, 0)
    assert len(epoch) == sampler.batch_count() == 9  # three passes of three batches
    for first in (0, 3, 6):
        assert sorted(np.concatenate(epoch[first : first + 3]).tolist()) == list(range(10))
    assert [batch.tolist() for batch in epoch[:3]] != [batch.tolist() for batch in epoch[3:6]]
    plain = CaptionSampler(captions=table, batch_size=4)
    assert plain.batch_count() == 3
    assert all(map(np.array_equal, plain.epoch(0, 0), epoch[:3]))


class Stopped(BaseException):
    """As sudden as a kill."""


def test_a_killed_run_goes_on_without_fitting_again(
    dataset: Path, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = fitted(dataset, source, "training.checkpoint_seconds=0")
    train("translator_t2", dataset, tmp_path / "whole", overrides=options)
    run, go = tmp_path / "run", loop.seed_step

    def die(seed: int, clock: Clock) -> None:
        if clock.step == 4:
            raise Stopped
        go(seed, clock)

    with monkeypatch.context() as patched:
        patched.setattr(loop, "seed_step", die)
        with pytest.raises(Stopped):
            train("translator_t2", dataset, run, overrides=options)
    assert (run / CHECKPOINT).exists()
    with monkeypatch.context() as patched:
        patched.setattr(prepare_module, "fit_translator", lambda *_: pytest.fail("fitted again"))
        train("translator_t2", dataset, run, overrides=options, resume=True)
    assert moved(run, tmp_path / "whole", list(weights(run))) == set()


@pytest.mark.parametrize("changed", ["model", "dictionary"])
def test_a_run_is_not_resumed_with_another_beginning(
    changed: str, dataset: Path, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, dictionary, run = tmp_path / "first", tmp_path / "d.txt", tmp_path / "run"
    shutil.copytree(source, first)
    shutil.copy(dataset / "de-en.txt", dictionary)
    options = [*begun_with(first), f"text.words.dictionary={dictionary}", "training.checkpoint_seconds=0"]
    go = loop.seed_step

    def die(seed: int, clock: Clock) -> None:
        if clock.step == 2:
            raise Stopped
        go(seed, clock)

    with monkeypatch.context() as patched:
        patched.setattr(loop, "seed_step", die)
        with pytest.raises(Stopped):
            train("translator_t2", dataset, run, overrides=options)
    if changed == "model":
        tensors = weights(first)
        tensors["text.words.special"] += 1
        save_file(tensors, first / "model.safetensors")
    else:
        dictionary.write_text(dictionary.read_text() + "mehr\tmore\n")
    with pytest.raises(UserError, match="begun with another recipe, other values or other data"):
        train("translator_t2", dataset, run, overrides=options, resume=True)


def problem(dataset: Path, folder: Path, recipe: str, options: Sequence[str]) -> str:
    with pytest.raises(UserError) as caught:
        train(recipe, dataset, folder, overrides=options)
    assert not (folder / "config.json").exists()
    return str(caught.value)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            ['start.parts=["text.wings"]'],
            "start.parts names 'text.wings', which no weight of this recipe has",
        ),
        (
            ["text.encoder.dim=12", "image.encoder.dim=12"],
            "image.encoder.linear.linear.weight is 12 x 12 in this recipe and 24 x 12 in model en",
        ),
        (
            ["text.encoder.bidirectional=true"],
            "start.parts names 'text.encoder', but only this recipe has text.encoder.gru.",
        ),
        (["data.captions=1000"], "data.captions is 1000, but there are 19 training captions; lower it"),
        (["data.languages=[]", "data.captions=1"], "was drawn; raise it"),
        (["data.languages=[]"], "text.words.map = 'random' maps one language into the space of another"),
        (["text.words.vector_dim=5"], "text.words.vector_dim is 5 for 20 words, but the vectors are 20 x 8"),
    ],
)
def test_what_cannot_be_taken_is_said(
    options: list[str], sentence: str, dataset: Path, source: Path, tmp_path: Path
) -> None:
    got = problem(dataset, tmp_path / "run", "translator_t1", begun_with(source, *options))
    assert sentence in got


def test_a_source_that_is_missing_or_of_another_kind_is_said(
    dataset: Path, source: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    got = problem(dataset, run, "translator_t1", [*SMALL, DE])
    assert "translator_t1 takes image, text.words.special, text.encoder from another model" in got
    assert "add start.run=FOLDER" in got and not run.exists()
    assert "no model folder at" in problem(dataset, run, "translator_t1", begun_with(tmp_path / "none"))
    few = tmp_path / "few.txt"
    few.write_text("hund\tdog\n")
    got = problem(dataset, run, "translator_t2", begun_with(source, f"text.words.dictionary={few}"))
    assert "only 1 pairs of the dictionary have vectors on both sides" in got
    got = problem(
        dataset, tmp_path / "other", "translator_t2", begun_with(source, "text.words.dictionary=x.txt")
    )
    assert "dictionary x.txt cannot be read" in got
    both = tmp_path / "both"
    train("translator_fs", dataset, both, overrides=[*SMALL, "data.languages=[]", "training.epochs=1"])
    assert "is of en, de; train one with recipe translator_fs" in problem(
        dataset, run, "translator_t2", fitted(dataset, both)
    )


def test_an_image_side_is_taken_for_the_same_features_only(
    dataset: Path, source: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "data"
    shutil.copytree(dataset, copy)
    names = [row.image for row in Dataset.open(copy).rows]
    sets = list(np.random.default_rng(0).normal(size=(len(names), 4, 12)))
    write_store(copy / "features" / "other", names, sets, kind="grid", backbone="elsewhere")
    options = begun_with(source, "data.features=other")
    assert "was trained on features with backbone 'toy'" in problem(
        copy, tmp_path / "run", "translator_t1", options
    )
    text_only = 'start.parts=["text.encoder"]'
    train(
        "translator_t1",
        copy,
        tmp_path / "text",
        overrides=[
            *options,
            text_only,
            'optimizer.factors={"text.words.vectors" = 0.0}',
            "training.epochs=1",
        ],
    )

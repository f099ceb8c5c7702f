"""What a language starts from: copied letters read old words as before, whatever letters are new."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from lingvis.data.dataset import Dataset
from lingvis.features.description import Features
from lingvis.model.added_language import make_words
from lingvis.model.build import build_model, build_tokenizer
from lingvis.model.embedder import Embedder
from lingvis.new_language.gather import gather
from lingvis.new_language.lexical.word_vectors import word_points
from lingvis.new_language.mapped_start import fit_ngrams
from lingvis.new_language.starts import copied_start, fresh_start
from lingvis.new_language.task import LengthSampler
from lingvis.recipes.schema import Part
from lingvis.text.tokenizers.base import END, START
from lingvis.text.tokenizers.characters import CharacterTokenizer
from lingvis.text.words.ngrams import HashedNgrams
from lingvis.training.validate import load_recipe
from lingvis.types import SpelledWords

TEXTS = ["a red dog", "the blue house"]
NEW = ["κόκκινο σκυλί", "red γάτα"]
FEATURES = Features(name="x", backbone="x", kind="global", regions=None, preprocessing=None, dim=4)
PARTS: dict[str, dict[str, Any]] = {
    "ngrams": {"dim": 8, "buckets": 50, "shortest": 2, "longest": 4},
    "liwe": {"dim": 8, "letter_dim": 3, "layers": [10, 10]},
    "char_gru": {"dim": 8, "letter_dim": 3},
}


def small_embedder(words: str) -> tuple[Embedder, Any]:
    overrides = [f"text.words.name={words}", "text.encoder.dim=8", "image.encoder.dim=8"]
    recipe = load_recipe(
        "lingvis_frozen", overrides + [f"text.words.{key}={value}" for key, value in PARTS[words].items()]
    )
    tokenizer = build_tokenizer(recipe)
    tokenizer.fit(TEXTS, ["en"] * len(TEXTS))
    model = build_model(
        recipe, seed=recipe.training.seed, feature_dim=4, vocabulary=tokenizer.vocabulary
    ).eval()
    made = Embedder(
        name="x",
        model=model,
        tokenizer=tokenizer,
        features=FEATURES,
        languages=["en"],
        device=torch.device("cpu"),
    )
    return made, recipe


def vectors(tokenizer: CharacterTokenizer, words: Any, listed: list[str]) -> torch.Tensor:
    letters = torch.from_numpy(tokenizer.alphabet.spell(listed, tokenizer.word_length))
    with torch.no_grad():
        found: torch.Tensor = words.compose(SpelledWords(torch.arange(10, 10 + len(listed)), letters))
    return found


@pytest.mark.parametrize("name", PARTS)
def test_a_copy_with_new_letters_reads_old_words_as_before(name: str) -> None:
    embedder, recipe = small_embedder(name)
    start = copied_start(embedder, recipe, NEW, "el")
    words = start.words.eval()
    old, new = embedder.tokenizer, start.tokenizer
    assert isinstance(old, CharacterTokenizer) and isinstance(new, CharacterTokenizer)
    listed = ["red", "dog", "house", "heather"]
    assert np.array_equal(old.alphabet.spell(listed, 16), new.alphabet.spell(listed, 16))
    assert torch.equal(vectors(old, embedder.model.text.words, listed), vectors(new, words, listed))
    assert new.alphabet.added and set(new.alphabet.added) == set("κόινοσυλίγάτα")
    greek = vectors(new, words, ["γάτα", "σκυλί", "κόκκινο"])
    assert torch.isfinite(greek).all() and (greek[0] - greek[1]).abs().max() > 1e-4
    # What the copy learns does not reach the model.
    before = {key: value.clone() for key, value in embedder.model.text.words.state_dict().items()}
    with torch.no_grad():
        for parameter in words.parameters():
            parameter.add_(1)
    after = embedder.model.text.words.state_dict()
    assert all(torch.equal(before[key], after[key]) for key in before)


def test_new_letters_leave_the_numbers_of_the_marks_free(tmp_path: Path) -> None:
    base = CharacterTokenizer(word_length=6)
    base.fit(TEXTS, ["en"] * 2)
    size = base.alphabet.size
    once = base.extended(["ab ж"], ["ru"])
    twice = once.extended(["ψ ж"], ["el"])
    assert once.alphabet.spell(["ж"], 1).item() == size + 2 == twice.alphabet.spell(["ж"], 1).item()
    assert twice.alphabet.spell(["ψ"], 1).item() == size + 3
    assert twice.vocabulary.letters == size + 4
    part = make_words(Part.model_validate({"name": "ngrams", **PARTS["ngrams"]}), twice.vocabulary)
    assert isinstance(part, HashedNgrams) and (part.before, part.after) == (size, size + 1)
    twice.save(tmp_path)
    loaded = CharacterTokenizer(word_length=6)
    loaded.load(tmp_path)
    assert loaded.vocabulary == twice.vocabulary
    assert np.array_equal(loaded.alphabet.spell(["aжψ"], 6), twice.alphabet.spell(["aжψ"], 6))


def test_ngrams_are_fitted_to_vectors() -> None:
    words = ["kniha", "knihy", "pes", "psi", "strom"]
    wanted = np.random.default_rng(0).normal(size=(5, 8)).astype(np.float32)
    edges = {START: np.full(8, 0.5, np.float32), END: np.full(8, -0.5, np.float32)}
    start = fresh_start(words, "cs", dim=8, scale=0.001)
    tokenizer = start.tokenizer
    assert isinstance(tokenizer, CharacterTokenizer)
    fit_ngrams(start, words, wanted, special=edges)
    assert np.abs(vectors(tokenizer, start.words, words).numpy() - wanted).max() < 0.05
    # A word that has no vector comes out nearer to those it looks like than to others.
    guess = vectors(tokenizer, start.words, ["knihou"]).numpy()[0]
    near = wanted[:2].mean(axis=0)
    assert guess @ near / np.linalg.norm(guess) / np.linalg.norm(near) > 0.5


def test_word_points_are_where_the_model_has_the_words() -> None:
    embedder, _ = small_embedder("ngrams")
    found = word_points(embedder, ["red", "house"], "en")
    tokenizer = embedder.tokenizer
    assert isinstance(tokenizer, CharacterTokenizer)
    expected = vectors(tokenizer, embedder.model.text.words, ["red", "house"]).numpy()
    np.testing.assert_allclose(found.table.values, expected, atol=1e-6)
    assert found.first.shape == (8,) and np.abs(found.first - found.last).max() > 1e-4


def test_batches_have_like_lengths_and_every_row_once() -> None:
    lengths = np.random.default_rng(0).integers(3, 40, 500)
    sampler = LengthSampler(lengths, size=32, steps=40)
    first, second = sampler.epoch(1, 0), sampler.epoch(1, 1)
    assert sampler.batch_count() == len(first) == 16
    assert sorted(np.concatenate(first).tolist()) == list(range(500))
    assert np.mean([np.ptp(lengths[rows]) for rows in first]) < 6
    assert [rows.tolist() for rows in first] != [rows.tolist() for rows in second]
    assert [rows.tolist() for rows in sampler.epoch(1, 1)] == [rows.tolist() for rows in second]
    few = LengthSampler(lengths, size=32, steps=3)
    assert few.batch_count() == 3
    assert [rows.tolist() for rows in few.epoch(1, 1)] == [rows.tolist() for rows in second[:3]]


def test_a_smaller_number_of_captions_is_part_of_a_larger(dataset: Path) -> None:
    opened = Dataset.open(dataset)
    few, more = (gather(opened, "el", ["en"], limit=limit, seed=3).learn for limit in (20, 30))
    assert len(few.texts) == 20 and len(more.texts) == 30
    assert set(zip(few.texts, few.groups, strict=True)) < set(zip(more.texts, more.groups, strict=True))
    for text, group in zip(more.texts, more.groups, strict=True):
        row = next(each for each in opened.rows if each.image == more.images[group])
        assert text in row.captions["el"] and row.split == "train"
        assert {lang for lang, _ in more.known[group]} == {"en"}

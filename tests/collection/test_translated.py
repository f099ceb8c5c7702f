"""A question in several languages: learned consistency against a naive loop, page by page, and what is refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lingvis.arrays import Floats
from lingvis.cli import main
from lingvis.collection.binding import describe
from lingvis.collection.collection import Collection
from lingvis.collection.query.translate import in_all_languages
from lingvis.collection.query.vectors import QueryVectors
from lingvis.collection.rerank.learned_consistency import rescored
from lingvis.collection.stores.records import Filter, Hit, Item
from lingvis.collection.stores.sqlite.store import SqliteStore
from lingvis.errors import UserError
from lingvis.evaluation.clc.learned import LearnedConsistency
from lingvis.model.embedder import Embedder
from lingvis.model.folder import CONSISTENCY
from lingvis.text.translators.contract import TRANSLATORS

from . import conftest
from .conftest import make_model, make_pictures
from .rows import make_item

LANGS = ("de", "fr", "en")  # an order of its own: the model has en, de, fr
ROWS, BLOCK = 450, 200
PHRASES = [
    {"en": "a red dog", "de": "ein roter Hund", "fr": "un chien rouge"},
    {"en": "the house", "de": "das Haus"},
]


class PhraseBook:
    """A translator that knows some phrases by heart, and lacks some pairs of languages."""

    def __init__(self, *lacking: tuple[str, str]) -> None:
        self.lacking = lacking

    def __call__(self, texts: Sequence[str], source: str, target: str) -> list[str]:
        if (source, target) in self.lacking:
            raise UserError(f"no pair {source}-{target}")
        known = {phrase[source]: phrase.get(target, "") for phrase in PHRASES if source in phrase}
        return [known.get(text, "") for text in texts]


def weights(langs: Sequence[str] = LANGS, seed: int = 0) -> LearnedConsistency:
    rng = np.random.default_rng(seed)
    hidden = rng.standard_normal((32, len(langs)), dtype=np.float32)
    return LearnedConsistency(langs, hidden, rng.standard_normal(32, dtype=np.float32))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of three languages, with a perceptron beside it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(conftest.WORDS, "fr", ["un chien rouge", "la maison"])
        made = make_model(tmp_path_factory.mktemp("models") / "three")
    weights().save(made)
    return made


@pytest.fixture(scope="module")
def items() -> list[Item]:
    """Rows with copies among them: 3 of every 50 have one vector."""
    made = [make_item(number) for number in range(ROWS)]
    return [
        replace(item, embedding=made[number - number % 50].embedding) if number % 50 < 3 else item
        for number, item in enumerate(made)
    ]


@pytest.fixture(scope="module")
def photos_lv(run: Path, items: list[Item], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("collections") / "photos.lv"
    store = SqliteStore.create(folder, describe(Embedder.load(run, device="cpu"), run))
    with store.writing():
        store.upsert(items)
    return folder


@pytest.fixture(scope="module")
def opened(photos_lv: Path) -> Collection:
    return Collection.open(photos_lv, device="cpu")


def unit(vector: Floats) -> Floats:
    return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)


def naive_score(learned: LearnedConsistency, scores: dict[str, float]) -> float:
    """One unit, one language at a time; the mean takes the place of a language that is not there."""
    mean = sum(scores.values()) / len(scores)
    total = 0.0
    for number in range(len(learned.out)):
        inside = 0.0
        for place, lang in enumerate(learned.languages):
            inside += float(learned.hidden[number, place]) * scores.get(lang, mean)
        total += float(learned.out[number]) * max(inside, 0.0)
    return total


def naive(
    items: Sequence[Item], asked: dict[str, Floats], learned: LearnedConsistency
) -> list[tuple[str, float]]:
    """(path, score) of everything: CLC-A in blocks, CLC-C within; asked: unit vectors by language."""
    together = np.mean(list(asked.values()), axis=0)
    order = sorted(items, key=lambda item: (-float(item.embedding @ together), item.info.path))
    found: list[tuple[str, float]] = []
    for start in range(0, len(order), BLOCK):
        block = [
            (
                item.info.path,
                naive_score(learned, {lang: float(item.embedding @ query) for lang, query in asked.items()}),
            )
            for item in order[start : start + BLOCK]
        ]
        found += sorted(block, key=lambda pair: (-round(pair[1], 5), pair[0]))
    return found


def vectors(opened: Collection, phrase: dict[str, str]) -> dict[str, Floats]:
    return {lang: unit(opened.model.encode_texts([text], lang)[0]) for lang, text in phrase.items() if text}


def test_encoding_uses_the_weight_the_language_and_the_translations(
    opened: Collection, tmp_path: Path
) -> None:
    (picture,) = make_pictures(tmp_path, 1)
    phrase = PHRASES[0]
    sentences = vectors(opened, phrase)
    shown = unit(opened.model.encode_images([picture])[0])
    mean = unit(np.mean(list(sentences.values()), axis=0))
    text, book = phrase["de"], PhraseBook()
    for options, expected in (
        ({"lang": "de"}, sentences["de"]),
        ({"lang": "de", "translator": book}, mean),
        ({"lang": "fr", "translator": book}, sentences["de"]),  # no such French sentence in the book
        ({"lang": "de", "image": picture, "weight": 0.2}, unit(0.2 * sentences["de"] + 0.8 * shown)),
        ({"lang": "de", "image": picture, "weight": 1.0}, sentences["de"]),
        ({"lang": "de", "image": picture, "weight": 0.7, "translator": book}, unit(0.7 * mean + 0.3 * shown)),
    ):
        np.testing.assert_allclose(opened.encode(text, **options), expected, atol=1e-5)
    for other in (mean, shown):
        assert np.abs(sentences["de"] - other).max() > 0.01
    with pytest.raises(UserError, match=r"weight must be between 0 .* got 1\.5"):
        opened.encode(text, image=picture, weight=1.5)
    with pytest.raises(UserError, match="ja"):
        opened.encode(text, lang="ja")


def assert_same(hits: Sequence[Hit], expected: Sequence[tuple[str, float]], first: int = 1) -> None:
    assert [hit.path for hit in hits] == [path for path, _ in expected]
    np.testing.assert_allclose([hit.score for hit in hits], [score for _, score in expected], atol=1e-4)
    assert [hit.rank for hit in hits] == list(range(first, first + len(hits)))


def by_id(items: Sequence[Item]) -> dict[str, Floats]:
    return {item.info.id: item.embedding for item in items}


def test_every_page_is_cut_from_one_order(opened: Collection, items: list[Item]) -> None:
    expected = naive(items, vectors(opened, PHRASES[0]), weights())

    def page(k: int, offset: int) -> list[Hit]:
        return opened.search(
            "a red dog", lang="en", translator=PhraseBook(), consistency="learned", k=k, offset=offset
        )

    for k, offset in [
        (10, 0),
        (7, 3),
        (200, 0),
        (10, 195),
        (1, 200),
        (5, 398),
        (450, 0),
        (1000, 7),
        (9, 445),
    ]:
        assert_same(page(k, offset), expected[offset : offset + k], offset + 1)
    assert page(10, 450) == page(10, 4000) == []
    leafed = [hit.id for offset in range(0, ROWS, 90) for hit in page(90, offset)]
    assert len(leafed) == len(set(leafed)) == ROWS
    mean = opened.search("a red dog", lang="en", translator=PhraseBook(), k=ROWS)
    assert {hit.id for hit in mean[:BLOCK]} == {hit.id for hit in page(BLOCK, 0)}
    assert [hit.id for hit in mean[:10]] != [hit.id for hit in page(10, 0)]


def test_a_perceptron_that_has_learnt_nothing_keeps_the_order_of_the_mean(
    opened: Collection, items: list[Item]
) -> None:
    mean = opened.search("a red dog", lang="en", translator=PhraseBook(), k=BLOCK)
    asked = vectors(opened, PHRASES[0])
    start = LearnedConsistency.start(LANGS)
    again = rescored(mean[::-1], by_id(items), asked, start)
    assert [hit.id for hit in again] == [hit.id for hit in mean]
    there = rescored(mean, by_id(items[:100]), asked, start)  # the others were deleted meanwhile
    assert {hit.id for hit in there} == {hit.id for hit in mean} & {item.info.id for item in items[:100]}
    assert rescored(mean, {}, asked, start) == []


def test_copies_of_a_picture_have_one_score_and_are_ordered_by_path(
    opened: Collection, items: list[Item]
) -> None:
    for number, count in enumerate(range(3, 60)):
        copies = [replace(item, embedding=items[number].embedding) for item in items[:count]]
        hits = [Hit(1, 0.0, item.info) for item in copies]
        found = rescored(hits, by_id(copies), vectors(opened, PHRASES[0]), weights(seed=number))
        assert len({hit.score for hit in found}) == 1
        assert [hit.path for hit in found] == sorted(item.info.path for item in copies)


def test_a_language_that_cannot_be_had_counts_as_the_mean_of_the_others(
    opened: Collection, items: list[Item]
) -> None:
    two = {lang: text for lang, text in PHRASES[0].items() if lang != "fr"}
    expected = naive(items, vectors(opened, two), weights())
    book = PhraseBook(("en", "fr"))
    assert_same(opened.search("a red dog", lang="en", translator=book, consistency="learned"), expected[:10])
    expected = naive(items, vectors(opened, PHRASES[1]), weights())  # the phrase has no French
    found = opened.search(
        "das Haus", lang="de", translator=PhraseBook(), consistency="learned", k=3, offset=2
    )
    assert_same(found, expected[2:5], 3)
    nothing = PhraseBook(("de", "en"), ("de", "fr"))
    with pytest.raises(UserError, match="no pair de-fr"):
        opened.search("das Haus", lang="de", translator=nothing, consistency="learned")


def test_filters_and_captions_hold_for_the_learnt_order(opened: Collection, items: list[Item]) -> None:
    asked = vectors(opened, PHRASES[0])
    how = {"lang": "en", "translator": PhraseBook(), "consistency": "learned", "k": ROWS}
    some = [item for item in items if item.info.format == "png"]
    assert_same(opened.search("a red dog", where=Filter(format="png"), **how), naive(some, asked, weights()))  # type: ignore[arg-type]
    noted = [
        replace(item, embedding=item.caption_embedding)
        for item in items
        if item.caption_embedding is not None
    ]
    assert_same(opened.search("a red dog", captions=True, **how), naive(noted, asked, weights()))  # type: ignore[arg-type]


def test_several_sentences_and_a_picture_in_each_language(
    opened: Collection, items: list[Item], tmp_path: Path
) -> None:
    first, second = (vectors(opened, phrase) for phrase in PHRASES)
    second["fr"] = (second["en"] + second["de"]) / np.float32(2)
    words = {lang: unit(first[lang] + second[lang]) for lang in LANGS}
    asked = QueryVectors([first, {lang: second[lang] for lang in ("en", "de")}]).by_language(LANGS)
    assert list(asked) == list(LANGS)
    for lang in LANGS:
        np.testing.assert_allclose(asked[lang], words[lang], atol=1e-6)
    picture = unit(items[0].embedding)
    both = QueryVectors([first], picture * 3, weight=0.3).by_language(["fr", "en", "es"])
    assert list(both) == ["fr", "en"]
    np.testing.assert_allclose(both["fr"], unit(0.3 * first["fr"] + 0.7 * picture), atol=1e-6)
    (path,) = make_pictures(tmp_path, 1)
    seen = unit(opened.model.encode_images([path])[0])
    hits = opened.search(
        ["a red dog", "the house"], image=path, weight=0.8, lang="en",
        translator=PhraseBook(), consistency="learned", k=BLOCK,
    )  # fmt: skip
    by_path = {item.info.path: item.embedding for item in items}
    for hit in hits[::20]:
        scores = {lang: float(by_path[hit.path] @ unit(0.8 * words[lang] + 0.2 * seen)) for lang in LANGS}
        assert hit.score == pytest.approx(naive_score(weights(), scores), abs=1e-4)


def test_a_question_is_asked_in_the_languages_that_can_be_had() -> None:
    langs = ["en", "de", "fr"]
    assert in_all_languages("ein roter Hund", "de", langs, PhraseBook()) == {
        "de": "ein roter Hund", "en": "a red dog", "fr": "un chien rouge",
    }  # fmt: skip
    assert in_all_languages("the house", "en", langs, PhraseBook(("en", "fr"))) == {
        "en": "the house", "de": "das Haus",
    }  # fmt: skip
    assert in_all_languages("hello", "en", langs, PhraseBook()) == {"en": "hello"}


def test_invalid_options_are_rejected(run: Path, photos_lv: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(run, tmp_path / "copy"))
    other = make_model(tmp_path / "other", text_seed=1)  # the image side is the same

    def ask(
        text: str | None = "a red dog", *, model: Path = copy, lang: str = "en", **more: object
    ) -> list[Hit]:
        how = {"translator": PhraseBook(), "consistency": "learned", "lang": lang, **more}
        return Collection.open(photos_lv, model=model, device="cpu").search(text, **how)  # type: ignore[arg-type]

    assert len(ask()) == 10
    with pytest.raises(UserError, match="unknown consistency 'median'; choose one of: learned, mean"):
        ask(consistency="median")
    with pytest.raises(UserError, match="so it needs a `translator`; name one"):
        ask(translator=None)
    with pytest.raises(UserError, match="offset must be at least 0, got -3"):
        ask(offset=-3)
    with pytest.raises(UserError, match="k must be at least 1, got -5"):
        ask(k=-5)
    (path,) = make_pictures(tmp_path, 1)
    with pytest.raises(UserError, match="there are no words"):
        ask(None, image=path)
    weights(["en", "de"]).save(copy)
    with pytest.raises(
        UserError, match=r"the query is in fr, but .* fitted for de, en; search in one of these"
    ):
        ask("un chien rouge", lang="fr")
    assert len(ask()) == 10
    shutil.copy(run / CONSISTENCY, other / CONSISTENCY)
    with pytest.raises(UserError, match=r"fitted for another model, .* lingvis evaluate .*other DATASET"):
        ask(model=other)
    (other / CONSISTENCY).unlink()
    with pytest.raises(UserError, match=r"has no consistency\.safetensors; make it with: lingvis evaluate "):
        ask(model=other)
    assert len(ask(model=other, consistency="mean")) == 10


def test_the_command_asks_in_the_learnt_way(
    photos_lv: Path, opened: Collection, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(TRANSLATORS, "_entries", dict(TRANSLATORS._entries))  # forgotten after the test
    TRANSLATORS.register("phrases", "some phrases by heart")(PhraseBook)
    question = ["search", str(photos_lv), "a red dog", "--lang", "en", "--consistency", "learned"]
    main([*question, "--translator", "phrases", "-k", "4", "--json"])
    hits = opened.search("a red dog", lang="en", translator=PhraseBook(), consistency="learned", k=4)
    assert json.loads(capsys.readouterr().out) == [hit.to_json() for hit in hits]
    with pytest.raises(SystemExit) as ended:
        main(question)
    assert ended.value.code == 2
    assert "so it needs a --translator; name one" in capsys.readouterr().err

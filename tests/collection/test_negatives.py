"""Terms to leave out: how they are written, and what they do to scores."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lingvis import Collection
from lingvis.cli import main
from lingvis.collection.query.negatives import split_negatives
from lingvis.collection.query.vectors import WITHOUT_SHARE
from lingvis.errors import UserError

from .conftest import make_pictures


@pytest.mark.parametrize(
    ("text", "rest", "terms"),
    [
        ("dog -beach", "dog", ["beach"]),
        ("-beach dog", "dog", ["beach"]),
        ("dog -beach -sea running", "dog running", ["beach", "sea"]),
        ('dog -"sandy beach" running', "dog running", ["sandy beach"]),
        ("Hund -„weißer Strand“ läuft", "Hund läuft", ["weißer Strand"]),
        ("chien -« plage de sable »", "chien", ["plage de sable"]),
        ("dog -beach, running", "dog running", ["beach"]),
        ("狗 －海滩", "狗", ["海滩"]),
        ("犬\u3000-「砂浜 海」", "犬", ["砂浜 海"]),
        ("كلب -شاطئ، يجري", "كلب يجري", ["شاطئ"]),
        ("ཁྱི -མཚོ", "ཁྱི", ["མཚོ"]),
        ("dog –beach", "dog", ["beach"]),
        ("dog −beach ‐sea ‑sand", "dog", ["beach", "sea", "sand"]),
        ("-beach", "", ["beach"]),
        ("a -t-shirt man", "a man", ["t-shirt"]),
    ],
)
def test_terms_with_a_minus(text: str, rest: str, terms: list[str]) -> None:
    assert split_negatives(text) == (rest, terms)


@pytest.mark.parametrize(
    "text",
    [
        "a well-known man in a t-shirt",
        "a man - a dog",
        "a man – a dog — a cat",
        "un perro —negro— corre",
        "-5 degrees  in winter",
        "2020-2024",
        '"dog -beach"',
        'the sign "no -dogs" at a door',
        "ラーメン ー",
        "semi- automatic",
        "--",
        "- ",
        "",
    ],
)
def test_what_is_no_minus(text: str) -> None:
    assert split_negatives(text) == (text, [])


def test_the_score_is_that_of_the_words_minus_half_of_each_term(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = make_pictures(tmp_path / "photos", 6)
    place = str(tmp_path / "photos.lv")
    photos = Collection.create(place, model, device="cpu")
    photos.add([tmp_path / "photos"])
    dog, beach, house = (photos.encode(text, lang="en") for text in ("red dog", "beach", "the house"))
    stored = photos.store.vectors([row.id for row in photos.store.files()])
    expected = {
        id: float(vector @ dog - WITHOUT_SHARE * (vector @ beach + vector @ house))
        for id, vector in stored.items()
    }
    hits = photos.search("red dog -beach", without=["the house", " "], lang="en", k=9)
    assert [hit.id for hit in hits] == sorted(expected, key=lambda id: -expected[id])
    np.testing.assert_allclose(
        [hit.score for hit in hits], sorted(expected.values(), reverse=True), atol=1e-3
    )
    same = photos.search("red dog", without=("beach", "the house"), lang="en", k=9)
    assert [(hit.id, hit.score) for hit in same] == [(hit.id, hit.score) for hit in hits]
    assert [h.id for h in photos.search("red dog", without="beach", lang="en", k=2, offset=2)] == [
        h.id for h in photos.search("red dog -beach", lang="en", k=9)[2:4]
    ]
    main(
        [
            "search",
            place,
            "red dog -beach",
            "--without",
            "the house",
            "--lang",
            "en",
            "--device",
            "cpu",
            "-k",
            "1",
        ]
    )
    assert capsys.readouterr().out.split() == ["1", f"{hits[0].score:.4f}", hits[0].path]
    with pytest.raises(UserError, match=r"only something to leave out \(beach\); add words or a picture"):
        photos.search("-beach", lang="en")
    with pytest.raises(UserError, match="nothing to search for; give words or a picture"):
        photos.search(" ")
    # A picture of the collection with words: its stored embedding, and without itself among the results.
    (own,) = [row.id for row in photos.store.files() if row.path == str(paths[2])]
    alike = photos.search(like=own, k=9)
    assert [h.id for h in alike] == [h.id for h in photos.similar(own, k=9)] and own not in [
        h.id for h in alike
    ]
    mixed = photos.search("red dog", like=own, without="beach", weight=0.3, lang="en", k=9)
    joined = 0.3 * dog + 0.7 * stored[own] / np.linalg.norm(stored[own])
    direction = joined / np.linalg.norm(joined) - WITHOUT_SHARE * beach
    order = sorted(stored.keys() - {own}, key=lambda id: -float(stored[id] @ direction))
    assert [hit.id for hit in mixed] == order and [hit.rank for hit in mixed] == [1, 2, 3, 4, 5]
    with pytest.raises(UserError, match="has no picture 'nothing'; take the id from a search"):
        photos.search(like="nothing")
    with pytest.raises(UserError, match="`image` and `like` are both pictures"):
        photos.search(like=own, image=paths[0])
    from lingvis.collection.rerank.second_model import SecondModel

    with pytest.raises(UserError, match=r"does not support `without` \(or a word with a minus\)"):
        photos.search("red dog -beach", lang="en", rerank=SecondModel.load(model, device="cpu"))

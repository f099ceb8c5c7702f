"""A language added later, on pictures and a collection on disk: what was indexed before answers in it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from lingvis.cli import main
from lingvis.collection.binding import same_captions
from lingvis.collection.collection import Collection
from lingvis.collection.stores.sqlite.store import SqliteStore
from lingvis.data.dataset import Dataset, write_rows
from lingvis.data.rows import Row
from lingvis.features.extract import extract
from lingvis.training.run import train

COLOURS = {
    "red": ("rot", "κόκκινο", (220, 20, 20)),
    "green": ("grün", "πράσινο", (20, 200, 20)),
    "blue": ("blau", "μπλε", (20, 40, 220)),
    "yellow": ("gelb", "κίτρινο", (230, 220, 20)),
}
SHADES = 8
SMALL = [
    'data.languages=["en","de"]',
    "data.text_only=false",
    "image.encoder.dim=32",
    "image.encoder.hidden=32",
    "text.encoder.dim=32",
    "text.words.dim=24",
    "text.words.buckets=2000",
    "training.sampling.text_only=0.0",
    "training.batch_size=16",
    "training.epochs=6",
    "training.precision=float32",
]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of pictures of one colour each, a model of English and German, and a collection that it filled."""
    place = tmp_path_factory.mktemp("add-language")
    folder = place / "data" / "images"
    folder.mkdir(parents=True)
    rows, pairs = [], []
    draws = np.random.default_rng(0)
    for colour, (german, greek, value) in COLOURS.items():
        for shade in range(SHADES):
            name = f"{colour}-{shade}.png"
            noise = draws.integers(-15, 16, (32, 32, 3)) + np.asarray(value)
            Image.fromarray(noise.clip(0, 255).astype(np.uint8)).save(folder / name)
            captions = {"en": [f"all {colour} {shade}"], "de": [f"ganz {german} {shade}"]}
            split = "val" if shade == 0 else "train"
            rows.append(
                Row.model_validate({"image": name, "split": split, "captions": captions}, strict=False)
            )
            found = {"en": f"all {colour} {shade}", "el": f"όλο {greek} {shade}"}
            pairs.append(json.dumps({"id": name, "parallel": found}, ensure_ascii=False))
            (folder / f"{colour}-{shade}.txt").write_text(f"all {colour}")
    write_rows(place / "data" / "captions.jsonl", rows)
    (place / "pairs").mkdir()
    (place / "pairs" / "text-only.jsonl").write_text("\n".join(pairs) + "\n", encoding="utf-8")
    extract(Dataset.open(place / "data"), kind="grid", device="cpu")
    train("lingvis_frozen", place / "data", place / "run", overrides=SMALL, device="cpu")
    Collection.create(place / "photos.lv", place / "run", device="cpu").add([folder])
    return place


@pytest.fixture(scope="module")
def added(place: Path) -> Path:
    """Greek, learnt from translations alone."""
    arguments = [str(place / "run"), "el", str(place / "pairs"), "--out", str(place / "run2")]
    main(["add-language", *arguments, "--device", "cpu"])
    return place / "run2"


def colours(hits: list[dict[str, str]]) -> list[str]:
    return [Path(hit["path"]).name.partition("-")[0] for hit in hits]


def test_a_collection_indexed_before_answers_in_the_new_language(
    place: Path, added: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    for colour, (_, greek, _) in COLOURS.items():
        # The language is told by its letters, among all that the model has.
        main(["search", str(place / "photos.lv"), f"όλο {greek}", "--model", str(added), "-k", "4", "--json"])
        assert colours(json.loads(capsys.readouterr().out)) == [colour] * 4
    with pytest.raises(SystemExit):
        main(["search", str(place / "photos.lv"), "μπλε", "--lang", "el"])
    assert "was not trained on language 'el'; choose one of: de, en" in capsys.readouterr().err


def test_captions_stay_valid_and_the_collection_goes_over(place: Path, added: Path) -> None:
    opened = Collection.open(place / "photos.lv", model=added, device="cpu")
    hits = opened.search("όλο μπλε", captions=True, k=4)
    assert colours([{"path": hit.path} for hit in hits]) == ["blue"] * 4
    store = SqliteStore(place / "photos.lv")
    ids = [row.id for row in store.files()]
    before = store.vectors(ids, captions=True)
    old = store.header
    report = Collection.open(place / "photos.lv", model=added, device="cpu").add([place / "data" / "images"])
    assert (report.added, report.updated, report.unchanged) == (0, 0, 4 * SHADES)
    store = SqliteStore(place / "photos.lv")
    assert (
        store.header.model == str(added.resolve()) and store.header.image_fingerprint == old.image_fingerprint
    )
    assert store.header.text_fingerprint.split(" ")[0] == old.text_fingerprint
    after = store.vectors(ids, captions=True)
    assert all(np.array_equal(before[id], after[id]) for id in ids)
    own = Collection.open(place / "photos.lv", device="cpu")  # by its own model, which is the new one
    assert own.language_of("όλο κόκκινο") == "el"
    # And back: the model that filled it still reads its captions.
    first = Collection.open(place / "photos.lv", model=place / "run", device="cpu")
    assert first.search("all red", captions=True, k=1)[0].path.endswith(".png")


def test_the_report_for_people_and_programs(
    place: Path, added: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    arguments = [
        "add-language",
        str(place / "run"),
        "el",
        str(place / "pairs"),
        "--device",
        "cpu",
        "--route",
        "distilled",
    ]
    main([*arguments, "--out", str(place / "told")])
    told = " ".join(capsys.readouterr().out.split())
    assert "existing collections and their captions stay valid" in told
    assert f'lingvis search COLLECTION "..." --model {place / "told"}' in told
    main([*arguments, "--out", str(place / "json"), "--json"])
    report = json.loads(capsys.readouterr().out)
    assert report["route"] == "distilled" and report["measured_on"] == "pair folds"
    assert report["after"] > report["before"]
    with pytest.raises(SystemExit) as caught:
        main([*arguments, "--out", str(place / "json")])
    assert caught.value.code == 2
    assert "--out exists already" in capsys.readouterr().err


def test_a_language_that_the_model_never_saw_is_measured_and_marked(
    place: Path, added: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`evaluate --lang` of a language without captions in training is zero-shot; once added it is not."""
    folder = place / "greek"
    folder.mkdir()
    for name in ("images", "features"):
        (folder / name).symlink_to(place / "data" / name)
    rows = []
    for row in Dataset.open(place / "data").rows:
        greek = COLOURS[row.image.partition("-")[0]][1]
        rows.append(row.model_copy(update={"captions": {"el": (f"όλο {greek} {row.image[-5]}",)}}))
    write_rows(folder / "captions.jsonl", rows)
    for run, marked in ((place / "run", True), (added, False)):
        capsys.readouterr()
        options = ["--split", "train", "--lang", "el", "--device", "cpu"]
        main(["evaluate", str(run), str(folder), *options, "--json"])
        assert json.loads(capsys.readouterr().out)["languages"]["el"]["zero_shot"] is marked
        main(["evaluate", str(run), str(folder), *options])
        assert ("zero-shot" in capsys.readouterr().out) is marked


@pytest.mark.parametrize(
    ("stored", "ours", "same"),
    [
        ("a", "a", True),
        ("a", "b", False),
        ("a", "a cs=1", True),
        ("a cs=1", "a", True),
        ("a cs=1", "a cs=1 el=2", True),
        ("a cs=1", "a cs=2", False),
        ("a cs=1 el=2", "a el=3", False),
        ("", "a cs=1", False),
    ],
)
def test_captions_are_good_for_models_that_differ_in_other_languages(
    stored: str, ours: str, same: bool
) -> None:
    assert same_captions(stored, ours) is same

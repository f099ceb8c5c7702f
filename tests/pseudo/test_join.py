"""Detections put together: what is kept, what is added, in which words."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from PIL import Image

from lingvis.cli import main
from lingvis.data.dataset import Dataset, write_rows
from lingvis.data.rows import Box, Region, Row, Split
from lingvis.errors import UserError
from lingvis.features.detect import detect
from lingvis.features.detectors import DetectorPicture
from lingvis.pseudo import pseudo_caption
from lingvis.pseudo.join import join, join_regions, with_general_name, words_in_use
from tests.text.hypernym_files import write_wordnet

LEFT, RIGHT = (0.0, 0.0, 10.0, 30.0), (30.0, 0.0, 40.0, 30.0)


def region(label: str | None, score: float | None, box: Box = LEFT) -> Region:
    return Region(box=box, label=label, score=score)


def said(regions: list[Region]) -> list[tuple[str | None, float | None]]:
    return [(each.label, each.score) for each in regions]


def test_others_add_what_is_not_named_yet() -> None:
    first = [region("dog", 0.5, RIGHT), region("dog", 0.9)]
    second = [region("Dog", 0.99), region("grass", 0.4), region("grass", 0.6, RIGHT), region("sky", None)]
    found = join_regions([first, second, [region("sky", 0.9), region("tree", 0.1)]])
    assert said(found) == [("dog", 0.9), ("dog", 0.5), ("sky", None), ("grass", 0.6), ("tree", 0.1)]
    assert found[3].box == RIGHT  # where it is surest


def test_a_general_name_joins_the_special_one() -> None:
    everyday = {"Saluki": "dog", "sports ball": "ball", "car": "car"}.__getitem__
    saluki = with_general_name(region("Saluki", 0.3), everyday)
    assert (saluki.label, saluki.attribute, saluki.score, saluki.box) == ("dog", "Saluki", 0.3, LEFT)
    brown = with_general_name(Region(box=LEFT, label="Saluki", attribute="brown"), everyday)
    assert pseudo_caption([brown]) == "brown Saluki dog"
    for same in (region("sports ball", 0.3), region("car", 0.2), region(None, 0.1), region("", 0.1)):
        assert with_general_name(same, everyday) == same


class Sees:
    """What a detector says of every picture."""

    side = 0

    def __init__(self, name: str, *labels: tuple[str, float]) -> None:
        self.name, self.labels = name, labels
        self.made_of: tuple[str, ...] = (name,)

    def detect(self, pictures: Sequence[DetectorPicture]) -> list[list[Region]]:
        return [[region(label, score) for label, score in self.labels] for _ in pictures]


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    folder = tmp_path / "data"
    (folder / "images").mkdir(parents=True)
    names = [f"{number:02}.jpg" for number in range(3)]
    for name in names:
        Image.new("RGB", (40, 30)).save(folder / "images" / name)
    write_rows(folder / "captions.jsonl", [Row(image=name, split="train") for name in names])
    made = Dataset.open(folder)
    detect(made, Sees("eyes", ("ball", 0.6)), name="regions")
    detect(made, Sees("tags", ("Saluki", 0.15), ("hound", 0.1), ("couch", 0.1)), name="global", score=0.05)
    (made.path / "text-only.jsonl").write_text(
        json.dumps({"id": "0", "captions": {"en": ["a dog and a dog", "the sofa"], "de": ["ein Saluki"]}})
    )
    return Dataset.open(made.path)


def test_joined_detections_are_stored(dataset: Dataset, tmp_path: Path) -> None:
    wordnet = write_wordnet(tmp_path / "wordnet")
    made = join(dataset, ["regions", "global"], name="both", wordnet=wordnet)
    assert made.labels == {"dog": 6, "ball": 3, "sofa": 3}
    assert (made.origin.detector, len(made.origin.made_of)) == ("joined with WordNet:regions/global", 4)
    rows = dataset.with_regions("both").rows
    assert [pseudo_caption(row.regions) for row in rows] == ["ball Saluki dog hound dog couch sofa"] * 3


def test_only_what_was_joined_of_the_same_is_replaced_unasked(dataset: Dataset, tmp_path: Path) -> None:
    wordnet = write_wordnet(tmp_path / "wordnet")
    join(dataset, ["regions", "global"], name="both", wordnet=wordnet)
    before = (dataset.detections_dir / "both/regions.jsonl").read_bytes()
    with pytest.raises(
        UserError, match=r"both holds detections of joined with WordNet:regions/global .* force"
    ):
        join(dataset, ["regions", "global"], name="both")
    with pytest.raises(UserError, match=r"at most 36 regions; choose another name"):
        join(dataset, ["regions", "global"], name="both", wordnet=wordnet, most=2)
    assert (dataset.detections_dir / "both/regions.jsonl").read_bytes() == before
    plain = join(dataset, ["regions", "global"], name="both", most=2, force=True)
    assert plain.labels == {"Saluki": 3, "ball": 3}
    detect(dataset, Sees("better", ("cat", 0.6)), name="regions", force=True)
    assert join(dataset, ["regions", "global"], name="both", most=2).labels == {"Saluki": 3, "cat": 3}


def test_other_words_in_use_and_another_wordnet_are_seen(dataset: Dataset, tmp_path: Path) -> None:
    wordnet = write_wordnet(tmp_path / "wordnet")
    assert "dog" in join(dataset, ["global"], name="both", wordnet=wordnet).labels
    sentence = {"id": "0", "captions": {"en": ["a carnivore on the couch"]}}
    (dataset.path / "text-only.jsonl").write_text(json.dumps(sentence))
    other = join(Dataset.open(dataset.path), ["global"], name="both", wordnet=wordnet)
    assert other.labels == {"carnivore": 6, "couch": 3}
    changed = (wordnet / "data.noun").read_text().replace("carnivore", "flesheater")
    (wordnet / "data.noun").write_text(changed)
    last = join(Dataset.open(dataset.path), ["global"], name="both", wordnet=wordnet)
    assert last.labels == {"Saluki": 3, "couch": 3, "hound": 3}


@pytest.mark.parametrize("general", [True, False])
def test_pictures_that_were_added_are_named_with_the_right_command(
    dataset: Dataset, tmp_path: Path, general: bool
) -> None:
    wordnet = write_wordnet(tmp_path / "wordnet") if general else None
    join(dataset, ["regions", "global"], name="both", wordnet=wordnet, most=5)
    (dataset.images_dir / "new.jpg").write_bytes((dataset.images_dir / "00.jpg").read_bytes())
    write_rows(dataset.path / "captions.jsonl", [*dataset.rows, Row(image="new.jpg", split="train")])
    more = Dataset.open(dataset.path)
    advice = rf"lingvis features join {dataset.path} regions global --name both --most 5"
    with pytest.raises(UserError, match=advice + (" --wordnet FOLDER$" if general else "$")):
        more.with_regions("both")
    with pytest.raises(UserError, match=r"features detect .* --detector DETECTOR --name global$"):
        more.with_regions("global")


def test_words_in_use_are_those_of_sentences_without_pictures(dataset: Dataset) -> None:
    assert words_in_use(dataset) == {"a": 2, "dog": 2, "and": 1, "the": 1, "sofa": 1}
    for others, used in (
        (50_000, {"dog": 50_000}),
        (49_999, {"dog": 49_999, "cat": 1}),
    ):  # at least one in 50,000
        sentence = {"id": "0", "captions": {"en": ["dog " * others + "cat"]}}
        (dataset.path / "text-only.jsonl").write_text(json.dumps(sentence))
        assert words_in_use(Dataset.open(dataset.path)) == used
    (dataset.path / "text-only.jsonl").unlink()
    captions: list[tuple[Split, tuple[str, ...]]] = [
        ("train", ("A red ball.",)),
        ("train", ()),
        ("val", ("a cat",)),
    ]
    rows = [
        Row(image=row.image, split=split, captions={"en": texts})
        for row, (split, texts) in zip(dataset.rows, captions, strict=True)
    ]
    write_rows(dataset.path / "captions.jsonl", rows)
    assert words_in_use(Dataset.open(dataset.path)) == {"a": 1, "red": 1, "ball": 1}


def test_what_cannot_be_joined_gets_a_sentence(dataset: Dataset, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no detections to join; name folders"):
        join(dataset, [], name="both")
    with pytest.raises(UserError, match="name is global, one of the detections to join"):
        join(dataset, ["regions", "global"], name="global")
    for name in ("global/", "../global", ""):
        with pytest.raises(UserError, match=f"bad name '{name}' for detections; use a plain folder name"):
            join(dataset, ["regions", name], name="global", force=True)
    with pytest.raises(UserError, match=r"no detections at .*nothing; make them with"):
        join(dataset, ["regions", "nothing"], name="both")
    (dataset.path / "text-only.jsonl").unlink()
    with pytest.raises(
        UserError, match=r"no English sentences .*; add some to text-only\.jsonl, or leave out"
    ):
        join(dataset, ["regions"], name="both", wordnet=write_wordnet(tmp_path / "wordnet"))
    assert not (dataset.detections_dir / "both").exists()


def test_the_command(dataset: Dataset, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["features", "join", str(dataset.path), "regions", "global", "--name", "both"]
    main(words)
    assert capsys.readouterr().out.splitlines() == [
        f"{dataset.path / 'detections/both'}: 12 regions in 3 pictures, none in 0 of them",
        "  4 labels: Saluki 3, ball 3, couch 3, hound 3",
    ]
    main([*words, "--json"])
    assert json.loads(capsys.readouterr().out)["labels"] == {"Saluki": 3, "ball": 3, "couch": 3, "hound": 3}
    with pytest.raises(SystemExit) as stopped:
        main([*words[:3], "--name", "both"])
    assert stopped.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1

"""s_g: tags of pictures against words of sentences."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lingvis.data.dataset import Dataset
from lingvis.errors import UserError
from lingvis.evaluation.evaluate import evaluate_models
from lingvis.text.lexicon.wordnet import WordNet
from studies.sparse.tag_model import TagModel, picture_tags

BOX = [0.0, 0.0, 4.0, 4.0]
TAGS = {
    "a.png": {"dog": 0.5, "sofa": 0.25},
    "b.png": {"fire truck": 0.75},
    "c.png": {},
}


@pytest.fixture
def wordnet(tmp_path: Path) -> WordNet:
    folder = tmp_path / "wordnet"
    folder.mkdir()
    lines = ["1 0 n 02 sofa 0 couch 0 000 | seat", "2 0 n 02 fire_engine 0 fire_truck 0 000 | red"]
    (folder / "data.noun").write_text("\n".join([*lines, "3 0 n 01 dog 0 000 | pet"]))
    (folder / "data.adj").write_text("4 0 a 01 red 0 000 | colour")
    for name in ("noun.exc", "adj.exc"):
        (folder / name).write_text("")
    return WordNet(folder)


def scores(model: TagModel, *texts: str) -> list[list[float]]:
    left, right = model.encode([*TAGS]), model.encode_texts(texts, ["en"] * len(texts))
    assert left.dtype == right.dtype == np.float32
    return model.scores(left, right).tolist()  # type: ignore[no-any-return]


def test_a_score_is_the_sum_over_the_tags_that_a_sentence_names() -> None:
    model = TagModel(TAGS)
    assert scores(model, "A DOG, a dog on a sofa.", "the Fire truck", "a truck on fire") == [
        [0.75, 0.0, 0.0],
        [0.0, 0.75, 0.0],
        [0.0, 0.0, 0.0],
    ]


def test_other_forms_and_synonyms_need_wordnet(wordnet: WordNet) -> None:
    texts = ("two dogs", "on the couch", "red fire engines")
    assert not np.any(scores(TagModel(TAGS), *texts))
    assert scores(TagModel(TAGS, wordnet), *texts) == [[0.5, 0.25, 0.0], [0.0, 0.0, 0.75], [0.0, 0.0, 0.0]]


def dataset(folder: Path, regions: list[list[dict[str, Any]]]) -> Dataset:
    """Test pictures with one caption each: `a red NUMBER`."""
    (folder / "images").mkdir(parents=True)
    lines = []
    for number, seen in enumerate(regions):
        name = f"{number}.png"
        (folder / "images" / name).touch()
        captions = {"en": [f"a red {number}"]}
        lines.append(json.dumps({"image": name, "split": "test", "captions": captions, "regions": seen}))
    (folder / "captions.jsonl").write_text("\n".join(lines))
    return Dataset.open(folder)


def test_tags_are_labels_and_attributes_with_their_highest_score(tmp_path: Path) -> None:
    regions: list[dict[str, Any]] = [
        {"box": BOX, "label": "traffic light", "attribute": "red", "score": 0.5},
        {"box": BOX, "label": "Traffic Light", "score": 0.25},
        {"box": BOX, "label": "car"},
        {"box": BOX, "score": 0.9},
    ]
    found = picture_tags(dataset(tmp_path / "data", [regions, []]))
    assert found == {"0.png": {"traffic light": 0.5, "red": 0.5, "car": 1.0}, "1.png": {}}


def test_missing_tags_are_reported(tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match="has no regions with labels; make them with: lingvis features detect"
    ):
        picture_tags(dataset(tmp_path / "data", [[], [{"box": BOX}]]))
    with pytest.raises(UserError, match=r"no detections at .*global; make them with: .* --name global"):
        picture_tags(Dataset.open(tmp_path / "data"), "global")


def test_the_evaluation_counts_its_ranks(tmp_path: Path) -> None:
    """Twelve pictures with one number each; one has no tag, so that it ties with all others and comes last."""
    seen = [[{"box": BOX, "label": str(number), "score": 0.5}] for number in range(11)]
    made = dataset(tmp_path / "data", [*seen, []])
    model = TagModel(picture_tags(made))
    found = evaluate_models([model], made, split="test", languages=["en"]).as_json()["languages"]["en"]
    assert found["t2i"]["R@1"] == found["t2i"]["R@10"] == pytest.approx(100 * 11 / 12)
    assert found["i2t"]["R@10"] == pytest.approx(100 * 11 / 12)
    assert found["t2i"]["mean"] == pytest.approx((11 * 1 + 12) / 12)

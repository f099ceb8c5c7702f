"""The run of the sparse-annotation study that learns nothing: s_g."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lingvis.data.detections import FILE, REGIONS
from lingvis.evaluation.evaluate import evaluate_models
from lingvis.files import checksum
from lingvis.text.lexicon.wordnet import WordNet
from lingvis.training.run import open_with_features
from studies.grid import Cell
from studies.records import Record
from studies.sparse.cells import RESULT, SparseSetting
from studies.sparse.methods import TAGS
from studies.sparse.tag_model import TagModel, picture_tags
from studies.sparse.ties import random_tie_recalls


@dataclass(frozen=True)
class TagCell(Cell):
    """s_g: it learns nothing, so there is one run."""

    study: ClassVar[str] = "sparse"

    setting: SparseSetting

    @property
    def name(self) -> str:
        """The name of its record."""
        return TAGS

    def conditions(self) -> Record:
        """Data, tags and WordNet."""
        setting = self.setting
        detections = setting.dataset / "detections" / (setting.tags or REGIONS) / FILE
        return {
            "method": TAGS,
            "images": 0.0,
            "per_image": 0,
            "pairs": 0,
            "seed": 0,
            "lang": setting.lang,
            "split": setting.split,
            "dataset_sha256": setting.dataset_sha256,
            "tags": setting.tags,
            "tags_sha256": checksum(detections) if detections.is_file() else "",
            "wordnet_sha256": setting.wordnet_sha256,
        }

    def measure(self) -> Record:
        """Evaluate once."""
        setting = self.setting
        dataset, _ = open_with_features(setting.dataset, setting.features)  # the pictures of all methods
        tags = picture_tags(dataset, setting.tags or None)
        wordnet = WordNet(setting.wordnet) if setting.wordnet is not None else None
        model = TagModel(tags, wordnet)
        report = evaluate_models([model], dataset, split=setting.split, languages=[setting.lang]).as_json()
        scores = report["languages"][setting.lang]
        captions = dataset.captions(setting.split, [setting.lang])
        matrix = model.scores(
            model.encode(captions.images), model.encode_texts(captions.texts, captions.langs)
        )
        return {
            "matching": "words and their synonyms in WordNet"
            if wordnet
            else "the same words, letter by letter",
            "different_tags": len({tag for of_picture in tags.values() for tag in of_picture}),
            "selection": f"nothing to select, {setting.split} once",
            "protocol": report["protocol"],
            "ties": report["ties"],
            "result": {key: scores[key] for key in RESULT},
            "random_ties": random_tie_recalls(matrix, np.asarray(captions.image_of)),
        }

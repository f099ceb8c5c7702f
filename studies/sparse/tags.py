"""The run of the sparse-annotation study that learns nothing: s_g."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lingvis
from lingvis.data.detections import FILE, REGIONS
from lingvis.evaluation.evaluate import evaluate_models
from lingvis.files import checksum, write_json
from lingvis.hardware import describe_hardware
from lingvis.text.lexicon.wordnet import WordNet
from lingvis.training.run import open_with_features
from studies.grid import stored_record
from studies.sparse.cells import RESULT, Setting
from studies.sparse.methods import TAGS
from studies.sparse.tag_model import TagModel, picture_tags


@dataclass(frozen=True, slots=True)
class TagCell:
    """s_g: nothing is learnt, so that there is one run."""

    setting: Setting

    @property
    def name(self) -> str:
        """The name of its record."""
        return TAGS

    @property
    def file(self) -> Path:
        """Its record."""
        return self.setting.out / "runs" / f"{TAGS}.json"

    def conditions(self) -> dict[str, Any]:
        """What a record must agree with."""
        setting = self.setting
        seen = setting.dataset / "detections" / (setting.tags or REGIONS) / FILE
        return {
            "method": TAGS,
            "images": 0.0,
            "per_image": 0,
            "pairs": 0,
            "seed": 0,
            "lang": setting.lang,
            "split": "test",
            "dataset_sha256": setting.dataset_sha256,
            "tags": setting.tags,
            "tags_sha256": checksum(seen) if seen.is_file() else "",
            "wordnet_sha256": setting.wordnet_sha256,
        }

    def record(self) -> dict[str, Any] | None:
        """The record of an earlier call."""
        return stored_record(self.file, self.conditions())

    def run(self) -> str:
        """Measure once on test, write the record."""
        setting = self.setting
        dataset, _ = open_with_features(setting.dataset, setting.features)  # the pictures of all methods
        tags = picture_tags(dataset, setting.tags or None)
        wordnet = WordNet(setting.wordnet) if setting.wordnet is not None else None
        report = evaluate_models(
            [TagModel(tags, wordnet)], dataset, split="test", languages=[setting.lang]
        ).as_json()
        found = report["languages"][setting.lang]
        matching = "words and their synonyms in WordNet" if wordnet else "the same words, letter by letter"
        record = {
            **self.conditions(),
            "matching": matching,
            "different_tags": len({tag for seen in tags.values() for tag in seen}),
            "selection": "nothing to select, test once",
            "protocol": report["protocol"],
            "result": {key: found[key] for key in RESULT},
            "lingvis": lingvis.__version__,
            "hardware": describe_hardware(),
        }
        write_json(self.file, record)
        return f"{TAGS}: test mR {found['mR']:.1f}, matching {matching}"

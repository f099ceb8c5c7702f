"""The runs of the transfer study: the values they are trained with, and their records."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from studies.grid import GridSetting, TrainedCell
from studies.records import Record
from studies.transfer.methods import FROM_SCRATCH, METHODS

SOURCE_RECIPE = "translator_fs"


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferSetting(GridSetting):
    """The values that all runs of a pair share.

    available: number of training captions in the target language; split: where the reported number is measured.
    """

    source: str
    target: str
    available: int
    split: str
    dictionary: Path

    @property
    def pair(self) -> str:
        """The name of the pair, such as de-fr."""
        return f"{self.source}-{self.target}"


@dataclass(frozen=True, slots=True)
class SourceRun:
    """The model in the source language that the runs of a seed start from."""

    setting: TransferSetting
    seed: int

    @property
    def name(self) -> str:
        """The name of its folder."""
        return f"source-{self.setting.source}-{self.seed}"

    @property
    def folder(self) -> Path:
        """Its model folder, which other pairs use too."""
        return self.setting.work / self.name

    def run(self) -> str:
        """Train it, unless that is done."""
        languages = f'data.languages=["{self.setting.source}"]'
        overrides = [*self.setting.overrides, languages, f"training.seed={self.seed}"]
        config = self.setting.trained(SOURCE_RECIPE, self.folder, overrides)
        return f"{self.name}: val mR {config.training.validation_mR:.1f}"


@dataclass(frozen=True)
class TransferCell(TrainedCell):
    """One point of the curve: a method with a number of captions (0: all) and a seed."""

    study: ClassVar[str] = "transfer"
    result_keys: ClassVar[tuple[str, ...]] = ("images", "captions", "i2t", "t2i", "mR", "rsum")

    setting: TransferSetting
    method: str
    size: int
    seed: int

    @property
    def name(self) -> str:
        """Pair, method, number of captions and seed."""
        return f"{self.setting.pair}/{self.method}-{self.size or 'all'}-{self.seed}"

    @property
    def lang(self) -> str:
        """The target language."""
        return self.setting.target

    @property
    def split(self) -> str:
        """Test, or val for a language without test captions."""
        return self.setting.split

    @property
    def recipe(self) -> str:
        """The recipe of its method."""
        return METHODS[self.method].recipe

    @property
    def starts_from_source(self) -> bool:
        """Whether it takes parts of the source model."""
        return self.method != FROM_SCRATCH

    def overrides(self) -> list[str]:
        """The values that its recipe is trained with."""
        setting = self.setting
        values = [
            *setting.overrides,
            *METHODS[self.method].overrides,
            f'data.languages=["{setting.target}"]',
            f"data.captions={self.size}",
            f"training.seed={self.seed}",
        ]
        if self.starts_from_source:
            values.append(f"start.run={json.dumps(str(SourceRun(setting, self.seed).folder))}")
        if self.recipe == "translator_t2":
            values.append(f"text.words.dictionary={json.dumps(str(setting.dictionary))}")
        return values

    def values(self) -> Record:
        """All values of the recipe; folders and files without their place."""
        values = super().values()
        values["start"]["run"] = Path(values["start"]["run"]).name
        words = values["text"]["words"]
        words |= {key: Path(words[key]).name for key in ("dictionary",) if key in words}
        return values

    def conditions(self) -> Record:
        """Pair, method, captions, seed and data."""
        setting = self.setting
        return {
            "source": setting.source,
            "target": setting.target,
            "method": self.method,
            "size": self.size,
            "learnt_from": self.size or setting.available,
            "seed": self.seed,
            "split": setting.split,
            "dataset_sha256": setting.dataset_sha256,
        }

"""The runs of the transfer benchmark: which there are, what each is trained with, and its record."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lingvis
from lingvis.evaluation.run import evaluate
from lingvis.files import write_json
from lingvis.hardware import describe_hardware
from lingvis.model.folder import ModelConfig
from lingvis.training.loop.log import read_log
from studies.grid import resolved, stored_record, trained

SOURCE_RECIPE = "translator_fs"
FROZEN_IMAGE = 'optimizer.factors={"text.words.vectors" = 0.0, "image" = 0.0}'


@dataclass(frozen=True, slots=True)
class Method:
    """A protocol: its recipe and values, and whether it takes anything from the source model."""

    label: str
    recipe: str
    overrides: tuple[str, ...] = ()
    takes: bool = True


METHODS = {
    "fs": Method("FS", "translator_fs", takes=False),
    "fs-image": Method(
        "FS + image side of the source", "translator_fs", ('start.parts=["image"]', FROZEN_IMAGE)
    ),
    "t1": Method("T1", "translator_t1"),
    "t2-procrustes": Method("T2, Procrustes", "translator_t2", ("text.words.map=procrustes",)),
    "t2-rcsls": Method("T2, RCSLS", "translator_t2", ("text.words.map=rcsls",)),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What all runs of a pair share.

    available: how many training captions the target has; split: where the number that counts is taken.
    """

    dataset: Path
    dataset_sha256: str
    source: str
    target: str
    available: int
    split: str
    overrides: tuple[str, ...]
    dictionary: Path
    out: Path
    work: Path
    device: str | None

    @property
    def pair(self) -> str:
        """The name of the pair's files."""
        return f"{self.source}-{self.target}"

    @property
    def records(self) -> Path:
        """The folder of the pair's records."""
        return self.out / self.pair

    def trained(self, recipe: str, folder: Path, overrides: list[str]) -> ModelConfig:
        """The configuration of a run's model, trained where it is not there yet."""
        return trained(
            recipe,
            self.dataset,
            folder,
            overrides=overrides,
            dataset_sha256=self.dataset_sha256,
            device=self.device,
        )


@dataclass(frozen=True, slots=True)
class SourceRun:
    """The model in the source language that a seed's runs begin with."""

    setting: Setting
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


@dataclass(frozen=True, slots=True)
class Cell:
    """One point of the curve: a method with so many captions (0: all) and a seed."""

    setting: Setting
    method: str
    size: int
    seed: int

    @property
    def name(self) -> str:
        """The name of its record."""
        return f"{self.method}-{self.size or 'all'}-{self.seed}"

    @property
    def file(self) -> Path:
        """Its record."""
        return self.setting.records / f"{self.name}.json"

    def overrides(self) -> list[str]:
        """The values that its recipe is trained with."""
        method, setting = METHODS[self.method], self.setting
        values = [*setting.overrides, *method.overrides, f'data.languages=["{setting.target}"]']
        values += [f"data.captions={self.size}", f"training.seed={self.seed}"]
        if method.takes:
            values.append(f"start.run={json.dumps(str(SourceRun(setting, self.seed).folder))}")
        if method.recipe == "translator_t2":
            values.append(f"text.words.dictionary={json.dumps(str(setting.dictionary))}")
        return values

    def conditions(self) -> dict[str, Any]:
        """What a record must agree with to be this cell's; folders are named, not located."""
        setting = self.setting
        recipe = resolved(METHODS[self.method].recipe, self.overrides())
        recipe["start"]["run"] = Path(recipe["start"]["run"]).name
        words = recipe["text"]["words"]
        words |= {key: Path(words[key]).name for key in ("dictionary",) if key in words}
        return {
            "source": setting.source,
            "target": setting.target,
            "method": self.method,
            "size": self.size,
            "learnt_from": self.size or setting.available,
            "seed": self.seed,
            "split": setting.split,
            "dataset_sha256": setting.dataset_sha256,
            "recipe": recipe,
        }

    def record(self) -> dict[str, Any] | None:
        """The record of an earlier call; one that was made under other conditions is refused."""
        return stored_record(self.file, self.conditions())

    def run(self) -> str:
        """Train, choose the epoch on val, measure once, write the record; the model is not kept."""
        setting = self.setting
        folder = setting.work / setting.pair / self.name
        config = setting.trained(METHODS[self.method].recipe, folder, self.overrides())
        report = evaluate(
            [folder], setting.dataset, split=setting.split, languages=[setting.target], device=setting.device
        ).as_json()
        epochs = [row for row in read_log(folder) if row["kind"] == "val"]
        found = report["languages"][setting.target]
        record = {
            **self.conditions(),
            "selection": f"epoch of best mR on val, then {setting.split} once",
            "protocol": report["protocol"],
            "result": {key: found[key] for key in ("images", "captions", "i2t", "t2i", "mR", "rsum")},
            "training": config.training.model_dump(),
            "parameters": config.parameters,
            "validation": [[row["epoch"], row["mR"]] for row in epochs],
            "lingvis": lingvis.__version__,
            "hardware": describe_hardware(),
        }
        write_json(self.file, record)
        shutil.rmtree(folder)
        return (
            f"{setting.pair} {self.name}: {setting.split} mR {found['mR']:.1f}, {config.training.seconds} s"
        )

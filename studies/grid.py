"""Grids of runs: what a run is trained with, how it resumes, and its record."""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from lingvis.errors import UserError
from lingvis.evaluation.run import evaluate
from lingvis.model.folder import CHECKPOINT, ModelConfig, is_model_folder
from lingvis.training.loop.log import read_log
from lingvis.training.run import train
from studies.recipe_values import describe, keep_shipped, resolved, same_values, selection, values_of
from studies.records import RUNS, Record, agrees, append, origin, read


@dataclass(frozen=True, slots=True, kw_only=True)
class GridSetting:
    """The values that all runs of a grid share. out: folder of the records; work: folder of the models."""

    dataset: Path
    dataset_sha256: str
    overrides: tuple[str, ...]
    out: Path
    work: Path
    device: str | None

    @property
    def file(self) -> Path:
        """The file of all records."""
        return self.out / RUNS

    def trained(self, recipe: str, folder: Path, overrides: Sequence[str]) -> ModelConfig:
        """The configuration of a run's model; trains or resumes it if needed."""
        if not is_model_folder(folder):
            resume = (folder / CHECKPOINT).exists()
            train(recipe, self.dataset, folder, overrides=overrides, resume=resume, device=self.device)
        config = ModelConfig.read(folder)
        same = same_values(config.recipe, resolved(recipe, overrides))
        if not same or config.dataset.sha256 != self.dataset_sha256:
            raise UserError(
                f"{folder} was trained with other data or values; choose another --work, or delete the folder"
            )
        return config


class Cell(ABC):
    """One run of a grid: measured once, found again by its name."""

    study: ClassVar[str]
    setting: GridSetting

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of its record and of its model folder."""

    @abstractmethod
    def conditions(self) -> Record:
        """The fields that a record must agree with to be this cell's."""

    @abstractmethod
    def measure(self) -> Record:
        """The other fields of its record."""

    def agrees(self, record: Record) -> bool:
        """Whether a record with its name was measured under its conditions."""
        return agrees(record, self.conditions())

    def run(self) -> str:
        """Measure and append the record."""
        record = {"name": self.name, "study": self.study, **self.conditions(), **self.measure(), **origin()}
        append(self.setting.file, record)
        return f"{self.name}: {record['split']} mR {record['result']['mR']:.1f}"


class TrainedCell(Cell):
    """A run that trains a recipe, selects the epoch on val and measures one split once."""

    result_keys: ClassVar[Sequence[str]]

    @property
    @abstractmethod
    def lang(self) -> str:
        """The language that is measured."""

    @property
    @abstractmethod
    def split(self) -> str:
        """The split that is measured once."""

    @property
    def keep(self) -> bool:
        """Whether the model stays after the measurement."""
        return False

    @property
    @abstractmethod
    def recipe(self) -> str:
        """The recipe that is trained."""

    @abstractmethod
    def overrides(self) -> list[str]:
        """The values that the recipe is trained with."""

    def values(self) -> Record:
        """All values of the recipe, as they are recorded."""
        return resolved(self.recipe, self.overrides())

    def agrees(self, record: Record) -> bool:
        """Also compares the values of the recipe."""
        return super().agrees(record) and same_values(values_of(record, self.setting.out), self.values())

    def measure(self) -> Record:
        """Train, then evaluate; the shipped recipe is stored beside the record."""
        setting = self.setting
        folder = setting.work / self.name
        config = setting.trained(self.recipe, folder, self.overrides())
        report = evaluate(
            [folder], setting.dataset, split=self.split, languages=[self.lang], device=setting.device
        ).as_json()
        scores = report["languages"][self.lang]
        keep_shipped(setting.out, self.recipe)
        return {
            **describe(self.recipe, self.values()),
            "selection": selection(config.recipe, self.split),
            "protocol": report["protocol"],
            "result": {key: scores[key] for key in self.result_keys},
            "training": config.training.model_dump(),
            "parameters": config.parameters,
            "validation": [[row["epoch"], row["mR"]] for row in read_log(folder) if row["kind"] == "val"],
        }

    def run(self) -> str:
        """Measure and append the record; the model is deleted unless `keep` is set."""
        line = super().run()
        if not self.keep:
            shutil.rmtree(self.setting.work / self.name)
        return line


def stored_records(cells: Sequence[Cell], file: Path) -> dict[str, Record]:
    """Records of earlier calls by the name of their cell; one measured under other conditions is rejected."""
    stored = {record["name"]: record for record in read(file)}
    records = {cell.name: stored[cell.name] for cell in cells if cell.name in stored}
    for cell in cells:
        if cell.name in records and not cell.agrees(records[cell.name]):
            raise UserError(
                f"record {cell.name} of {file} was measured with other data or values; choose another --out, "
                "or delete its line"
            )
    return records

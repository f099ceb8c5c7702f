"""The runs behind the tables: a variant and a seed each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lingvis.evaluation.pools import pools
from lingvis.evaluation.protocols import find_protocol
from lingvis.evaluation.report.coefficients import learned_coefficients
from lingvis.model.embedder import Embedder
from lingvis.model.stored import StoredImages
from lingvis.training.run import open_with_features
from studies.grid import GridSetting, TrainedCell
from studies.records import Record
from studies.retrieval_tables.methods import VARIANTS

STUDY = "retrieval-tables"


@dataclass(frozen=True)
class TableCell(TrainedCell):
    """One variant trained from one seed, in English."""

    study: ClassVar[str] = STUDY
    result_keys: ClassVar[tuple[str, ...]] = ("images", "captions", "i2t", "t2i", "mR", "rsum")

    setting: GridSetting
    variant: str
    seed: int

    @property
    def name(self) -> str:
        """Variant and seed."""
        return f"{self.variant}-{self.seed}"

    @property
    def lang(self) -> str:
        """English."""
        return "en"

    @property
    def split(self) -> str:
        """Test."""
        return "test"

    @property
    def recipe(self) -> str:
        """The recipe of its variant."""
        return VARIANTS[self.variant].recipe

    def overrides(self) -> list[str]:
        """The values of its variant, those of all runs, and the seed."""
        return [*VARIANTS[self.variant].overrides, *self.setting.overrides, f"training.seed={self.seed}"]

    def conditions(self) -> Record:
        """Variant, seed and data."""
        return {
            "row": self.variant,
            "seed": self.seed,
            "lang": self.lang,
            "split": self.split,
            "dataset_sha256": self.setting.dataset_sha256,
        }

    def measure(self) -> Record:
        """As for every trained cell, with the learned weights of pooling gpo."""
        record = super().measure()
        model = Embedder.load(self.setting.work / self.name, device="cpu")
        dataset, store = open_with_features(self.setting.dataset, model.features.name)
        measured = pools(dataset, find_protocol("all"), self.split, [self.lang])
        return record | {"coefficients": learned_coefficients(StoredImages(model, store), measured)}

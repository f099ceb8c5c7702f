"""The runs of the sparse-annotation study: which there are, what each is trained with, and its record."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lingvis
from lingvis.data.dataset import Dataset
from lingvis.data.sparse import draw_sparse
from lingvis.evaluation.run import evaluate
from lingvis.features.store import FeatureStore
from lingvis.files import write_json
from lingvis.hardware import describe_hardware
from lingvis.training.identity import run_identity
from lingvis.training.loop.log import read_log
from lingvis.training.validate import load_recipe
from studies.grid import resolved, stored_record, trained
from studies.sparse.methods import ALL

RESULT = ("images", "captions", "i2t", "t2i", "mR", "rsum", "chance")


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What all runs share.

    pairs: all training captions in `lang`. tags: the detections whose labels are s_g; empty: as in a recipe's
    pseudo.detections. wordnet: the folder of its files, with their checksum. keep: whether models stay in `work`.
    """

    dataset: Path
    dataset_sha256: str
    lang: str
    features: str
    pairs: int
    overrides: tuple[str, ...]
    tags: str
    wordnet: Path | None
    wordnet_sha256: str
    out: Path
    work: Path
    keep: bool
    device: str | None


@dataclass(frozen=True, slots=True)
class Annotation:
    """What a run learns from: a share of the images, so many captions each, drawn by a seed.

    sha256: of the drawn pairs, so that a record shows that all methods had the same.
    """

    share: float
    per_image: int
    seed: int
    pairs: int
    sha256: str

    @classmethod
    def draw(cls, dataset: Dataset, lang: str, share: float, per_image: int, seed: int) -> Annotation:
        """As training draws it."""
        whole = dataset.captions("train", [lang])
        drawn = draw_sparse(whole, images=share, per_image=per_image, seed=seed).captions
        lines = [
            f"{drawn.images[image]}\t{text}" for image, text in zip(drawn.image_of, drawn.texts, strict=True)
        ]
        digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
        return cls(share, per_image, seed, len(lines), digest)


@dataclass(frozen=True, slots=True)
class Cell:
    """One run: a method, or an ablation of A3VSE, with some annotation."""

    setting: Setting
    method: str
    annotation: Annotation
    identity: str = ""

    @property
    def name(self) -> str:
        """The name of its record and of its model folder."""
        drawn = self.annotation
        return f"{self.method}-{drawn.share:g}x{drawn.per_image or 'all'}-{drawn.seed}"

    @property
    def file(self) -> Path:
        """Its record."""
        return self.setting.out / "runs" / f"{self.name}.json"

    @property
    def recipe(self) -> str:
        """The recipe that is trained."""
        return ALL[self.method].recipe

    def overrides(self) -> list[str]:
        """The values that its recipe is trained with.

        Half the steps of all annotations make an epoch, however few there are (Huang et al. 2019, section 4.2).
        """
        setting, drawn = self.setting, self.annotation
        usual = [*setting.overrides, f"data.features={json.dumps(setting.features)}"]
        batch = load_recipe(self.recipe, usual).training.batch_size
        values = [f"training.sampling.least_steps={max(1, setting.pairs // (2 * batch))}", *usual]
        own = ALL[self.method].overrides
        values += [each.format(tags=json.dumps(setting.tags)) for each in own]
        if self.recipe == "a3vse" and drawn.share == 1:
            values.append("pseudo.weight=0")  # no picture is left without annotation
        values += [f'data.languages=["{setting.lang}"]', f"data.images={drawn.share}"]
        return [*values, f"data.per_image={drawn.per_image}", f"training.seed={drawn.seed}"]

    def with_identity(self, dataset: Dataset, store: FeatureStore) -> Cell:
        """The same with a digest of all that it is trained on."""
        identity = run_identity(load_recipe(self.recipe, self.overrides()), dataset, store)
        return Cell(self.setting, self.method, self.annotation, identity)

    def conditions(self) -> dict[str, Any]:
        """What a record must agree with to be this cell's."""
        drawn = self.annotation
        return {
            "method": self.method,
            "images": drawn.share,
            "per_image": drawn.per_image,
            "pairs": drawn.pairs,
            "seed": drawn.seed,
            "lang": self.setting.lang,
            "split": "test",
            "dataset_sha256": self.setting.dataset_sha256,
            "annotation_sha256": drawn.sha256,
            "identity": self.identity,
            "recipe": resolved(self.recipe, self.overrides()),
        }

    def record(self) -> dict[str, Any] | None:
        """The record of an earlier call."""
        return stored_record(self.file, self.conditions())

    def run(self) -> str:
        """Train, choose the epoch on val, measure once on test, write the record."""
        setting = self.setting
        folder = setting.work / self.name
        config = trained(
            self.recipe,
            setting.dataset,
            folder,
            overrides=self.overrides(),
            dataset_sha256=setting.dataset_sha256,
            device=setting.device,
        )
        report = evaluate(
            [folder], setting.dataset, split="test", languages=[setting.lang], device=setting.device
        ).as_json()
        found = report["languages"][setting.lang]
        record = {
            **self.conditions(),
            "selection": "epoch of best mR on val, then test once",
            "protocol": report["protocol"],
            "result": {key: found[key] for key in RESULT},
            "training": config.training.model_dump(),
            "parameters": config.parameters,
            "validation": [[row["epoch"], row["mR"]] for row in read_log(folder) if row["kind"] == "val"],
            "lingvis": lingvis.__version__,
            "hardware": describe_hardware(),
        }
        write_json(self.file, record)
        if not setting.keep:
            shutil.rmtree(folder)
        return f"{self.name}: test mR {found['mR']:.1f}, {config.training.seconds} s"

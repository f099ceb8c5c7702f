"""The runs of the sparse-annotation study: their annotation, the values they are trained with, and their records."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from lingvis.data.dataset import Dataset
from lingvis.data.sparse import draw_sparse
from lingvis.features.store import FeatureStore
from lingvis.training.identity import run_identity
from lingvis.training.validate import load_recipe
from studies.grid import GridSetting, TrainedCell
from studies.records import Record
from studies.sparse.methods import SYSTEMS, method_overrides, starts_from_another

RESULT = ("images", "captions", "i2t", "t2i", "mR", "rsum", "chance")
COPIED = 'start.parts=["image", "text"]'


@dataclass(frozen=True, slots=True, kw_only=True)
class SparseSetting(GridSetting):
    """The values that all runs share.

    split: where the reported number is measured. pairs: number of training captions in `lang`. tags: the detections
    whose labels s_g matches; empty: the regions of a recipe's pseudo.detections. wordnet: the folder of its files, with
    their checksum. keep: whether models stay in `work`.
    """

    lang: str
    split: str
    features: str
    pairs: int
    tags: str
    wordnet: Path | None
    wordnet_sha256: str
    keep: bool


@dataclass(frozen=True, slots=True)
class Annotation:
    """The captions that a run learns from: a share of the images, `per_image` captions each, drawn by a seed.

    sha256: of the drawn pairs, so that a record shows that all methods had the same.
    """

    share: float
    per_image: int
    seed: int
    pairs: int
    sha256: str

    @classmethod
    def draw(cls, dataset: Dataset, lang: str, share: float, per_image: int, seed: int) -> Annotation:
        """The annotation that training draws with the same values."""
        whole = dataset.captions("train", [lang])
        drawn = draw_sparse(whole, images=share, per_image=per_image, seed=seed).captions
        lines = [
            f"{drawn.images[image]}\t{text}" for image, text in zip(drawn.image_of, drawn.texts, strict=True)
        ]
        digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
        return cls(share, per_image, seed, len(lines), digest)


@dataclass(frozen=True)
class SparseCell(TrainedCell):
    """One run: a method, or an ablation or form of A3VSE, with some annotation.

    A method with a first training starts from its model, which is trained on the same annotation.
    """

    study: ClassVar[str] = "sparse"
    result_keys: ClassVar[tuple[str, ...]] = RESULT

    setting: SparseSetting
    method: str
    annotation: Annotation
    identity: str = ""

    @property
    def name(self) -> str:
        """Method, share of the images, captions per image and seed."""
        drawn = self.annotation
        return f"{self.method}-{drawn.share:g}x{drawn.per_image or 'all'}-{drawn.seed}"

    @property
    def lang(self) -> str:
        """The language of the captions."""
        return self.setting.lang

    @property
    def split(self) -> str:
        """Test, or val where forms are compared."""
        return self.setting.split

    @property
    def keep(self) -> bool:
        """Whether the model stays."""
        return self.setting.keep

    @property
    def recipe(self) -> str:
        """The recipe of its method."""
        return SYSTEMS[self.method].recipe

    @property
    def _first_folder(self) -> Path | None:
        """The folder of the first training; None without one."""
        started = starts_from_another(self.method, share=self.annotation.share)
        return self.setting.work / f"{self.name}-first" if started else None

    def overrides(self) -> list[str]:
        """The values that its recipe is trained with."""
        folder = self._first_folder
        start = [] if folder is None else [f"start.run={json.dumps(str(folder))}", COPIED]
        return [*self._given(), *start]

    def values(self) -> Record:
        """All values of the recipe; the model that it starts from without its place."""
        values = super().values()
        values["start"]["run"] = Path(values["start"]["run"]).name
        return values

    def _given(self) -> list[str]:
        """The values apart from the start.

        An epoch has half the steps of all annotations, however few there are (Huang et al. 2019, section 4.2).
        """
        setting, drawn = self.setting, self.annotation
        shared = [*setting.overrides, f"data.features={json.dumps(setting.features)}"]
        usual = method_overrides(self.method, shared, tags=setting.tags, share=drawn.share)
        batch = load_recipe(self.recipe, usual).training.batch_size
        values = [f"training.sampling.least_steps={max(1, setting.pairs // (2 * batch))}", *usual]
        values += [f'data.languages=["{setting.lang}"]', f"data.images={drawn.share}"]
        return [*values, f"data.per_image={drawn.per_image}", f"training.seed={drawn.seed}"]

    def with_identity(self, dataset: Dataset, store: FeatureStore) -> SparseCell:
        """The same cell with a digest of everything that it, or its first training, is trained on."""
        return replace(
            self, identity=run_identity(load_recipe(self.recipe, self._first_values()), dataset, store)
        )

    def _first_values(self) -> list[str]:
        """The values of its first training, or of its only one."""
        first = SYSTEMS[self.method].first if self._first_folder is not None else ()
        return [*self._given(), *first]

    def measure(self) -> Record:
        """Train what it starts from, if anything, then itself, and evaluate."""
        folder = self._first_folder
        if folder is None:
            return super().measure()
        first = self.setting.trained(self.recipe, folder, self._first_values())
        return {**super().measure(), "first_training": first.training.model_dump()}

    def run(self) -> str:
        """Measure and append the record; models are deleted unless `keep` is set."""
        line = super().run()
        if self._first_folder is not None and not self.keep:
            shutil.rmtree(self._first_folder)
        return line

    def conditions(self) -> Record:
        """Method, annotation, data and identity."""
        drawn = self.annotation
        first = {"first": list(SYSTEMS[self.method].first)} if self._first_folder is not None else {}
        return {
            "method": self.method,
            "images": drawn.share,
            "per_image": drawn.per_image,
            "pairs": drawn.pairs,
            "seed": drawn.seed,
            "lang": self.setting.lang,
            "split": self.split,
            "dataset_sha256": self.setting.dataset_sha256,
            "annotation_sha256": drawn.sha256,
            "identity": self.identity,
            **first,
        }

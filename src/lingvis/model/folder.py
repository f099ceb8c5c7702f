"""A model is a folder that describes itself: config.json, model.safetensors, the tokenizer's files, card.md."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from lingvis import __version__
from lingvis.data.rows import Language
from lingvis.errors import UserError
from lingvis.features.description import Features
from lingvis.files import write_json
from lingvis.printing import printable
from lingvis.recipes.schema import ModelRecipe, Part
from lingvis.strict import explain
from lingvis.untrusted import read_json

CONFIG, WEIGHTS, CARD = "config.json", "model.safetensors", "card.md"
CHECKPOINT = "checkpoint.safetensors"  # in the folder of a model whose training is not finished
FORMAT: Literal[2] = 2
TEXT_GRAPH, IMAGE_GRAPH = "text.onnx", "image.onnx"  # of an exported model
CONSISTENCY = "consistency.safetensors"  # learned CLC, for the weights beside it
ADDED = "added"  # folder of languages that were added later, one folder each
KNOWN_WORDS, CALIBRATION = "known-words.json.gz", "calibration.json"  # of `lingvis calibrate`, optional


class DatasetReference(BaseModel):
    """The dataset that a model was trained on: the name of its folder and the checksum of its captions."""

    model_config = ConfigDict(frozen=True)
    name: str = ""
    sha256: str = ""


class TrainingSummary(BaseModel):
    """How a model was trained; best_epoch and validation_mR belong to the weights that were kept.

    An untrained model, used to measure speed, has 0 steps.
    """

    model_config = ConfigDict(frozen=True)
    steps: int = 0
    seconds: float = 0.0
    best_epoch: int = 0
    validation_mR: float = 0.0  # noqa: N815 (the name of the measure, and of the key in the file)
    device: str = ""
    torch: str = ""


class ModelConfig(BaseModel):
    """config.json of a model folder.

    model: the sections that the model is built from; only these are used to load it. recipe: the whole recipe of
    the training, as a record. languages: of the joint training. added: languages added later, each in a separate
    folder. features: how the features of pictures are computed. parameters: numbers of values, see
    `DualEncoder.parameter_counts`, and of trained values. image_fingerprint: of the image side; a collection stores
    it too. text_fingerprint: of the text side, while the folder has graphs for this model.
    """

    model_config = ConfigDict(frozen=True)
    format: Literal[2] = FORMAT
    lingvis: str = __version__
    name: str = ""
    languages: list[str]
    added: list[Language] = []
    features: Features
    model: ModelRecipe
    recipe: dict[str, Any] = {}
    parameters: dict[str, int] = {}
    image_fingerprint: str = ""
    text_fingerprint: str = ""
    dataset: DatasetReference = DatasetReference()
    training: TrainingSummary = TrainingSummary()

    @classmethod
    def read(cls, folder: Path) -> ModelConfig:
        """Read the configuration of a model folder of this format or an earlier one."""
        file = _find_config(folder)
        with report_damage(str(file)):
            values = read_json(file)
            if not isinstance(values, dict):
                raise ValueError(f"expected an object, got {type(values).__name__}")
            version = values.get("format")
            if version == 1:
                values = _from_format_1(values)
            elif version != FORMAT:
                raise UserError(
                    f"{folder} has model format {version!r}, but this version of lingvis reads formats 1 to {FORMAT}; "
                    "upgrade lingvis"
                )
            return cls.model_validate(values)

    def write(self, folder: Path) -> None:
        """Write config.json."""
        write_json(folder / CONFIG, self.model_dump(mode="json"))


class AddedConfig(BaseModel):
    """config.json of an added language.

    like: the language of the model whose layers are shared, if the model has one layer per language.
    route, data, numbers: a record of the training, the data and the measurements.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    format: Literal[1] = 1
    lang: Language
    tokenizer: Part
    words: Part
    like: str
    route: str
    data: dict[str, Any]
    numbers: dict[str, Any]


def _from_format_1(values: dict[str, Any]) -> dict[str, Any]:
    """Convert format 1, in which only the recipe had the sections of the model."""
    recipe = values["recipe"]
    sections = {key: recipe[key] for key in ModelRecipe.model_fields if key in recipe}
    return {**values, "format": FORMAT, "model": sections}


def missing_graphs(folder: Path, config: ModelConfig) -> list[str]:
    """The graphs that a model folder lacks for use without torch; all of them if its weights changed after the export."""
    added = [f"{ADDED}/{lang}/{TEXT_GRAPH}" for lang in config.added]
    names = [TEXT_GRAPH, IMAGE_GRAPH, *added]
    return [name for name in names if not config.text_fingerprint or not (folder / name).is_file()]


def is_model_folder(folder: Path) -> bool:
    """Whether a folder holds a finished model."""
    return (folder / CONFIG).is_file()


def weights_checksum(folder: Path) -> str:
    """SHA-256 of the model's weights, or of an empty string without weights."""
    weights = folder / WEIGHTS
    return hashlib.sha256(weights.read_bytes() if weights.is_file() else b"").hexdigest()


def folder_bytes(folder: Path) -> int:
    """Bytes of all files of a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def copy_calibration(source: Path, target: Path) -> None:
    """Copy what `lingvis calibrate` wrote into a model folder, if anything, to a copy of the model."""
    for name in (KNOWN_WORDS, CALIBRATION):
        if (source / name).is_file():
            shutil.copyfile(source / name, target / name)


def read_card(run: Path) -> str:
    """The card of a model folder; empty if it has none."""
    file = run / CARD
    return file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""


def check_target(source: Path, target: Path, *, force: bool) -> None:
    """Raise if the copy would replace something that was not meant, or be inside its source."""
    if source.resolve() in (target.resolve(), *target.resolve().parents):
        raise UserError(
            f"`out`, {target}, is the model folder {source} or inside it; choose a folder outside it"
        )
    if target.exists() and not is_model_folder(target):
        raise UserError(f"`out` exists and holds no model: {target}; choose another folder")
    if target.exists() and not force:
        raise UserError(
            f"`out` exists already: {target}; choose another folder, or set `force` to replace it"
        )


@contextlib.contextmanager
def report_damage(what: str) -> Iterator[None]:
    """Report errors caused by a damaged file as a UserError of one sentence."""
    try:
        yield
    except (UserError, MemoryError, RuntimeError):
        raise
    except Exception as error:  # a library that is given wrong values can raise nearly anything
        if isinstance(error, ValidationError):
            problem = explain(error.errors()[0])
        elif isinstance(error, KeyError):
            problem = f"{error} is missing"
        else:
            problem = next(iter(str(error).splitlines()), type(error).__name__)
        raise UserError(
            f"{what} is damaged ({printable(problem)}); restore the file or train again"
        ) from error


def _find_config(folder: Path) -> Path:
    """config.json of a model folder; raises if there is none."""
    advice = f"train one with: lingvis train RECIPE DATASET --out {folder}"
    if not folder.is_dir():
        raise UserError(f"no model folder at {folder}; {advice}")
    if not is_model_folder(folder):
        if (folder / CHECKPOINT).is_file():
            advice = "finish it with: lingvis train ... --resume"
        raise UserError(f"{folder} holds no finished model ({CONFIG} is missing); {advice}")
    return folder / CONFIG

"""The recipe schema: one complete file that says how a model is built and trained."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError

from lingvis.bounds import Epoch


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Part(BaseModel):
    """A registered part by name, with the keyword arguments of its constructor."""

    model_config = ConfigDict(extra="allow", frozen=True)
    name: str

    @property
    def options(self) -> dict[str, Any]:
        """The constructor's keyword arguments."""
        return dict(self.model_extra or {})


class TermPart(Part):
    """A part of the loss beside the objective, with its weight; `objective` in it is a part in turn."""

    weight: Annotated[float, Field(ge=0, allow_inf_nan=False)]


def _each_once(names: list[str]) -> list[str]:
    if len(set(names)) < len(names):
        raise PydanticCustomError("repeated", "a language is named twice; name each once")
    return names


class DataSection(_Section):
    """What is learnt from.

    languages: [] = all of the dataset. features: the name of the stored features. vectors: the name of the stored
    word vectors, for parts that start from them. text_only: whether sentences without a picture take part.
    captions: learn from so many training captions only, drawn by training.seed; 0 = all. images and per_image: only
    this share of the training images is annotated, with so many captions each in a language (0 = all), drawn by
    training.seed; annotated: a file that names these images instead, one a line. annotated_languages: those whose
    captions are learnt from, [] = all; the others come by sentences without pictures and by captions of detectors,
    where these have a table of labels, and validation measures them all.
    """

    languages: Annotated[list[str], AfterValidator(_each_once)]
    features: str
    vectors: str = ""
    text_only: bool = False
    captions: Annotated[int, Field(ge=0)] = 0
    images: Annotated[float, Field(gt=0, le=1)] = 1.0
    per_image: Annotated[int, Field(ge=0)] = 0
    annotated: str = ""
    annotated_languages: Annotated[list[str], AfterValidator(_each_once)] = []


class PseudoSection(_Section):
    """Captions written from what detectors saw, for the training images that are not annotated (A3VSE).

    weight: their share of the objective, that of people's captions being the rest; 0: there are none. detections: the
    name of stored detections; empty: the regions of the dataset's rows, or detections/regions. objective: theirs.
    teachers: folders of trained models. Instead of captions by detectors a picture has the sentences without a picture
    (data.text_only) that these models find for it, and objective `distilled` asks for scores like theirs.
    """

    weight: Annotated[float, Field(ge=0, lt=1)] = 0.0
    detections: str = ""
    teachers: list[str] = []
    objective: Part = Part(name="none")


class StartSection(_Section):
    """A trained model to begin with.

    run: its folder. parts: prefixes of parameter names, such as "image" or "text.encoder", whose weights and
    buffers are taken from it; all others start as they do without it.
    """

    run: str = ""
    parts: list[str] = []


class ImageSection(_Section):
    """Stored vectors -> augment -> encoder -> pooling."""

    augment: Part
    encoder: Part
    pooling: Part


class TextSection(_Section):
    """Sentences -> tokenizer -> augment -> words -> encoder -> pooling -> head."""

    tokenizer: Part
    augment: Part
    words: Part
    encoder: Part
    pooling: Part
    head: Part


class OptimizerSection(_Section):
    """The optimiser; `factors` multiplies the learning rate of parameters by name prefix (0 freezes them)."""

    name: Literal["adam", "adamw"]
    lr: Annotated[float, Field(gt=0, le=1000)]
    weight_decay: Annotated[float, Field(ge=0, le=1)]
    factors: dict[str, Annotated[float, Field(ge=0)]] = {}


class ScheduleSection(_Section):
    """Learning rate over time; epochs count from 0.

    step: times `factor` from each epoch in `epochs` on. cosine: falls to zero. warmup_epochs: epochs in which
    the rate rises linearly from zero to what it would be.
    """

    name: Literal["step", "cosine"]
    epochs: list[Epoch] = []
    factor: Annotated[float, Field(gt=0, le=1)] = 0.1
    warmup_epochs: list[Epoch] = []


class TrainingSection(_Section):
    """The loop.

    sampling: which captions meet in a batch of `batch_size` captions or images. languages_apart: the objective
    is the sum over languages, each with its own captions as negatives, instead of one over all captions.
    graphs: replay recorded CUDA graphs on a GPU; parts that look at values on the host (transformers do) cannot
    be recorded. patience: stop after so many epochs in which validation did not become better; 0 = never.
    """

    epochs: Annotated[int, Field(gt=0)]
    patience: Annotated[int, Field(ge=0)] = 0
    batch_size: Annotated[int, Field(gt=1)]
    sampling: Part
    languages_apart: bool = False
    clip: Annotated[float, Field(ge=0)]
    precision: Literal["auto", "float32", "tf32", "bfloat16"]
    graphs: bool
    seed: Annotated[int, Field(ge=0, lt=2**63)]
    checkpoint_seconds: Annotated[float, Field(ge=0)]


class ModelRecipe(_Section):
    """The sections that a model is built from; a trained model needs no others."""

    image: ImageSection
    text: TextSection
    similarity: Part


class Recipe(ModelRecipe):
    """A paper, or an idea, as values: a model and how it is trained."""

    name: str
    summary: str
    source: str
    data: DataSection
    start: StartSection = StartSection()
    objective: Part
    pseudo: PseudoSection = PseudoSection()
    terms: dict[str, TermPart] = {}
    pretraining: Part = Part(name="none")
    optimizer: OptimizerSection
    schedule: ScheduleSection
    training: TrainingSection

    @property
    def model(self) -> ModelRecipe:
        """The sections that the model is built from, without the others."""
        return ModelRecipe(image=self.image, text=self.text, similarity=self.similarity)

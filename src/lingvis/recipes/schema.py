"""The recipe schema: one complete file describes how a model is built and trained."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError

from lingvis.bounds import Epoch


class _Section(BaseModel):
    """A table of a recipe; the text below each key is its description in generated documentation."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, use_attribute_docstrings=True)


class Part(BaseModel):
    """A registered part by name, with the keyword arguments of its constructor."""

    model_config = ConfigDict(extra="allow", frozen=True)
    name: str

    @property
    def options(self) -> dict[str, Any]:
        """The constructor's keyword arguments."""
        return dict(self.model_extra or {})


def _rising(epochs: list[int]) -> list[int]:
    if epochs and (len(epochs) != 2 or epochs[0] >= epochs[1]):
        raise PydanticCustomError(
            "rising",
            "give two epochs, the first below the second, such as [3, 6], or [] for a constant weight",
        )
    return epochs


class TermPart(Part):
    """A term of the loss with its weight; `objective` among its options is a part in turn.

    rises: two epochs, counted from the end of the plateau at the beginning of the training (0: the first one after it). The
    plateau ends with the first epoch whose mean matching loss is below 0.9 of that of a model that maps everything to one
    point. The weight is 0 before the first and `weight` from the second on, and rises by equal amounts at the beginning of
    each epoch in between; [] = `weight` from the beginning.
    """

    weight: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    rises: Annotated[list[Epoch], AfterValidator(_rising)] = []


def _each_once(names: list[str]) -> list[str]:
    if len(set(names)) < len(names):
        raise PydanticCustomError("repeated", "a language is repeated; name each once")
    return names


class DataSection(_Section):
    """The data that a model learns from."""

    languages: Annotated[list[str], AfterValidator(_each_once)]
    """Languages to train on; [] = all languages of the dataset."""
    features: str
    """Name of the stored features."""
    vectors: str = ""
    """Name of the stored word vectors, for word parts that start from them."""
    classes: bool = False
    """Whether to learn the names of the classes that image.classes recognises, in all languages that have them."""
    translated: bool = False
    """Whether machine translations (`lingvis data translate`) count as training captions, beside the human ones."""
    text_only: bool = False
    """Whether to use text-only sentences (sentences without a picture)."""
    captions: Annotated[int, Field(ge=0)] = 0
    """Number of training captions to learn from, drawn by training.seed; 0 = all."""
    images: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Share of the training images that are annotated, drawn by training.seed; the others have no captions."""
    per_image: Annotated[int, Field(ge=0)] = 0
    """Number of captions per language of an annotated image, drawn by training.seed; 0 = all."""
    annotated: str = ""
    """File that names the annotated images, one per line, instead of a share of them."""
    annotated_languages: Annotated[list[str], AfterValidator(_each_once)] = []
    """Languages with human captions in training; [] = all. The other languages are learnt from machine translations,
    from sentences without a picture and, where they have a table of labels, from pseudo captions; validation measures
    all languages."""


class StartSection(_Section):
    """A trained model to start from."""

    run: str = ""
    """Its model folder."""
    parts: list[str] = []
    """Prefixes of parameter names, such as "image" or "text.encoder", whose weights and buffers are copied from
    it; all others are initialised as usual."""


class ImageSection(_Section):
    """Stored values -> pixels -> backbone -> augment -> encoder -> pooling -> classes."""

    pixels: Part = Part(name="none")
    """Augmentation of stored pixels in training."""
    backbone: Part = Part(name="stored")
    """Stored values -> vectors: stored vectors as they are, or stored pixels through a network that is trained."""
    augment: Part
    """Augmentation of the sets of vectors in training."""
    encoder: Part
    """Stored vectors -> vectors of the joint space."""
    pooling: Part
    """The vectors of a picture -> one vector."""
    classes: Part = Part(name="none")
    """Whether the classes of the pre-trained backbone are a part of the vector."""


class TextSection(_Section):
    """Sentences -> tokenizer -> augment -> words -> encoder -> pooling -> head."""

    tokenizer: Part
    """Sentences -> token ids."""
    augment: Part
    """Augmentation of the words in training."""
    words: Part
    """Token ids -> word vectors without context."""
    encoder: Part
    """Word vectors -> vectors in context."""
    pooling: Part
    """The vectors of a sentence -> one vector."""
    head: Part
    """The pooled vector -> the joint space."""


class OptimizerSection(_Section):
    """The optimiser."""

    name: Literal["adam", "adamw"]
    """Adam, or Adam with decoupled weight decay."""
    lr: Annotated[float, Field(gt=0, le=1000)]
    """Learning rate before the schedule."""
    weight_decay: Annotated[float, Field(ge=0, le=1)]
    """Decay of the weights per step, as the optimiser applies it."""
    factors: dict[str, Annotated[float, Field(ge=0)]] = {}
    """Multipliers of the learning rate by prefix of parameter names; 0 freezes the parameters."""
    frozen_epochs: dict[str, Annotated[int, Field(ge=0)]] = {}
    """Number of first epochs in which parameters stay frozen, by prefix of their names."""


class ScheduleSection(_Section):
    """The learning rate over time; epochs count from 0."""

    name: Literal["step", "cosine"]
    """step: multiplied by `factor` from each epoch in `epochs` on. cosine: falls to `last`."""
    epochs: list[Epoch] = []
    """Epochs at which schedule `step` changes the rate."""
    factor: Annotated[float, Field(gt=0, le=1)] = 0.1
    """Multiplier of schedule `step`."""
    last: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Share of the rate that schedule `cosine` ends with. A moving average of the weights needs no rate of zero."""
    warmup_epochs: list[Epoch] = []
    """Epochs in which the rate rises linearly from zero to its value."""


class TrainingSection(_Section):
    """The training loop."""

    epochs: Annotated[int, Field(gt=0)]
    """Number of epochs."""
    patience: Annotated[int, Field(ge=0)] = 0
    """Stop after this number of epochs without a better validation; 0 = never."""
    batch_size: Annotated[int, Field(gt=1)]
    """Captions or images per batch, depending on the sampling."""
    sampling: Part
    """Which captions form a batch."""
    average: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Decay per step of the moving average of the weights, which is validated and kept; 0 = the weights themselves."""
    selection_epochs: Annotated[int, Field(gt=0)] = 1
    """Number of last epochs whose mean validation selects the epoch to keep; 1 = the validation of each epoch alone."""
    chunk: Annotated[int, Field(ge=0)] = 0
    """Most sentences and pictures to encode at once, for batches that do not fit into memory; 0 = the whole batch. Each
    chunk is encoded twice; the loss and the gradients are those of the whole batch."""
    clip: Annotated[float, Field(ge=0)]
    """Largest norm of the gradient; 0 = no limit."""
    precision: Literal["auto", "float32", "tf32", "bfloat16"]
    """Number type of the computation; auto: bfloat16 where the GPU supports it, float32 elsewhere."""
    graphs: bool
    """Whether to replay recorded CUDA graphs on a GPU; parts that read values on the host, such as
    transformers, and trained backbones cannot be recorded."""
    seed: Annotated[int, Field(ge=0, lt=2**63)]
    """Seed of all random numbers."""
    checkpoint_seconds: Annotated[float, Field(ge=0)]
    """Seconds between two checkpoints."""


class ModelRecipe(_Section):
    """The sections that a model is built from; loading a trained model reads only these."""

    image: ImageSection
    text: TextSection
    similarity: Part
    """Embeddings of both sides -> scores."""


class Recipe(ModelRecipe):
    """A paper, or an idea, as values: a model and how it is trained."""

    name: str
    """The name that `lingvis train` takes."""
    summary: str
    """One line for lists of recipes."""
    source: str
    """The paper or project that the values come from."""
    data: DataSection
    start: StartSection = StartSection()
    pseudo: Part = Part(name="none")
    """Source of pseudo captions, for training pictures without human captions (A3VSE)."""
    teacher: Part = Part(name="none")
    """The trained text side whose sentence embeddings the terms teacher_distance and teacher_matching imitate."""
    terms: dict[str, TermPart]
    """Terms of the loss by name; their weighted sum is minimised."""
    pretraining: Part = Part(name="none")
    """Training of the words before the model."""
    optimizer: OptimizerSection
    schedule: ScheduleSection
    training: TrainingSection

    @property
    def model(self) -> ModelRecipe:
        """Only the sections that the model is built from."""
        return ModelRecipe(image=self.image, text=self.text, similarity=self.similarity)

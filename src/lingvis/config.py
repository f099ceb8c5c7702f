"""The recipe schema: one complete file that says how a model is built and trained."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, get_type_hints

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic_core import PydanticCustomError

from lingvis.errors import UserError
from lingvis.registry import Registry

# Sections that are parts or consist of them.
PARTS = ("image", "text", "similarity", "objective", "pseudo", "terms", "pretraining")


# Bounds for the constructor arguments of parts, checked when a recipe is read.
Count = Annotated[int, Field(gt=0, le=1_000_000)]
Share = Annotated[float, Field(ge=0, le=1)]
Epoch = Annotated[int, Field(ge=0)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


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


class Recipe(_Section):
    """A paper, or an idea, as values."""

    name: str
    summary: str
    source: str
    data: DataSection
    start: StartSection = StartSection()
    image: ImageSection
    text: TextSection
    similarity: Part
    objective: Part
    pseudo: PseudoSection = PseudoSection()
    terms: dict[str, TermPart] = {}
    pretraining: Part = Part(name="none")
    optimizer: OptimizerSection
    schedule: ScheduleSection
    training: TrainingSection


def parse_recipe(
    text: str,
    overrides: Sequence[str] = (),
    *,
    origin: str = "recipe",
    check: Callable[[Mapping[str, Any]], list[str]] = lambda values: [],
) -> Recipe:
    """TOML text and `section.key=value` overrides -> a recipe; every problem is reported at once.

    `check` looks at the values too: it knows the registered parts, which belong to later stages.
    """
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{origin} is not valid TOML: {error}") from error
    # Another part first, then its options, in whatever order they were given.
    for override in sorted(overrides, key=lambda each: not each.partition("=")[0].strip().endswith(".name")):
        _apply(values, override)
    problems = []
    try:
        recipe = Recipe.model_validate(values)
    except ValidationError as error:
        problems = [explain(item) for item in error.errors()]
    problems += check(values)
    if len(problems) == 1:
        raise UserError(f"{origin}: {problems[0]}")
    if problems:
        listed = "\n".join(f"  {problem}" for problem in problems)
        raise UserError(f"{origin} has {len(problems)} problems:\n{listed}")
    return recipe


def explain(problem: Any) -> str:
    """A pydantic error as a clause: where, what is wrong, what was got."""
    where = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "missing":
        return f"{where} is missing"
    if problem["type"] == "extra_forbidden":
        return f"unknown key {where}"
    message = problem["msg"]
    return f"{where}: {message[0].lower()}{message[1:]}, got {problem['input']!r}"


def lookup(values: Mapping[str, Any], where: str) -> Any:
    """The value at a dotted path of nested tables, None where there is none."""
    found: Any = values
    for key in where.split("."):
        found = found.get(key) if isinstance(found, dict) else None
    return found


def part_problems(
    where: str,
    values: Mapping[str, Any],
    registry: Registry[Any],
    *,
    provided: Sequence[str] = (),
    ignored: Sequence[str] = (),
) -> list[str]:
    """Check the part at `where` against the registered constructor; `provided` arguments come from the builder,
    and `ignored` keys are not the constructor's.

    A part that is missing or has no name is the schema's to report.
    """
    found = lookup(values, where)
    if not isinstance(found, dict) or not isinstance(found.get("name"), str):
        return []
    part = Part(**{key: value for key, value in found.items() if key not in ignored})
    if part.name not in registry:
        return [
            f"{where}: unknown {registry.kind} {part.name!r}; choose one of: {', '.join(registry.names())}"
        ]
    model = _options_model(registry.get(part.name), frozenset(provided))
    try:
        model.model_validate(part.options)
    except ValidationError as error:
        problems = []
        for item in error.errors():
            item["loc"] = (where, *item["loc"])
            allowed = f"; allowed: {', '.join(model.model_fields) or 'none'}"
            problems.append(explain(item) + (allowed if item["type"] == "extra_forbidden" else ""))
        return problems
    return []


def _options_model(factory: Callable[..., object], provided: frozenset[str]) -> type[BaseModel]:
    """A pydantic model of a constructor's keyword arguments."""
    target = factory.__init__ if inspect.isclass(factory) else factory
    hints = get_type_hints(target, include_extras=True)
    fields: dict[str, Any] = {}
    for name, parameter in inspect.signature(factory).parameters.items():
        if name in provided or parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
            continue
        default = ... if parameter.default is inspect.Parameter.empty else parameter.default
        fields[name] = (hints[name], default)
    return create_model(
        "Options", __config__=ConfigDict(extra="forbid", strict=True, protected_namespaces=()), **fields
    )


def accepted(factory: Callable[..., object], values: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the builder's values that a constructor asks for."""
    parameters = inspect.signature(factory).parameters
    return {name: value for name, value in values.items() if name in parameters}


def _apply(values: dict[str, Any], override: str) -> None:
    key, sign, text = override.partition("=")
    path = key.strip().split(".")
    if not sign or not all(path):
        raise UserError(
            f"override {override!r} is not of the form section.key=value, such as training.epochs=5"
        )
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text.strip()
    target = values
    for name in path[:-1]:
        target = target.setdefault(name, {})
        if not isinstance(target, dict):
            raise UserError(
                f"override {override!r}: {name} is a value, not a section; see `lingvis recipes show`"
            )
    is_part = path[0] in PARTS or path[:2] == ["training", "sampling"]
    if is_part and path[-1] == "name" and target.get("name") != value:
        target.clear()  # another part has other options
    target[path[-1]] = value

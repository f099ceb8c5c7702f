"""A trained model in use: sentences and pictures in, embeddings out. It reads nothing but its folder."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import BaseModel, ValidationError

from lingvis.artifact import CONFIG, read_config, read_tensors
from lingvis.config import Recipe, explain
from lingvis.data.rows import Box
from lingvis.device import choose_device
from lingvis.errors import UserError
from lingvis.features.backbones import Backbone, load_backbone
from lingvis.features.description import Features
from lingvis.features.encode import POOLED, PictureEncoder, encode_pictures
from lingvis.image.table import FeatureTable
from lingvis.model import DualEncoder
from lingvis.recipes.build import build_model, build_tokenizer
from lingvis.recipes.check import parts_problems
from lingvis.text.bank import TokenBank
from lingvis.text.tokenizers import Tokenizer

Floats = NDArray[np.float32]
BATCH = 256


class _Config(BaseModel):
    """The part of config.json that a model is built from."""

    recipe: Recipe
    features: Features
    languages: list[str]


class Embedder:
    """A dual encoder with its tokenizer and the description of the features it was trained on."""

    def __init__(
        self,
        *,
        name: str,
        model: DualEncoder,
        tokenizer: Tokenizer,
        features: Mapping[str, Any],
        languages: Sequence[str],
        device: torch.device,
    ) -> None:
        self.name, self.model, self.tokenizer = name, model, tokenizer
        self.features, self.languages, self.device = dict(features), list(languages), device
        self._backbone: Backbone | None = None

    @classmethod
    def load(cls, run: Path | str, *, device: str | None = None) -> Embedder:
        """Load a model folder strictly: a weight too many or too few is an error."""
        run, where = Path(run), choose_device(device)
        with _damage_told(str(run / CONFIG)):
            config = _Config.model_validate(read_config(run))
            problems = parts_problems(config.recipe.model_dump())
            if problems:
                raise ValueError("; ".join(problems))
            tokenizer = build_tokenizer(config.recipe)
        with _damage_told(f"the tokenizer in {run}"):
            tokenizer.load(run)
        with _damage_told(str(run / CONFIG)):
            model = build_model(
                config.recipe,
                feature_dim=config.features.dim,
                vocabulary=tokenizer.vocabulary,
                languages=len(config.languages),
                folder=run,
            )
        try:
            model.load_state_dict(read_tensors(run), strict=True)
        except RuntimeError as error:
            raise UserError(
                f"the weights in {run} do not fit its config.json: {str(error).splitlines()[-1].strip()}"
            ) from error
        return cls(
            name=run.resolve().name,
            model=model.to(where).eval(),
            tokenizer=tokenizer,
            features=config.features.model_dump(mode="json"),
            languages=config.languages,
            device=where,
        )

    @property
    def parameters(self) -> dict[str, int]:
        """Numbers of values, see `DualEncoder.parameter_counts`."""
        return self.model.parameter_counts()

    @property
    def dim(self) -> int:
        """Length of an embedding."""
        return int(self.model.image.encoder.dim)  # type: ignore[arg-type]

    @property
    def inner_product(self) -> bool:
        """Whether the score of a picture and a sentence is the inner product of their embeddings."""
        return bool(self.model.similarity.indexable)

    @property
    def backbone(self) -> Backbone:
        """What turns pictures into the features the model was trained on, loaded when first asked for."""
        if self._backbone is None:
            backbone = load_backbone(self.features["backbone"], device=str(self.device))
            kind, regions = self.features["kind"], self.features["regions"] or POOLED
            now = PictureEncoder(backbone, kind=kind, regions=regions).preprocessing
            known = Features.model_validate(self.features).preprocessing
            if known not in (None, now):
                raise UserError(
                    f"backbone {backbone.name} prepares pictures in another way than when model {self.name} was "
                    "trained; install the version of its package that the features were extracted with"
                )
            self._backbone = backbone
        return self._backbone

    def encode_texts(self, texts: Sequence[str], lang: str | Sequence[str]) -> Floats:
        """Sentences in one language, or each in its own -> float32 [texts, dim]."""
        if isinstance(texts, str):
            raise UserError(
                f"expected a list of sentences, got the one sentence {texts!r}; write [{texts!r}]"
            )
        langs = [lang] * len(texts) if isinstance(lang, str) else list(lang)
        if len(langs) != len(texts):
            raise UserError(
                f"got {len(langs)} languages for {len(texts)} sentences; give one for each, or one for all"
            )
        if not texts:
            return np.zeros((0, self.dim), np.float32)
        bank = TokenBank(
            tokenizer=self.tokenizer, texts=texts, langs=langs, languages=self.languages, device=self.device
        )
        # Like lengths together, so that little is padded; parts with a layer a language want that together first.
        apart = bank.langs if self.tokenizer.vocabulary.blocks else np.zeros_like(bank.langs)
        order = np.lexsort((bank.rows.lengths, apart))
        return self._in_batches(order, lambda rows: self.model.encode_texts(bank.batch(rows)))

    def encode_images(
        self, paths: Sequence[Path | str], *, boxes: Sequence[Sequence[Box]] | None = None
    ) -> Floats:
        """Picture files -> float32 [pictures, dim], through the backbone the model was trained on.

        boxes: for a model of regions, those of each picture in pixels; without them the whole picture is one.
        """
        if isinstance(paths, str | Path):
            raise UserError(f"expected a list of picture files, got {str(paths)!r}; write [{str(paths)!r}]")
        files = [Path(path) for path in paths]
        kind, regions = self.features["kind"], self.features["regions"] or POOLED
        return self.encode_features(
            list(encode_pictures(files, self.backbone, kind, regions=regions, boxes=boxes))
        )

    def encode_features(self, sets: Sequence[NDArray[np.float16]]) -> Floats:
        """Feature sets [size, feature_dim] -> float32 [sets, dim]."""
        if not sets:
            return np.zeros((0, self.dim), np.float32)
        offsets = np.concatenate([[0], np.cumsum([len(each) for each in sets])]).astype(np.int64)
        rows = np.arange(len(sets))
        values = np.concatenate(sets).astype(np.float16)
        return self.encode_table(FeatureTable(values=values, offsets=offsets, rows=rows, device=self.device))

    def encode_table(self, table: FeatureTable) -> Floats:
        """All sets of a feature table -> float32 [sets, dim]."""
        order = np.argsort(table.rows.lengths, kind="stable")  # like sizes together: little is padded
        return self._in_batches(order, lambda rows: self.model.encode_images(table.batch(rows)))

    def _in_batches(
        self, order: NDArray[np.int64], encode: Callable[[NDArray[np.int64]], torch.Tensor]
    ) -> Floats:
        """Encode rows in the order given, and put them back in their own."""
        training = self.model.training
        if training:  # parts keep what they have computed for inference until the mode is switched
            self.model.eval()
        with torch.inference_mode():
            parts = [encode(order[first : first + BATCH]) for first in range(0, len(order), BATCH)]
            emb: Floats = torch.cat(parts).float().cpu().numpy()
        if training:
            self.model.train()
        back = np.empty_like(emb)
        back[order] = emb
        return back


@contextlib.contextmanager
def _damage_told(what: str) -> Iterator[None]:
    """Say in a sentence what is wrong with a file of a model."""
    try:
        yield
    except (KeyError, ValueError, TypeError, AttributeError, OSError) as error:
        if isinstance(error, ValidationError):
            problem = explain(error.errors()[0])
        elif isinstance(error, KeyError):
            problem = f"{error} is missing"
        else:
            problem = str(error).splitlines()[0]
        raise UserError(f"{what} is damaged ({problem}); restore the file or train again") from error

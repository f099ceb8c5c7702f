"""A trained model in use: sentences and pictures in, embeddings out. It reads nothing but its folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from lingvis.artifact import read_config, read_tensors
from lingvis.config import Recipe
from lingvis.device import choose_device
from lingvis.errors import UserError
from lingvis.features.backbones import Backbone, load_backbone
from lingvis.features.encode import encode_pictures
from lingvis.features.store import FeatureStore
from lingvis.image.table import FeatureTable
from lingvis.model import DualEncoder
from lingvis.recipes.build import build_model, build_tokenizer
from lingvis.text.bank import TokenBank
from lingvis.text.tokenizers import Tokenizer

Floats = NDArray[np.float32]
BATCH = 256


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
        config = read_config(run)
        recipe = Recipe.model_validate(config["recipe"])
        tokenizer = build_tokenizer(recipe)
        tokenizer.load(run)
        model = build_model(
            recipe, feature_dim=config["features"]["dim"], vocabulary=tokenizer.vocabulary, folder=run
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
            features=config["features"],
            languages=config["languages"],
            device=where,
        )

    @property
    def parameters(self) -> dict[str, int]:
        """Number of parameters: image, text, total."""
        return self.model.parameter_counts()

    @property
    def dim(self) -> int:
        """Length of an embedding."""
        return int(self.model.image.encoder.dim)  # type: ignore[arg-type]

    @property
    def inner_product(self) -> bool:
        """Whether the score of a picture and a sentence is the inner product of their embeddings."""
        return bool(self.model.similarity.indexable)

    def encode_texts(self, texts: Sequence[str], lang: str | Sequence[str]) -> Floats:
        """Sentences in one language, or each in its own -> float32 [texts, dim]."""
        langs = [lang] * len(texts) if isinstance(lang, str) else list(lang)
        if not texts:
            return np.zeros((0, self.dim), np.float32)
        bank = TokenBank(tokenizer=self.tokenizer, texts=texts, langs=langs, device=self.device)
        return self._in_batches(bank.rows.lengths, lambda rows: self.model.encode_texts(bank.batch(rows)))

    def encode_images(self, paths: Sequence[Path | str]) -> Floats:
        """Picture files -> float32 [pictures, dim], through the backbone the model was trained on."""
        if self._backbone is None:
            self._backbone = load_backbone(self.features["backbone"], device=str(self.device))
        files = [Path(path) for path in paths]
        return self.encode_features(list(encode_pictures(files, self._backbone, self.features["kind"])))

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
        return self._in_batches(table.rows.lengths, lambda rows: self.model.encode_images(table.batch(rows)))

    def _in_batches(
        self, sizes: NDArray[np.int64], encode: Callable[[NDArray[np.int64]], torch.Tensor]
    ) -> Floats:
        """Encode rows in order of size, so that little is padded, and put them back in their own order."""
        order = np.argsort(sizes, kind="stable")
        training = self.model.training
        self.model.eval()
        with torch.inference_mode():
            parts = [encode(order[first : first + BATCH]) for first in range(0, len(order), BATCH)]
            emb: Floats = torch.cat(parts).float().cpu().numpy()
        self.model.train(training)
        back = np.empty_like(emb)
        back[order] = emb
        return back


class StoredEmbedder:
    """An embedder with a dataset's stored features at hand: what evaluation works with."""

    def __init__(self, embedder: Embedder, store: FeatureStore) -> None:
        check_features(embedder, store)
        self._embedder, self._store = embedder, store
        self._tables: dict[tuple[str, ...], FeatureTable] = {}

    @property
    def name(self) -> str:
        """The model's name."""
        return self._embedder.name

    @property
    def parameters(self) -> Mapping[str, int]:
        """Number of parameters: image, text, total."""
        return self._embedder.parameters

    @property
    def inner_product(self) -> bool:
        """Whether a score is an inner product."""
        return self._embedder.inner_product

    def embed_images(self, names: Sequence[str]) -> Floats:
        """Stored features of the named pictures -> float32 [pictures, dim]; the table is kept for the next call."""
        key = tuple(names)
        if key not in self._tables:
            self._tables = {
                key: FeatureTable(
                    values=self._store.values,
                    offsets=self._store.offsets,
                    rows=self._store.index(names),
                    device=self._embedder.device,
                )
            }
        return self._embedder.encode_table(self._tables[key])

    def embed_texts(self, texts: Sequence[str], langs: Sequence[str]) -> Floats:
        """Sentences -> float32 [texts, dim]."""
        return self._embedder.encode_texts(texts, langs)

    def scores(self, image_emb: Floats, text_emb: Floats) -> Floats:
        """Score matrix of a similarity that is no inner product, [images, texts]."""
        device = self._embedder.device
        with torch.inference_mode():
            found = self._embedder.model.similarity(
                torch.from_numpy(image_emb).to(device), torch.from_numpy(text_emb).to(device)
            )
        scores: Floats = found.cpu().numpy()
        return scores


def describe_features(store: FeatureStore) -> dict[str, Any]:
    """What a model must remember of the features it was trained on."""
    origin = store.manifest.origin
    return {"name": store.path.name, "backbone": origin.backbone, "kind": origin.kind, "dim": store.dim}


def check_features(embedder: Embedder, store: FeatureStore) -> None:
    """Refuse features of another backbone or kind than the model was trained on."""
    wanted, got = embedder.features, describe_features(store)
    for key in ("backbone", "kind", "dim"):
        if wanted[key] != got[key]:
            raise UserError(
                f"model {embedder.name} was trained on features with {key} {wanted[key]!r}, but {store.path} has "
                f"{got[key]!r}; extract the right ones with: lingvis features extract DATASET "
                f"--backbone {wanted['backbone']} --kind {wanted['kind']}"
            )

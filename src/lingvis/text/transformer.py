"""A pretrained transformer of the `transformers` library as tokenizer and word part (extra: transformers)."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from lingvis.config import Count
from lingvis.errors import UserError
from lingvis.text.tokenizers import TOKENIZERS, Vocabulary
from lingvis.text.words import WORDS
from lingvis.types import TextBatch, Tokens

FOLDER = "transformer"


def _library() -> Any:
    try:
        transformers: Any = importlib.import_module("transformers")
    except ImportError as error:
        raise UserError(
            "this recipe needs the transformers library: pip install 'lingvis[transformers]'"
        ) from error
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    return transformers


def _pretrained(kind: str, source: str | Path, **options: Any) -> Any:
    """`AutoTokenizer`, `AutoModel` or `AutoConfig` from a hub name or a folder."""
    try:
        return getattr(_library(), kind).from_pretrained(str(source), **options)
    except (OSError, ValueError) as error:
        raise UserError(
            f"transformer {str(source)!r} could not be loaded: {str(error).splitlines()[0]} "
            "Give a hub name such as bert-base-uncased, or the folder of a saved model."
        ) from error


@TOKENIZERS.register("transformer", "the subword tokenizer of a pretrained transformer")
class TransformerTokenizer:
    """`model` is a hub name or a folder; nothing is fitted, the vocabulary is the pretrained one."""

    vocabulary: Vocabulary

    def __init__(self, *, model: str, max_length: Count = 128) -> None:
        self.model, self.max_length = model, max_length
        self._tokenizer: Any = None

    def fit(self, texts: Sequence[str], langs: Sequence[str]) -> None:
        """Load the pretrained tokenizer."""
        self._set(_pretrained("AutoTokenizer", self.model))

    def save(self, folder: Path) -> None:
        """Write the tokenizer's own files into a model folder."""
        self._tokenizer.save_pretrained(str(folder / FOLDER))

    def load(self, folder: Path) -> None:
        """Read what `save` wrote; the hub is not asked."""
        self._set(_pretrained("AutoTokenizer", folder / FOLDER, local_files_only=True))

    def __call__(self, texts: Sequence[str], langs: Sequence[str]) -> list[NDArray[np.int64]]:
        encoded = self._tokenizer(list(texts), truncation=True, max_length=self.max_length)["input_ids"]
        return [np.asarray(ids, dtype=np.int64) for ids in encoded]

    def _set(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        if tokenizer.mask_token_id is None or tokenizer.pad_token_id is None:
            raise UserError(
                f"the tokenizer of {self.model!r} has no mask or pad token; use an encoder model such as BERT"
            )
        self.vocabulary = Vocabulary(
            size=len(tokenizer),
            pad=tokenizer.pad_token_id,
            mask=tokenizer.mask_token_id,
            special=tuple(tokenizer.all_special_ids),
        )


@WORDS.register("transformer", "last hidden states of a pretrained transformer")
class TransformerWords(nn.Module):
    """ids [B, L] -> last hidden states [B, L, dim].

    `folder` is the model folder when a trained model is loaded: the architecture then comes from the saved
    configuration and the weights from the model's own file, so that the hub is not asked.
    A transformer whose weights are all frozen rests in training too: the same sentence gives the same states.
    """

    def __init__(self, *, vocabulary: Vocabulary, model: str, folder: Path | None = None) -> None:
        super().__init__()
        if folder is None:
            self.transformer = _pretrained("AutoModel", model)
        else:
            config = _pretrained("AutoConfig", folder / FOLDER, local_files_only=True)
            self.transformer = _library().AutoModel.from_config(config)
        self.dim = int(self.transformer.config.hidden_size)

    def save(self, folder: Path) -> None:
        """Write the architecture's configuration into a model folder."""
        self.transformer.config.save_pretrained(str(folder / FOLDER))

    def train(self, mode: bool = True) -> TransformerWords:
        """Training mode, or not; without dropout while nothing here is trained."""
        super().train(mode)
        if not any(each.requires_grad for each in self.parameters()):
            self.transformer.eval()
        return self

    def forward(self, batch: TextBatch) -> Tokens:
        hidden = self.transformer(input_ids=batch.ids, attention_mask=batch.mask).last_hidden_state
        return Tokens(hidden, batch.mask, batch.runs)

"""The subword tokenizer of a pretrained transformer (extra: transformers)."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lingvis.arrays import Ints
from lingvis.bounds import Count
from lingvis.errors import UserError
from lingvis.text.tokenizers.base import TOKENIZERS, Tokenizer, Vocabulary

FOLDER = "transformer"


def library() -> Any:
    """The `transformers` library; raises if it is not installed."""
    try:
        transformers: Any = importlib.import_module("transformers")
    except ImportError as error:
        raise UserError(
            "this recipe needs the transformers library: pip install 'lingvis[transformers]'"
        ) from error
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    return transformers


def pretrained(kind: str, source: str | Path, **options: Any) -> Any:
    """`AutoTokenizer`, `AutoModel` or `AutoConfig` from a hub name or a folder."""
    try:
        return getattr(library(), kind).from_pretrained(str(source), **options)
    except (OSError, ValueError) as error:
        raise UserError(
            f"transformer {str(source)!r} could not be loaded: {str(error).splitlines()[0]} "
            "Give a hub name such as bert-base-uncased, or the folder of a saved model."
        ) from error


@TOKENIZERS.register("transformer", "the subword tokenizer of a pretrained transformer")
class TransformerTokenizer(Tokenizer):
    """The pretrained vocabulary of `model`, a hub name or a folder; nothing is fitted."""

    vocabulary: Vocabulary

    def __init__(self, *, model: str, max_length: Count = 128) -> None:
        self.model, self.max_length = model, max_length
        self._tokenizer: Any = None

    def fit(self, texts: Sequence[str], langs: Sequence[str]) -> None:
        """Load the pretrained tokenizer."""
        self._set(pretrained("AutoTokenizer", self.model))

    def save(self, folder: Path) -> None:
        """Write the tokenizer's files into a model folder."""
        self._tokenizer.save_pretrained(str(folder / FOLDER))

    def load(self, folder: Path) -> None:
        """Read the files that `save` wrote, without the hub."""
        self._set(pretrained("AutoTokenizer", folder / FOLDER, local_files_only=True))

    def __call__(self, texts: Sequence[str], langs: Sequence[str]) -> list[Ints]:
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

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
from lingvis.untrusted import check_regular, read_json

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


def pretrained(kind: str, name: str, **options: Any) -> Any:
    """`AutoTokenizer` or `AutoModel` from a hub name or a folder that a recipe names; code beside it never runs."""
    try:
        return getattr(library(), kind).from_pretrained(name, trust_remote_code=False, **options)
    except Exception as error:  # tokenizers raise nearly anything
        raise UserError(
            f"transformer {name!r} could not be loaded: {_first_line(error)} "
            "Give a hub name such as bert-base-uncased, or the folder of a saved model."
        ) from error


def stored(kind: str, run: Path) -> Any:
    """`AutoTokenizer` or `AutoConfig` from the files in a model folder; never from the hub, and without their code."""
    folder = run / FOLDER
    _check_files(folder)
    try:
        return getattr(library(), kind).from_pretrained(
            str(folder), trust_remote_code=False, local_files_only=True
        )
    except Exception as error:
        raise ValueError(f"{FOLDER}: {_first_line(error)}") from error


def _check_files(folder: Path) -> None:
    """Raise if the folder of a transformer is missing, or if one of its files names a file elsewhere."""
    if not folder.is_dir():
        raise ValueError(f"there is no folder {folder.name}")
    for file in folder.iterdir():
        check_regular(file)
        values = read_json(file) if file.suffix == ".json" else None
        for key, value in values.items() if isinstance(values, dict) else ():
            if key.endswith("_file") and isinstance(value, str) and Path(value).name != value:
                raise ValueError(f"{file.name} names the file {value!r} outside the model folder")


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


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
        tokenizer = stored("AutoTokenizer", folder)
        if (folder / FOLDER / "config.json").is_file():  # of the word part, which has a vector per number
            size, largest = (
                stored("AutoConfig", folder).vocab_size,
                max(tokenizer.get_vocab().values(), default=0),
            )
            if largest >= size:
                raise ValueError(f"a token has the number {largest}, but the model has {size} of them")
        self._set(tokenizer)

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
            continuing=_continuing(tokenizer),
        )


def _continuing(tokenizer: Any) -> tuple[int, ...]:
    """The ids of pieces that continue a word, marked in a WordPiece vocabulary such as BERT's: "##s".

    Other vocabularies mark the beginning of a word by the space before it. That finds no words in Chinese or Thai, so
    their pieces count as words.
    """
    model = getattr(getattr(tokenizer, "backend_tokenizer", None), "model", None)
    prefix = getattr(model, "continuing_subword_prefix", None)
    if not prefix:
        return ()
    return tuple(
        sorted(number for piece, number in tokenizer.get_vocab().items() if piece.startswith(prefix))
    )

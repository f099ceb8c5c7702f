"""Train word vectors with subwords on sentences, for languages and words that no published file has."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lingvis.errors import UserError
from lingvis.text.vectors.table import WordTable

WINDOW, SHORTEST, LONGEST, NEGATIVES = 5, 3, 6, 5
# fastText's two million would be 2.4 GB at 300 dimensions; captions of one language have some 100,000 subwords.
BUCKETS = 200_000
METHOD = (
    f"skip-gram with subwords of {SHORTEST} to {LONGEST} letters, window {WINDOW}, "
    f"{NEGATIVES} negatives, {BUCKETS} buckets"
)


def usual_epochs(words: int) -> int:
    """The number of passes over a text of `words` words: three million words in total, but 3 to 15 passes."""
    return max(3, min(15, round(3_000_000 / max(words, 1))))


def gensim(module: str) -> Any:
    """Import a module of gensim; raises with the command that installs it."""
    try:
        loaded = importlib.import_module(f"gensim.{module}")
    except ImportError as error:
        raise UserError(
            f"word vectors need {error.name}; install it with: pip install 'lingvis[vectors]'"
        ) from error
    logging.getLogger("gensim").setLevel(
        logging.ERROR
    )  # it warns about small corpora, and captions are small
    return loaded


def train_vectors(
    sentences: Sequence[Sequence[str]],
    *,
    dim: int,
    epochs: int,
    seed: int,
    on_epoch: Callable[[], None] = lambda: None,
) -> WordTable:
    """Vectors of every word of the sentences of one language; `on_epoch` is called after each pass over them.

    Skip-gram with negative sampling; a word is the mean of the vectors of the word and of its
    subwords (Bojanowski et al. 2017, eq. 1-2). Runs on one thread, so that a seed reproduces the vectors.
    """
    callback: Any = gensim("models.callbacks").CallbackAny2Vec

    class Epochs(callback):  # type: ignore[misc]
        def on_epoch_end(self, model: object) -> None:
            on_epoch()

    model = gensim("models.fasttext").FastText(
        sentences=sentences,
        vector_size=dim,
        epochs=epochs,
        seed=seed,
        sg=1,
        negative=NEGATIVES,
        window=WINDOW,
        min_n=SHORTEST,
        max_n=LONGEST,
        bucket=BUCKETS,
        min_count=1,
        workers=1,
        callbacks=[Epochs()],
    )
    return WordTable(list(model.wv.index_to_key), np.asarray(model.wv.vectors, dtype=np.float32))

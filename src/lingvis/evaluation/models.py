"""What evaluation asks of a model, and the embedding of a pool with nothing embedded twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from lingvis.errors import UserError
from lingvis.evaluation.pools import Pool
from lingvis.evaluation.scorers import Floats, FunctionScores, InnerProduct, MeanScores, Scorer


class MeasuredModel(Protocol):
    """A model with the pictures or features of a dataset at hand."""

    @property
    def name(self) -> str: ...

    @property
    def languages(self) -> Sequence[str]:
        """Those it was trained on; any other is measured zero-shot."""
        ...

    @property
    def parameters(self) -> Mapping[str, int]:
        """Numbers of parameters: image, text, total."""
        ...

    @property
    def inner_product(self) -> bool:
        """Whether a score is the inner product of the embeddings; `scores` is asked otherwise."""
        ...

    def embed_images(self, names: Sequence[str]) -> Floats:
        """Float32 [images, dim]."""
        ...

    def embed_texts(self, texts: Sequence[str], langs: Sequence[str]) -> Floats:
        """Float32 [texts, dim]; langs: the language of each sentence."""
        ...

    def scores(self, image_emb: Floats, text_emb: Floats) -> Floats:
        """Float32 [images, texts]."""
        ...


def scorers(models: Sequence[MeasuredModel], pools: Sequence[Pool]) -> list[Scorer]:
    """One scorer a pool, the mean over models; each image and each distinct sentence is embedded once."""
    by_model = [_scorers_of(model, pools) for model in models]
    return [each[0] if len(each) == 1 else MeanScores(each) for each in zip(*by_model, strict=True)]


def _scorers_of(model: MeasuredModel, pools: Sequence[Pool]) -> list[Scorer]:
    names = list(dict.fromkeys(name for pool in pools for name in pool.images))
    images = _Table(names, _finite(model, "images", model.embed_images(names), len(names)))
    by_lang = {lang: _embed_texts(model, lang, pools) for lang in dict.fromkeys(pool.lang for pool in pools)}
    made: list[Scorer] = []
    for pool in pools:
        image_emb, text_emb = images.of(pool.images), by_lang[pool.lang].of(pool.texts)
        made.append(
            InnerProduct(image_emb, text_emb)
            if model.inner_product
            else FunctionScores(model.scores, image_emb, text_emb)
        )
    return made


def _embed_texts(model: MeasuredModel, lang: str, pools: Sequence[Pool]) -> _Table:
    """The distinct sentences of all pools in one language."""
    texts = list(dict.fromkeys(text for pool in pools if pool.lang == lang for text in pool.texts))
    emb = model.embed_texts(texts, [lang] * len(texts))
    return _Table(texts, _finite(model, f"sentences in {lang}", emb, len(texts)))


class _Table:
    """Embeddings by name or sentence; those of the same list are made once and shared."""

    def __init__(self, keys: Sequence[str], emb: Floats) -> None:
        self._emb = emb
        self._place = {key: number for number, key in enumerate(keys)}
        self._made = {tuple(keys): emb}

    def of(self, keys: Sequence[str]) -> Floats:
        """[len(keys), dim]."""
        wanted = tuple(keys)
        if wanted not in self._made:
            self._made[wanted] = self._emb[[self._place[key] for key in wanted]]
        return self._made[wanted]


def _finite(model: MeasuredModel, what: str, emb: NDArray[np.float32], count: int) -> Floats:
    emb = np.asarray(emb, dtype=np.float32)
    if len(emb) != count:
        raise ValueError(f"model {model.name} gave {len(emb)} embeddings for {count} {what}")
    broken = int((~np.isfinite(emb).reshape(count, -1).all(axis=1)).sum())
    if broken:
        raise UserError(
            f"model {model.name} gives {broken} of {count} {what} an embedding that is not finite; it has "
            "diverged, use an earlier checkpoint or train again with a lower learning rate"
        )
    return emb

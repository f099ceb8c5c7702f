"""The interface of a model for evaluation, and the encoding of pools with nothing encoded twice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import numpy as np

from lingvis.arrays import Floats
from lingvis.errors import UserError
from lingvis.evaluation.pools import EvaluationPool
from lingvis.evaluation.scorers import FunctionScores, InnerProduct, MeanScores, Scorer
from lingvis.evaluation.sets import SetScores, VectorSets

SETS_AT_ONCE = 256  # of a model without pooling: they are padded before they are packed


class MeasuredModel(Protocol):
    """A model of pictures and sentences, such as an Embedder."""

    @property
    def name(self) -> str: ...

    @property
    def languages(self) -> Sequence[str]:
        """The languages of its training; any other language is measured zero-shot."""
        ...

    @property
    def parameters(self) -> Mapping[str, int]:
        """Numbers of parameters: image, text, total."""
        ...

    @property
    def inner_product(self) -> bool:
        """Whether a score is the inner product of the embeddings; otherwise `scores` computes it."""
        ...

    @property
    def pooled(self) -> bool:
        """Whether an embedding is one vector; otherwise [L, dim], padded with zeros."""
        ...

    def encode_texts(self, texts: Sequence[str], langs: Sequence[str], /) -> Floats:
        """Float32 [texts, dim], or [texts, L, dim]; langs: the language of each sentence."""
        ...

    def scores(self, image_emb: Floats, text_emb: Floats) -> Floats:
        """Float32 [images, texts]."""
        ...


class ImageSource(Protocol):
    """The pictures of a dataset by name, with the model that encodes them."""

    @property
    def model(self) -> MeasuredModel: ...

    def encode(self, names: Sequence[str]) -> Floats:
        """Float32 [images, dim], or [images, L, dim]."""
        ...


def scorers(sources: Sequence[ImageSource], pools: Sequence[EvaluationPool]) -> list[Scorer]:
    """One scorer per pool, the mean over models; each image and each distinct sentence is encoded once."""
    by_model = [_scorers_of(source, pools) for source in sources]
    return [group[0] if len(group) == 1 else MeanScores(group) for group in zip(*by_model, strict=True)]


def _scorers_of(source: ImageSource, pools: Sequence[EvaluationPool]) -> list[Scorer]:
    model = source.model
    names = list(dict.fromkeys(name for pool in pools for name in pool.images))
    images = _encode(model, "images", names, source.encode)
    by_lang = {lang: _encode_texts(model, lang, pools) for lang in dict.fromkeys(pool.lang for pool in pools)}
    by_pool: list[Scorer] = []
    for pool in pools:
        image_emb, text_emb = images.of(pool.images), by_lang[pool.lang].of(pool.texts)
        if isinstance(image_emb, VectorSets) or isinstance(text_emb, VectorSets):
            assert isinstance(image_emb, VectorSets) and isinstance(text_emb, VectorSets)
            by_pool.append(SetScores(model.scores, image_emb, text_emb))
        elif model.inner_product:
            by_pool.append(InnerProduct(image_emb, text_emb))
        else:
            by_pool.append(FunctionScores(model.scores, image_emb, text_emb))
    return by_pool


def _encode_texts(model: MeasuredModel, lang: str, pools: Sequence[EvaluationPool]) -> _Table:
    """The distinct sentences of all pools in one language."""
    texts = list(dict.fromkeys(text for pool in pools if pool.lang == lang for text in pool.texts))
    return _encode(
        model, f"sentences in {lang}", texts, lambda some: model.encode_texts(some, [lang] * len(some))
    )


def _encode(
    model: MeasuredModel, what: str, keys: list[str], encode: Callable[[Sequence[str]], Floats]
) -> _Table:
    """Encode all at once; sets of vectors in portions of sentences of similar length, packed."""
    if model.pooled:
        return _Table(keys, _finite(model, what, encode(keys), len(keys)))
    keys = sorted(keys, key=len)
    portions = [keys[first : first + SETS_AT_ONCE] for first in range(0, len(keys), SETS_AT_ONCE)]
    parts = [_finite(model, what, encode(portion), len(portion)) for portion in portions]
    return _Table(keys, VectorSets.pack(parts))


class _Table:
    """Embeddings by name or sentence; the array for a list of keys is made once and shared."""

    def __init__(self, keys: Sequence[str], emb: Floats | VectorSets) -> None:
        self._emb = emb
        self._place = {key: number for number, key in enumerate(keys)}
        self._arrays: dict[tuple[str, ...], Floats | VectorSets] = {tuple(keys): emb}

    def of(self, keys: Sequence[str]) -> Floats | VectorSets:
        """[len(keys), dim], or as many sets."""
        listed = tuple(keys)
        if listed not in self._arrays:
            self._arrays[listed] = self._emb[[self._place[key] for key in listed]]
        return self._arrays[listed]


def _finite(model: MeasuredModel, what: str, emb: Floats, count: int) -> Floats:
    emb = np.asarray(emb, dtype=np.float32)
    if len(emb) != count:
        raise ValueError(f"model {model.name} returned {len(emb)} embeddings for {count} {what}")
    broken = int((~np.isfinite(emb).reshape(count, -1).all(axis=1)).sum())
    if broken:
        raise UserError(
            f"model {model.name} returned non-finite embeddings for {broken} of {count} {what}; it has "
            "diverged, use an earlier checkpoint or train again with a lower learning rate"
        )
    return emb

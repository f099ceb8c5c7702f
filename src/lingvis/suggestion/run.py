"""Suggest pictures to annotate next: `lingvis.suggest`, `lingvis suggest`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from lingvis.arrays import Floats
from lingvis.data.dataset import Dataset
from lingvis.data.rows import LANGUAGE_CODE
from lingvis.device import choose_device
from lingvis.errors import UserError, choices
from lingvis.features.manifest import is_store
from lingvis.features.store import FeatureStore, without_broken
from lingvis.model.embedder import Embedder
from lingvis.model.encoder import with_torch
from lingvis.model.onnx.embedder import OnnxEmbedder
from lingvis.model.stored import StoredImages
from lingvis.suggestion import Suggestion, Suggestions, choose, standing_out, uncertainty


def suggest(
    dataset: Dataset | Path | str,
    count: int,
    *,
    features: str | None = None,
    model: Embedder | OnnxEmbedder | Path | str | None = None,
    lang: str | None = None,
    seed: int = 0,
    device: str | None = None,
) -> Suggestions:
    """Suggest pictures of split train without captions (in `lang`, if given) to annotate next, best first.

    dataset: a dataset folder with features. count: number of pictures; all candidates if there are fewer.
    features: name of the stored features that similarity is measured on; by default the model's features, or the
    only ones; instead of stored pixels, their embeddings by the model. model: a model folder or an opened model; among
    similar pictures, the most uncertain for the model come first.
    seed: of the clustering. device: cpu or cuda.
    """
    if count < 1:
        raise UserError(f"`count` must be at least 1, got {count}")
    if lang is not None and not LANGUAGE_CODE.fullmatch(lang):
        raise UserError(f"bad language code {lang!r} for `lang`; use BCP-47 such as cs, pt-BR or zh-Hant")
    whole = dataset if isinstance(dataset, Dataset) else Dataset.open(dataset)
    stored = None
    if model is not None:
        stored = StoredImages.open(with_torch(model, device), whole)
    if stored is not None and features is None:
        store = stored.store
    else:
        store = FeatureStore.open(whole.features_dir / (features or _only_features(whole)))
    by_model = stored is not None and store is stored.store and _has_pixels(store)
    if _has_pixels(store) and not by_model:
        raise UserError(
            f"the features {store.path.name} are pixels, which do not show whether pictures are similar; give `features` "
            "of another kind, or the `model` that was trained on these pixels and no `features`"
        )
    usable = without_broken(whole, [store] if stored is None else [store, stored.store])
    rows = [row for row in usable.rows if row.split == "train"]
    described = np.array(
        [bool(row.captions.get(lang) if lang else any(row.captions.values())) for row in rows]
    )
    in_lang = f" in {lang}" if lang else ""
    if not rows or described.all():
        has = "no pictures" if not rows else f"captions{in_lang} for each of its {len(rows)} pictures"
        raise UserError(
            f"split train of {usable.path} has {has}, so there is none to suggest; "
            f"add rows without captions{in_lang}"
        )
    images = [row.image for row in rows]
    candidates = np.flatnonzero(~described)
    uncertain = None
    if stored is not None:
        uncertain = np.zeros(len(rows), np.float32)
        uncertain[candidates] = _uncertainty(stored, usable, [images[row] for row in candidates], lang)
    chosen = choose(
        stored.encode(images) if by_model and stored is not None else picture_vectors(store, images),
        min(count, len(candidates)),
        known=np.flatnonzero(described),
        uncertain=uncertain,
        seed=seed,
        device=str(choose_device(device)),
    )
    return Suggestions(
        dataset=usable.path.resolve().name,
        features=store.path.name,
        model=None if stored is None else stored.model.name,
        lang=lang,
        seed=seed,
        known=int(described.sum()),
        candidates=len(candidates),
        asked=count,
        pictures=[
            Suggestion(
                images[choice.row],
                choice.alike,
                choice.annotated,
                choice.typicality,
                None if uncertain is None else float(uncertain[choice.row]),
            )
            for choice in chosen
        ],
    )


def picture_vectors(store: FeatureStore, images: list[str]) -> Floats:
    """The mean of each picture's stored vectors, [images, dim]."""
    return np.stack([store[row].mean(axis=0, dtype=np.float32) for row in store.index(images)])


def _has_pixels(store: FeatureStore) -> bool:
    return store.manifest.origin.kind == "pixels"


def _uncertainty(stored: StoredImages, dataset: Dataset, images: list[str], lang: str | None) -> Floats:
    """How uncertain a model is about pictures, [images], by the captions of split train in its languages."""
    model = stored.model
    if not model.pooled:
        raise UserError(
            f"model {model.name} compares all vectors of a picture with all of a sentence, which takes too long here; "
            "give a `model` with one vector per picture and sentence, or none"
        )
    if lang is not None and lang not in model.languages:
        raise UserError(
            f"model {model.name} was not trained on {lang}, only on {choices(model.languages)}; give another `model`, "
            "or none"
        )
    captions = [
        (text, language)
        for row in dataset.rows
        if row.split == "train"
        for language, texts in row.captions.items()
        for text in texts
        if language in ([lang] if lang else model.languages)
    ]
    if not captions:
        raise UserError(
            f"`model` compares pictures with the captions of split train, but {dataset.path} has none there in "
            f"{lang or choices(model.languages)}; give no `model` for the first suggestions"
        )
    texts, langs = zip(*captions, strict=True)
    image_emb, text_emb = stored.encode(images), model.encode_texts(texts, langs)
    return uncertainty(standing_out(len(images), lambda part: model.scores(image_emb[part], text_emb)))


def _only_features(dataset: Dataset) -> str:
    """The name of the stored features, if there is one store only."""
    folder = dataset.features_dir
    names = [store.name for store in folder.iterdir() if is_store(store)] if folder.is_dir() else []
    if len(names) == 1:
        return names[0]
    if names:
        raise UserError(
            f"{dataset.path} has several features; name one of them in `features`: {choices(names)}"
        )
    raise UserError(
        f"{dataset.path} has no features; make some with: lingvis features extract {dataset.path}"
    )

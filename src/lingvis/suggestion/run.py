"""The job of suggesting: a dataset with few captions -> which pictures to annotate next."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lingvis.data.dataset import Dataset
from lingvis.device import choose_device
from lingvis.errors import UserError, choices
from lingvis.features.manifest import is_store
from lingvis.features.store import FeatureStore, without_broken
from lingvis.model.embedder import Embedder
from lingvis.model.stored import StoredImages
from lingvis.suggestion import Suggestion, Suggestions, choose, standing_out, uncertainty

Floats = NDArray[np.float32]


def suggest(
    dataset: Dataset,
    count: int,
    *,
    features: str | None = None,
    model: Path | None = None,
    lang: str | None = None,
    seed: int = 0,
    device: str | None = None,
) -> Suggestions:
    """Pictures of split train without captions (in `lang`, where given) to annotate next, all if there are fewer.

    features: the stored features by which pictures are alike; by default those of the model, or the only ones.
    model: a run; of like pictures those come first that it is unsure of, see `standing_out`.
    """
    stored = None if model is None else StoredImages.open(Embedder.load(model, device=device), dataset)
    if stored is not None and features is None:
        store = stored.store
    else:
        store = FeatureStore.open(dataset.features_dir / (features or _only_features(dataset)))
    dataset = without_broken(dataset, [store] if stored is None else [store, stored.store])
    rows = [row for row in dataset.rows if row.split == "train"]
    described = np.array(
        [bool(row.captions.get(lang) if lang else any(row.captions.values())) for row in rows]
    )
    wanted = f" in {lang}" if lang else ""
    if not rows or described.all():
        has = "no pictures" if not rows else f"captions{wanted} for each of its {len(rows)} pictures"
        raise UserError(
            f"split train of {dataset.path} has {has}, so there is none to suggest; add rows without captions{wanted}"
        )
    images = [row.image for row in rows]
    candidates = np.flatnonzero(~described)
    unsure = None
    if stored is not None:
        unsure = np.zeros(len(rows), np.float32)
        unsure[candidates] = _unsure(stored, dataset, [images[row] for row in candidates], lang)
    found = choose(
        picture_vectors(store, images),
        min(count, len(candidates)),
        known=np.flatnonzero(described),
        uncertain=unsure,
        seed=seed,
        device=str(choose_device(device)),
    )
    return Suggestions(
        dataset=dataset.path.resolve().name,
        features=store.path.name,
        model=None if stored is None else stored.model.name,
        lang=lang,
        seed=seed,
        known=int(described.sum()),
        candidates=len(candidates),
        asked=count,
        pictures=[
            Suggestion(
                images[each.row],
                each.alike,
                each.annotated,
                each.typicality,
                None if unsure is None else float(unsure[each.row]),
            )
            for each in found
        ],
    )


def picture_vectors(store: FeatureStore, images: list[str]) -> Floats:
    """The mean of each picture's stored vectors, [images, dim]."""
    return np.stack([store[row].mean(axis=0, dtype=np.float32) for row in store.index(images)])


def _unsure(stored: StoredImages, dataset: Dataset, images: list[str], lang: str | None) -> Floats:
    """How unsure a model is of pictures, by the captions of split train that it can read."""
    model = stored.model
    if not model.pooled:
        raise UserError(
            f"model {model.name} compares all vectors of a picture with all of a sentence, which takes too long here; "
            "give --model a run with one vector each, or leave it out"
        )
    if lang is not None and lang not in model.languages:
        raise UserError(
            f"model {model.name} does not know {lang}; it knows: {choices(model.languages)}; leave out --model, "
            "or give one that does"
        )
    said = [
        (text, each)
        for row in dataset.rows
        if row.split == "train"
        for each, texts in row.captions.items()
        for text in texts
        if each in ([lang] if lang else model.languages)
    ]
    if not said:
        raise UserError(
            f"--model compares pictures with the captions of split train, but {dataset.path} has none there in "
            f"{lang or choices(model.languages)}; leave out --model for a first choice"
        )
    texts, langs = zip(*said, strict=True)
    image_emb, text_emb = stored.encode(images), model.encode_texts(texts, langs)
    return uncertainty(standing_out(len(images), lambda part: model.scores(image_emb[part], text_emb)))


def _only_features(dataset: Dataset) -> str:
    """The name of the stored features, where there are no two."""
    folder = dataset.features_dir
    names = [each.name for each in folder.iterdir() if is_store(each)] if folder.is_dir() else []
    if len(names) == 1:
        return names[0]
    if names:
        raise UserError(
            f"{dataset.path} has several features; name one of them with --features: {choices(names)}"
        )
    raise UserError(
        f"{dataset.path} has no features; make some with: lingvis features extract {dataset.path}"
    )

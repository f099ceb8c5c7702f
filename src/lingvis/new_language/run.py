"""Add a language to a trained model; all existing weights stay unchanged."""

from __future__ import annotations

import shutil
import statistics
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lingvis import __version__
from lingvis.arrays import Floats
from lingvis.data.dataset import Dataset, captions_file
from lingvis.data.rows import LANGUAGE_CODE
from lingvis.device import choose_device
from lingvis.errors import UserError, choices
from lingvis.features.store import without_broken
from lingvis.files import atomic_folder, write_text
from lingvis.hardware import processor_name
from lingvis.lock import one_writer
from lingvis.model.added_language import AddedLanguage, write_added, write_added_config
from lingvis.model.card import added_section
from lingvis.model.embedder import Embedder
from lingvis.model.folder import CARD, ModelConfig
from lingvis.model.stored import StoredImages
from lingvis.new_language.cross_validation import cross_validate
from lingvis.new_language.gather import gather
from lingvis.new_language.language_data import LanguageData
from lingvis.new_language.measure import RetrievalMeasure
from lingvis.new_language.result import AddLanguageResult
from lingvis.new_language.routes import find_routes
from lingvis.new_language.start_factory import LexicalResources
from lingvis.new_language.task import TeachingPlan
from lingvis.new_language.try_routes import best_outcome, try_routes
from lingvis.new_language.verify import ExistingEmbeddings
from lingvis.pretrained import find_model


def add_language(
    run: str | Path,
    lang: str,
    dataset: str | Path,
    out: str | Path,
    *,
    route: str | None = None,
    captions: int | None = None,
    vectors: str | Path | None = None,
    dictionary: str | Path | None = None,
    pivot: str | None = None,
    seed: int = 0,
    device: str | None = None,
) -> AddLanguageResult:
    """Copy the model folder `run` with one more language to `out`, which is written atomically.

    lang: the new language, a code such as cs. dataset: a dataset folder with captions in it, or with sentences and
    their translations. route: use this route only; by default all are tried and the best is kept. captions: learn from
    at most this number of sentences. vectors: word vectors of the language, a file or a folder of stored vectors; by
    default they are trained on its sentences. dictionary: a file with word translations between the language and
    `pivot`, in either direction. pivot: the language of the model that words and sentences are compared with; by
    default the one with most translations. seed: draws sentences and batches. device: cpu or cuda.
    """
    began = time.monotonic()
    source = find_model(run)
    target = Path(out)
    config = _check_folders(source, lang, target)
    routes = find_routes(route)
    embedder = Embedder.load(source, device=device)
    _check_model(embedder, lang, pivot)
    opened, stored = _open(embedder, lang, Path(dataset))
    data = gather(opened, lang, embedder.languages, limit=captions, seed=seed)
    image_emb, measures, pool = _measures(embedder, opened, stored, data)
    before = _mean([measure.zero_shot(embedder) for measure in measures])
    existing = ExistingEmbeddings(embedder, stored, opened)
    resources = LexicalResources(vectors=_path(vectors), dictionary=_path(dictionary), pivot=pivot)
    plan = TeachingPlan(seed=seed, temperature=objective_temperature(config.recipe))
    if data.folds:
        outcomes = cross_validate(
            embedder, config.model, data, image_emb, measures, resources=resources, plan=plan, routes=routes
        )
    else:
        outcomes = try_routes(
            embedder,
            config.model,
            data,
            image_emb,
            measures[0].shorter,
            resources=resources,
            plan=plan,
            routes=routes,
        )
    best = best_outcome(outcomes)
    assert best.language is not None
    with one_writer(target), atomic_folder(target) as folder:
        _check_folders(source, lang, target)  # again: another process may have made it meanwhile
        extended = _write_model(
            source, folder, config, best.language, name=target.resolve().name, like=embedder
        )
        comparison = existing.compare(extended, opened)
        result = AddLanguageResult(
            model=target.resolve().name,
            base=source.resolve().name,
            lang=lang,
            dataset=opened.path.resolve().name,
            dataset_sha256=opened.fingerprint,
            route=best.route,
            routes=outcomes,
            sentences=len(data.learn.texts),
            with_picture=data.learn.pictured,
            with_translation=data.learn.paired,
            measured_on=data.by,
            pool=pool,
            before=before,
            seed=seed,
            device=processor_name() if choose_device(device).type == "cpu" else str(embedder.device),
            lingvis=__version__,
            after=best.score if data.folds else measures[0].score(extended),
            old=comparison.old,
            pictures_same=comparison.pictures_same,
            old_sentences_same=comparison.old_sentences_same,
            values=extended.added[lang].values,
            parameters=extended.parameters,
            seconds=round(time.monotonic() - began, 1),
        )
        _write_result(folder, best.language, result)
    return result


def _write_model(
    source: Path,
    folder: Path,
    config: ModelConfig,
    language: AddedLanguage,
    *,
    name: str,
    like: Embedder,
) -> Embedder:
    """Write a copy of a model folder with one more language and load it, to measure the written files."""
    shutil.copytree(source, folder, dirs_exist_ok=True)
    write_added(folder, language)
    added = [*config.added, language.config.lang]
    # Without the fingerprint, graphs of the source are not used: they lack the language.
    changed = config.model_copy(update={"name": name, "added": added, "text_fingerprint": ""})
    changed.write(folder)
    extended = Embedder.load(folder, device=str(like.device))
    changed.model_copy(update={"parameters": {**config.parameters, **extended.parameters}}).write(folder)
    return extended


def _write_result(folder: Path, language: AddedLanguage, result: AddLanguageResult) -> None:
    """Write the result to the folder of the language and to the card of the model."""
    update = {"data": result.data(), "numbers": result.numbers()}
    write_added_config(folder, language.config.model_copy(update=update))
    card = folder / CARD
    text = card.read_text(encoding="utf-8", errors="replace") if card.is_file() else ""
    write_text(card, text + added_section(result.as_json()))


def _check_folders(source: Path, lang: str, target: Path) -> ModelConfig:
    """Return the config of the model; raises for mistakes that can be detected without loading it."""
    if not LANGUAGE_CODE.fullmatch(lang):
        raise UserError(f"bad language code {lang!r}; use BCP-47 such as cs, pt-BR or zh-Hant")
    config = ModelConfig.read(source)
    if target.exists():
        raise UserError(f"`out` exists already: {target}; choose another folder (nothing in it was changed)")
    if source.resolve() in target.resolve().parents:
        raise UserError(f"`out`, {target}, is inside the model folder {source}; choose a folder outside it")
    return config


def _check_model(embedder: Embedder, lang: str, pivot: str | None) -> None:
    """Raise for a language that cannot be added to this model, and for a wrong pivot."""
    if lang in embedder.languages:
        raise UserError(
            f"model {embedder.name} already has {lang}; its languages: {choices(embedder.languages)}. To learn it again, "
            "start from the model without it"
        )
    if not embedder.pooled:
        raise UserError(
            f"model {embedder.name} compares sets of vectors, and a language can be added only to models of one vector per "
            "sentence; use a model with similarity.name=cosine"
        )
    if pivot is not None and pivot not in embedder.trained:
        raise UserError(
            f"`pivot` is {pivot!r}, and the model was not trained on it; choose one of: {choices(embedder.trained)}"
        )


def _open(embedder: Embedder, lang: str, path: Path) -> tuple[Dataset, StoredImages | None]:
    """The dataset, and its pictures with features if any of them has a sentence in the language."""
    without_pictures = Dataset(path, [])
    text_only = path.is_dir() and without_pictures.text_only_file is not None
    if text_only and not list(path.glob("captions.jsonl*")):
        return without_pictures, None
    captions_file(path)  # raises if this is not a dataset
    dataset = Dataset.open(path)
    if not any(lang in {*row.captions, *row.parallel, *row.translated} for row in dataset.rows):
        return dataset, None
    stored = StoredImages.open(embedder, dataset)
    return without_broken(dataset, [stored.store]), stored


def _measures(
    embedder: Embedder, dataset: Dataset, stored: StoredImages | None, data: LanguageData
) -> tuple[Floats, list[RetrievalMeasure], int]:
    """Embeddings of the training pictures [images, dim], the measure of each fold, and the number of its points.

    Sentences with pictures are measured among all pictures of train and val, which are closer to a collection than the
    few with a caption in the language; without pictures, among the translations of all sentences.
    """
    folds = data.folds or [data]
    image_emb = np.zeros((0, embedder.dim), np.float32)
    if stored is not None and (data.learn.pictured or data.choose.images):
        names = [*data.learn.images, *(row.image for row in dataset.rows if row.split == "val")]
        pool = stored.encode(names)
        if data.learn.pictured:
            image_emb = pool[: len(data.learn.images)]
        measures = [RetrievalMeasure.among_pictures(fold, names, pool) for fold in folds]
        return image_emb, measures, len(pool)
    measures = [RetrievalMeasure.among_sentences(fold, embedder) for fold in folds]
    return image_emb, measures, len(measures[0].points)


def _mean(scores: Sequence[float | None]) -> float | None:
    """The mean; None if a score is missing."""
    known = [score for score in scores if score is not None]
    return statistics.mean(known) if len(known) == len(scores) else None


def objective_temperature(recipe: Mapping[str, Any]) -> float:
    """The temperature of the model's objective if it is fixed; otherwise 0.05.

    recipe: as stored in the model folder; earlier versions had one objective outside the terms.
    """
    terms = recipe.get("terms", {}).values()
    matching = [term["objective"] for term in terms if term["name"] == "matching" and term["weight"]]
    objective: Mapping[str, Any] = recipe.get("objective") or next(iter(matching), {})
    fixed = objective.get("name") == "contrastive" and not objective.get("learned", False)
    return float(objective["temperature"]) if fixed else 0.05


def _path(path: str | Path | None) -> Path | None:
    return None if path is None else Path(path)

"""The job of teaching a trained model one more language, without touching anything that it knows."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lingvis import __version__
from lingvis.data.dataset import Dataset, captions_file
from lingvis.data.rows import LANGUAGE_CODE
from lingvis.device import choose_device
from lingvis.errors import UserError, choices
from lingvis.features.store import without_broken
from lingvis.files import atomic_folder, write_text
from lingvis.hardware import processor_name
from lingvis.model.added_language import AddedLanguage, write_added, write_added_config
from lingvis.model.card import added_section
from lingvis.model.embedder import Embedder
from lingvis.model.folder import CARD, ModelConfig
from lingvis.model.stored import StoredImages
from lingvis.new_language.learn import Given, learn
from lingvis.new_language.material import Material, gather
from lingvis.new_language.measure import Ruler
from lingvis.new_language.routes import best
from lingvis.new_language.targets import known_points
from lingvis.new_language.teaching import Plan
from lingvis.new_language.verify import OldLanguages

Floats = NDArray[np.float32]

# What the folder of the language keeps of the report.
DATA = ("dataset", "dataset_sha256", "sentences", "with_picture", "with_translation", "seed")
NUMBERS = (
    "routes",
    "measured_on",
    "before",
    "after",
    "old",
    "pictures_same",
    "old_sentences_same",
    "seconds",
    "device",
)


def add_language(
    run: Path,
    lang: str,
    dataset_path: Path,
    out: Path,
    *,
    route: str | None = None,
    captions: int | None = None,
    vectors: Path | None = None,
    dictionary: Path | None = None,
    pivot: str | None = None,
    seed: int = 0,
    device: str | None = None,
) -> dict[str, Any]:
    """Write `run` with one more language to `out`, and return the report of what was tried and measured.

    captions: learn from so many sentences only. The folder appears when all is done, or not at all.
    """
    began = time.monotonic()
    config = _check(run, lang, out)
    embedder = Embedder.load(run, device=device)
    _check_model(embedder, lang, pivot)
    dataset = _open(dataset_path)
    stored = None
    if any(row.captions.get(lang) or row.parallel.get(lang) for row in dataset.rows):
        stored = StoredImages.open(embedder, dataset)
        dataset = without_broken(dataset, [stored.store])
    material = gather(dataset, lang, embedder.languages, limit=captions, seed=seed)
    image_emb, ruler = _points(embedder, stored, material)
    before = ruler.before(embedder)
    old = OldLanguages(embedder, stored, dataset)
    outcomes = learn(
        embedder,
        config.model,
        material,
        image_emb,
        ruler.shorter,
        given=Given(vectors=vectors, dictionary=dictionary, pivot=pivot),
        plan=Plan(seed=seed, temperature=_temperature(config.recipe)),
        route=route,
    )
    chosen = best(outcomes)
    report = {
        "model": out.resolve().name,
        "from": run.resolve().name,
        "lang": lang,
        "dataset": dataset.path.resolve().name,
        "dataset_sha256": dataset.fingerprint,
        "route": chosen.route,
        "routes": [each.to_json() for each in outcomes],
        "sentences": len(material.learn.texts),
        "with_picture": material.learn.pictured,
        "with_translation": material.learn.paired,
        "measured_on": material.by,
        "before": before,
        "seed": seed,
        "device": processor_name() if choose_device(device).type == "cpu" else str(embedder.device),
        "lingvis": __version__,
    }
    assert chosen.language is not None
    return _write(
        run, out, config, chosen.language, report, ruler=ruler, old=old, dataset=dataset, began=began
    )


def _write(
    run: Path,
    out: Path,
    config: ModelConfig,
    language: AddedLanguage,
    report: dict[str, Any],
    *,
    ruler: Ruler,
    old: OldLanguages,
    dataset: Dataset,
    began: float,
) -> dict[str, Any]:
    """The new folder, whole or not at all; what is reported of it is measured on its files."""
    lang = language.config.lang
    named = config.model_copy(update={"name": out.resolve().name, "added": [*config.added, lang]})
    with atomic_folder(out) as folder:
        shutil.copytree(run, folder, dirs_exist_ok=True)
        write_added(folder, language)
        named.write(folder)
        made = Embedder.load(folder, device=str(old.embedder.device))
        report |= {
            "after": ruler(made),
            **old.compare(made, dataset),
            "values": made.added[lang].values,
            "parameters": made.parameters,
            "seconds": round(time.monotonic() - began, 1),
        }
        data = {key: value for key, value in report.items() if key in DATA}
        numbers = {key: value for key, value in report.items() if key in NUMBERS}
        write_added_config(folder, language.config.model_copy(update={"data": data, "numbers": numbers}))
        named.model_copy(update={"parameters": {**config.parameters, **made.parameters}}).write(folder)
        card = folder / CARD
        write_text(card, (card.read_text(encoding="utf-8") if card.is_file() else "") + added_section(report))
    return report


def _check(run: Path, lang: str, out: Path) -> ModelConfig:
    """Find mistakes that cost nothing to find."""
    if not LANGUAGE_CODE.fullmatch(lang):
        raise UserError(f"bad language code {lang!r}; use BCP-47 such as cs, pt-BR or zh-Hant")
    config = ModelConfig.read(run)
    if out.exists():
        raise UserError(f"{out} exists already; choose another --out, nothing there was touched")
    if run.resolve() in out.resolve().parents:
        raise UserError(f"{out} lies in the model that is copied, {run}; choose an --out outside of it")
    return config


def _check_model(embedder: Embedder, lang: str, pivot: str | None) -> None:
    if lang in embedder.languages:
        raise UserError(
            f"model {embedder.name} knows {lang} already; it knows: {choices(embedder.languages)}. To learn it anew, start "
            "from the model without it"
        )
    if not embedder.pooled:
        raise UserError(
            f"model {embedder.name} compares sets of vectors, and a language is added to models of one vector a "
            "sentence; add it to one with similarity.name=cosine"
        )
    if pivot is not None and pivot not in embedder.trained:
        raise UserError(
            f"--pivot {pivot} is none of the languages the model was trained on: {choices(embedder.trained)}"
        )


def _open(path: Path) -> Dataset:
    """The dataset; one of sentences alone has no captions.jsonl."""
    empty = Dataset(path, [])
    if path.is_dir() and empty.text_only_file is not None and not list(path.glob("captions.jsonl*")):
        return empty
    captions_file(path)  # says so when this is no dataset
    return Dataset.open(path)


def _points(embedder: Embedder, stored: StoredImages | None, material: Material) -> tuple[Floats, Ruler]:
    """Embeddings of the pictures to learn from, and the ruler of what is chosen by."""
    learn, choose = material.learn, material.choose
    image_emb = np.zeros((0, embedder.dim), np.float32)
    if stored is not None and learn.pictured:
        image_emb = stored.encode(learn.images)
    if stored is not None and choose.images:
        points, of = stored.encode(choose.images), choose.groups
    else:
        points, numbers = known_points(embedder, choose)
        of = numbers.tolist()
    return image_emb, Ruler(choose.texts, material.lang, points, of)


def _temperature(recipe: Mapping[str, Any]) -> float:
    """The temperature of the model's own objective, where that has one that stays; 0.05 otherwise.

    recipe: as the model folder tells it; earlier versions had one objective beside the terms.
    """
    objective = recipe.get("objective") or recipe["terms"]["matching"]["objective"]
    fixed = objective["name"] == "contrastive" and not objective.get("learned", False)
    return float(objective["temperature"]) if fixed else 0.05

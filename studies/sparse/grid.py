"""Measure the runs of a grid of systems and sparsities, several at once; runs that have a record are not trained again."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from lingvis.data.dataset import Dataset
from lingvis.data.detections import REGIONS
from lingvis.errors import UserError, choices
from lingvis.features.store import FeatureStore
from lingvis.pseudo.captions import LABEL_LANGUAGE
from lingvis.text.lexicon.wordnet import WordNet
from lingvis.training.run import open_with_features
from lingvis.training.validate import load_recipe
from studies.grid import Cell, stored_records
from studies.parallel import workers
from studies.records import Record, check_writable
from studies.sparse.cells import Annotation, SparseCell, SparseSetting
from studies.sparse.methods import SWAPPED, SYSTEMS, TAGS, method_overrides
from studies.sparse.tag_cell import TagCell
from studies.sparse.tag_model import picture_tags

FEATURES = "efficientnet-lite0-region"  # for all methods, so that these differ in nothing else


def measure_grid(
    dataset_path: Path,
    out: Path,
    *,
    grid: Sequence[tuple[str, float, int]],
    seeds: Sequence[int],
    split: str,
    with_tags: bool = False,
    lang: str,
    tags: str,
    wordnet: Path | None = None,
    overrides: Sequence[str],
    work: Path,
    keep: bool = False,
    device: str | None,
    at_once: int,
) -> tuple[list[Record], list[str]]:
    """The records of a grid and of earlier calls, and the sentences of runs that failed.

    grid: method, share of the training images, captions each (0: all). with_tags: measure s_g too. tags: the detections
    that s_g matches, empty for the regions; wordnet: the folder of its data files. A stopped run is resumed.
    """
    values = [f"data.features={FEATURES}", *overrides]
    features = load_recipe("vsepp", method_overrides("vsepp", values, tags=tags)).data.features
    dataset, store = open_with_features(dataset_path, features)
    _check_regions(dataset, {method for method, *_ in grid}, values, tags, with_tags=with_tags)
    setting = SparseSetting(
        dataset=dataset_path,
        dataset_sha256=dataset.fingerprint,
        lang=lang,
        split=split,
        features=features,
        pairs=len(dataset.captions("train", [lang]).texts),
        overrides=tuple(overrides),
        tags=tags,
        wordnet=wordnet,
        wordnet_sha256="" if wordnet is None else WordNet(wordnet).checksum,
        out=out,
        work=work,
        keep=keep,
        device=device,
    )
    cells: list[Cell] = [TagCell(setting)] if with_tags else []
    cells += trained_cells(setting, dataset, store, grid, seeds)
    stored = stored_records(cells, setting.file)
    missing = [cell for cell in cells if cell.name not in stored]
    for folder in (out, work):
        check_writable(folder)
    with workers(at_once) as run_all:
        failed = run_all(missing, "sparse")
    stored = stored_records(cells, setting.file)
    return [stored[cell.name] for cell in cells if cell.name in stored], failed


def trained_cells(
    setting: SparseSetting,
    dataset: Dataset,
    store: FeatureStore,
    grid: Sequence[tuple[str, float, int]],
    seeds: Sequence[int],
) -> list[SparseCell]:
    """A cell per seed and point of the grid: method, share of the images, captions per image."""
    return [
        SparseCell(setting, method, Annotation.draw(dataset, setting.lang, share, count, seed)).with_identity(
            dataset, store
        )
        for method, share, count in dict.fromkeys(grid)
        for seed in seeds
    ]


def check_grid(
    systems: Collection[str],
    images: Sequence[float],
    per_image: Sequence[int],
    seeds: Sequence[int],
    methods: Sequence[str],
    lang: str,
    at_once: int,
) -> None:
    """Raise if a value of the command makes no grid; systems: the names that `methods` may have."""
    unknown = [name for name in methods if name not in systems]
    if unknown:
        raise UserError(f"unknown method {unknown[0]!r}; choose among: {choices(systems)}")
    if not images or not per_image or not seeds:
        raise UserError(
            "--images, --per-image and --seeds need a number each; leave them out for the usual ones"
        )
    wrong = [share for share in images if not 0 < share <= 1]
    if wrong:
        raise UserError(f"--images has {wrong[0]:g}; give shares above 0 and up to 1, such as 0.1")
    if min(per_image) < 0:
        raise UserError(f"--per-image has {min(per_image)}; give 1 or more captions, or 0 for all")
    if lang != LABEL_LANGUAGE and TAGS in methods:
        raise UserError(
            f"--lang is {lang}, but {TAGS} matches the labels of detectors, which are in {LABEL_LANGUAGE}; "
            f"name the other --methods"
        )
    if at_once < 1:
        raise UserError(f"--at-once is {at_once}; give 1 or more")


def _check_regions(
    dataset: Dataset, methods: Collection[str], overrides: Sequence[str], tags: str, *, with_tags: bool
) -> None:
    """Check that all detections exist before hours are spent on the runs that need none."""
    if SWAPPED in methods and tags in ("", REGIONS):
        raise UserError(
            f"--tags is {tags!r}, but the ablation {SWAPPED} swaps the regions for other tags; name another set of "
            "detections, such as global"
        )
    needed = {tags} if with_tags else set()
    for name in methods:
        pseudo = load_recipe(SYSTEMS[name].recipe, method_overrides(name, overrides, tags=tags)).pseudo
        if pseudo.name != "none":
            needed.add(pseudo.options.get("detections", ""))
    for name in sorted(needed):
        picture_tags(dataset, name or None)

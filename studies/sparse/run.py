"""The sparse-annotation study of A3VSE: recall against the number of annotated pairs, for several systems."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from lingvis.data.dataset import Dataset
from lingvis.data.detections import REGIONS
from lingvis.errors import UserError, choices
from lingvis.files import check_writable, write_text
from lingvis.pseudo.captions import LABEL_LANGUAGE
from lingvis.text.lexicon.wordnet import WordNet
from lingvis.training.run import open_with_features
from lingvis.training.validate import load_recipe
from studies.grid import raise_failed, workers
from studies.sparse.cells import Annotation, Cell, Setting
from studies.sparse.methods import ABLATED, ABLATIONS, ALL, METHODS, SWAPPED, TAGS
from studies.sparse.report import draw_curve, sparse_csv
from studies.sparse.tag_model import picture_tags
from studies.sparse.tags import TagCell

FEATURES = "efficientnet-lite0-region"  # for all methods, so that these differ in nothing else


def run_sparse_study(
    dataset_path: Path,
    out: Path,
    *,
    images: Sequence[float],
    per_image: Sequence[int],
    seeds: Sequence[int],
    methods: Sequence[str] = (),
    ablations: bool = False,
    lang: str = LABEL_LANGUAGE,
    tags: str = "global",
    wordnet: Path | None = None,
    overrides: Sequence[str] = (),
    work: Path,
    keep: bool = False,
    device: str | None = None,
    at_once: int = 1,
) -> list[dict[str, Any]]:
    """Records of all methods, sparsities and seeds, those of earlier calls included; writes sparse.csv and sparse.png.

    methods: names of METHODS or ABLATIONS; all of METHODS by default. ablations: those at their own sparsity as well.
    images: shares of the training images; per_image: captions each, 0 for all. tags: the detections that s_g matches,
    empty for those that a recipe takes by itself; wordnet: the folder of its data files. A run that was stopped is gone on
    with; one that failed is told at the end, when all others are done.
    """
    chosen = list(dict.fromkeys(methods)) or list(METHODS)
    _check(images, per_image, seeds, chosen, lang, at_once)
    values = [f"data.features={FEATURES}", *overrides]
    features = load_recipe("vsepp", values).data.features
    dataset, store = open_with_features(dataset_path, features)
    ablated = ("a3vse", *ABLATIONS) if ablations else ()
    _check_regions(dataset, {*chosen, *ablated}, values, tags)
    setting = Setting(
        dataset=dataset_path,
        dataset_sha256=dataset.fingerprint,
        lang=lang,
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
    learnt = [method for method in ALL if method in chosen and method != TAGS]
    grid = [(method, share, count) for share in images for count in per_image for method in learnt]
    grid += [(method, *ABLATED) for method in ablated]
    cells: list[Cell | TagCell] = [TagCell(setting)] if TAGS in chosen else []
    for method, share, count in dict.fromkeys(grid):
        for seed in seeds:
            drawn = Annotation.draw(dataset, lang, share, count, seed)
            cells.append(Cell(setting, method, drawn).with_identity(dataset, store))
    missing = [cell for cell in cells if cell.record() is None]
    for folder in (out, work):
        check_writable(folder)
    with workers(at_once) as run_all:
        failed = run_all(missing, "sparse")
    records = [record for cell in cells if (record := cell.record()) is not None]
    if records:
        write_text(out / "sparse.csv", sparse_csv(records))
        draw_curve(records, out / "sparse.png")
    raise_failed(failed)
    return records


def _check(
    images: Sequence[float],
    per_image: Sequence[int],
    seeds: Sequence[int],
    methods: Sequence[str],
    lang: str,
    at_once: int,
) -> None:
    unknown = [name for name in methods if name not in ALL]
    if unknown:
        raise UserError(f"unknown method {unknown[0]!r}; choose among: {choices(ALL)}")
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
            f"--lang is {lang}, but {TAGS} matches the names that detectors give, which are in {LABEL_LANGUAGE}; "
            f"name the other --methods"
        )
    if at_once < 1:
        raise UserError(f"--at-once is {at_once}; give 1 or more")


def _check_regions(dataset: Dataset, methods: Collection[str], overrides: Sequence[str], tags: str) -> None:
    """What detectors saw is there before hours are spent on the runs that need none."""
    if SWAPPED in methods and tags in ("", REGIONS):
        raise UserError(
            f"--tags is {tags!r}, but the ablation {SWAPPED} swaps the regions for other tags; name another set of "
            "detections, such as global"
        )
    wanted = {tags} if TAGS in methods else set()
    for name in set(methods) - {TAGS}:
        own = [each.format(tags=json.dumps(tags)) for each in ALL[name].overrides]
        pseudo = load_recipe(ALL[name].recipe, [*overrides, *own]).pseudo
        if pseudo.weight:
            wanted.add(pseudo.detections)
    for name in sorted(wanted):
        picture_tags(dataset, name or None)

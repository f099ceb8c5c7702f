"""The sparse-annotation study of A3VSE: recall against the number of annotated pairs, for several systems.

python -m studies sparse DATASET [--images 0.1 0.2] [--per-image 1 5] [--methods a3vse vsepp] [section.key=value ...]

The dataset needs detections and region features. Runs that have a record in --out are not trained again; a stopped
command resumes. Also writes sparse.csv and sparse.png into --out.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from lingvis.cli.output import print_json, print_table
from lingvis.data.dataset import Dataset
from lingvis.data.detections import REGIONS
from lingvis.errors import UserError, choices
from lingvis.features.store import FeatureStore
from lingvis.files import write_text
from lingvis.pseudo.captions import LABEL_LANGUAGE
from lingvis.text.lexicon.wordnet import WordNet
from lingvis.training.run import open_with_features
from lingvis.training.validate import load_recipe
from studies.arguments import add_grid, add_out, make_parser
from studies.grid import Cell, stored_records
from studies.parallel import raise_failed, workers
from studies.records import Record, check_writable
from studies.sparse.cells import Annotation, SparseCell, SparseSetting
from studies.sparse.methods import ABLATED, ABLATIONS, ALL, METHODS, SWAPPED, TAGS, method_overrides
from studies.sparse.report import ablation_table, draw_curve, sparse_csv, sparse_table
from studies.sparse.tag_cell import TagCell
from studies.sparse.tag_model import picture_tags

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
) -> list[Record]:
    """Return the records of all methods, sparsities and seeds, with those of earlier calls; write CSV and PNG.

    methods: names of METHODS or ABLATIONS; all of METHODS by default. ablations: add all ablations at their own
    sparsity. images: shares of the training images; per_image: captions each, 0 for all. tags: the detections that s_g
    matches, empty for the regions; wordnet: the folder of its data files. A stopped run is resumed; failed runs are
    reported after all others are done.
    """
    chosen = list(dict.fromkeys(methods)) or list(METHODS)
    _check(images, per_image, seeds, chosen, lang, at_once)
    values = [f"data.features={FEATURES}", *overrides]
    features = load_recipe("vsepp", method_overrides("vsepp", values, tags=tags)).data.features
    dataset, store = open_with_features(dataset_path, features)
    ablated = ("a3vse", *ABLATIONS) if ablations else ()
    _check_regions(dataset, {*chosen, *ablated}, values, tags)
    setting = SparseSetting(
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
    trained = [method for method in ALL if method in chosen and method != TAGS]
    grid = [(method, share, count) for share in images for count in per_image for method in trained]
    grid += [(method, *ABLATED) for method in ablated]
    cells: list[Cell] = [TagCell(setting)] if TAGS in chosen else []
    cells += trained_cells(setting, dataset, store, grid, seeds)
    stored = stored_records(cells, setting.file)
    missing = [cell for cell in cells if cell.name not in stored]
    for folder in (out, work):
        check_writable(folder)
    with workers(at_once) as run_all:
        failed = run_all(missing, "sparse")
    stored = stored_records(cells, setting.file)
    records = [stored[cell.name] for cell in cells if cell.name in stored]
    if records:
        write_text(out / "sparse.csv", sparse_csv(records))
        draw_curve(records, out / "sparse.png")
    raise_failed(failed)
    return records


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


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse, run, print."""
    parser = make_parser("sparse", __doc__)
    add_grid(parser, "runs/sparse")
    add_out(parser, "results/sparse")
    parser.add_argument(
        "--images", type=float, nargs="+", default=[0.1, 0.2, 0.5], help="shares of the images"
    )
    parser.add_argument(
        "--per-image", type=int, nargs="+", default=[1, 2, 5], help="captions each, 0 for all"
    )
    parser.add_argument(
        "--methods", nargs="+", default=[], help=f"some of {choices(ALL)}; {choices(METHODS)} by default"
    )
    parser.add_argument(
        "--ablations",
        action="store_true",
        help="add all ablations of A3VSE, 10 %% of the images x 5 captions",
    )
    parser.add_argument("--lang", default=LABEL_LANGUAGE, help="language of the captions")
    parser.add_argument("--tags", default="global", help="the detections whose labels s_g matches")
    parser.add_argument("--wordnet", type=Path, help="WordNet's data files for s_g; letter by letter without")
    parser.add_argument("--keep", action="store_true", help="keep the models in --work")
    args = parser.parse_intermixed_args(arguments)
    records = run_sparse_study(
        args.dataset,
        args.out,
        images=args.images,
        per_image=args.per_image,
        seeds=args.seeds,
        methods=args.methods,
        ablations=args.ablations,
        lang=args.lang,
        tags=args.tags,
        wordnet=args.wordnet,
        overrides=args.overrides,
        work=args.work,
        keep=args.keep,
        device=args.device,
        at_once=args.at_once,
    )
    if args.json:
        print_json(records)
        return
    print_table(f"mR, {args.lang}, split test, by annotation", *sparse_table(records))
    columns, rows = ablation_table(records)
    if rows:
        print_table("A3VSE with parts left out, 10 % of the images x 5", columns, rows)
    print(f"{args.out / 'sparse.csv'} and {args.out / 'sparse.png'} hold all numbers")


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
            f"--lang is {lang}, but {TAGS} matches the labels of detectors, which are in {LABEL_LANGUAGE}; "
            f"name the other --methods"
        )
    if at_once < 1:
        raise UserError(f"--at-once is {at_once}; give 1 or more")


def _check_regions(dataset: Dataset, methods: Collection[str], overrides: Sequence[str], tags: str) -> None:
    """Check that all detections exist before hours are spent on the runs that need none."""
    if SWAPPED in methods and tags in ("", REGIONS):
        raise UserError(
            f"--tags is {tags!r}, but the ablation {SWAPPED} swaps the regions for other tags; name another set of "
            "detections, such as global"
        )
    needed = {tags} if TAGS in methods else set()
    for name in set(methods) - {TAGS}:
        pseudo = load_recipe(ALL[name].recipe, method_overrides(name, overrides, tags=tags)).pseudo
        if pseudo.name != "none":
            needed.add(pseudo.options.get("detections", ""))
    for name in sorted(needed):
        picture_tags(dataset, name or None)

"""The sparse-annotation study of A3VSE: recall against the number of annotated pairs, for several systems.

python -m studies sparse DATASET [--images 0.1 0.2] [--per-image 1 5] [--methods a3vse vsepp] [section.key=value ...]

The dataset needs detections and region features. Runs that have a record in --out are not trained again; a stopped
command resumes. Also writes sparse.csv and sparse.png into --out.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lingvis.cli.output import print_json, print_table
from lingvis.errors import choices
from lingvis.files import write_text
from lingvis.pseudo.captions import LABEL_LANGUAGE
from studies.arguments import add_grid, add_out, make_parser
from studies.parallel import raise_failed
from studies.records import Record
from studies.sparse.grid import check_grid, measure_grid
from studies.sparse.methods import ABLATED, ALL, METHODS, TAGS, WHOLE, ablations_of
from studies.sparse.report import ablation_table, draw_curve, sparse_csv, sparse_table


def run_sparse_study(
    dataset_path: Path,
    out: Path,
    *,
    images: Sequence[float],
    per_image: Sequence[int],
    seeds: Sequence[int],
    methods: Sequence[str] = (),
    ablations: bool = False,
    whole: bool = False,
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
    sparsity. whole: add the methods with all annotations. The other arguments are those of `measure_grid`.
    """
    chosen = list(dict.fromkeys(methods)) or list(METHODS)
    check_grid(ALL, images, per_image, seeds, chosen, lang, at_once)
    trained = [method for method in ALL if method in chosen and method != TAGS]
    grid = [(method, share, count) for share in images for count in per_image for method in trained]
    # With all annotations there are no pseudo captions, and ablations would differ in nothing.
    grid += [(method, *WHOLE) for method in trained if whole and method in METHODS]
    if ablations:
        grid += [(method, *ABLATED) for method in ("a3vse", *ablations_of(overrides))]
    records, failed = measure_grid(
        dataset_path,
        out,
        grid=grid,
        seeds=seeds,
        split="test",
        with_tags=TAGS in chosen,
        lang=lang,
        tags=tags,
        wordnet=wordnet,
        overrides=overrides,
        work=work,
        keep=keep,
        device=device,
        at_once=at_once,
    )
    if records:
        write_text(out / "sparse.csv", sparse_csv(records))
        draw_curve(records, out / "sparse.png")
    raise_failed(failed)
    return records


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
    parser.add_argument(
        "--whole", action="store_true", help="add the methods with all annotations, 5 captions each"
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
        whole=args.whole,
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
